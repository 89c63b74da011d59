"""How many blocks it takes. Estimates for people: they use the normal approximation on purpose and say "about"."""

import math
from functools import lru_cache

import scipy

from mixedsched.core.stats._paired import PairedShift
from mixedsched.core.stats._shift import CONFIDENCE
from mixedsched.core.stats._signed_rank import smallest_p

ALPHA = 0.05
POWER = 0.8
# The signed-rank test on normal data needs 3 % to 5 % more pairs than the t test: its efficiency is 3/pi.
_EFFICIENCY = 3 / math.pi


@lru_cache
def smallest_deciding_pairs(comparisons: int, alpha: float = ALPHA) -> int:
    """The smallest number of pairs with which a family of this many comparisons can reject anything at all under Holm.

    Holm multiplies the smallest p value by the size of the family, and n pairs cannot give less than 2 / 2^n.
    """
    pairs = 1
    while smallest_p(pairs) * max(1, comparisons) >= alpha:
        pairs += 1
    return pairs


def spread(paired: PairedShift) -> float:
    """The standard deviation of the differences as their signed-rank interval shows it; 0 for one pair or none."""
    interval = paired.interval
    if interval.confidence <= 0:
        return 0.0
    half_width = (interval.high - interval.low) / 2
    return half_width * math.sqrt(paired.pairs) / _quantile(interval.confidence)


def minimum_detectable_effect(paired: PairedShift, comparisons: int = 1, alpha: float = ALPHA) -> float | None:
    """The true shift that as many pairs as these, equally noisy, would find in four of five experiments (power 80 %).

    comparisons: the size of the family; Holm's first step is counted. None where so few pairs can find nothing.
    """
    if paired.pairs < smallest_deciding_pairs(comparisons, alpha):
        return None
    return _reach(comparisons, alpha) * spread(paired) / math.sqrt(paired.pairs * _EFFICIENCY)


def more_pairs_needed(paired: PairedShift, margin: float, comparisons: int = 1, alpha: float = ALPHA) -> int | None:
    """About how many more pairs decide an undecided comparison, if the shift and the noise stay as they look now.

    Either the shift is shown (better, worse) or it is shown to be within the margin (equivalent), whatever needs less.
    At least 1; None where one pair or none says nothing of the noise, or where the shift sits right on the margin's edge.
    """
    if paired.pairs < 2:
        return None
    shift, deviation = abs(paired.shift), spread(paired)
    least = max(smallest_deciding_pairs(comparisons, alpha), smallest_deciding_pairs(1, 1 - CONFIDENCE))
    totals = []
    if shift > 0:
        totals.append((_reach(comparisons, alpha) * deviation / shift) ** 2 / _EFFICIENCY)
    if shift < margin:
        reach = _quantile(CONFIDENCE) + float(scipy.special.ndtri(POWER))
        totals.append((reach * deviation / (margin - shift)) ** 2 / _EFFICIENCY)
    if not totals:
        return None
    return max(1, _rounded_up(max(min(totals), least) - paired.pairs))


@lru_cache
def _reach(comparisons: int, alpha: float) -> float:
    """How many standard errors a shift must have to be found with the power wanted."""
    return float(scipy.special.ndtri(1 - alpha / max(1, comparisons) / 2) + scipy.special.ndtri(POWER))


@lru_cache
def _quantile(confidence: float) -> float:
    """Half-width, in standard errors, of a normal interval of this confidence."""
    return float(scipy.special.ndtri((1 + confidence) / 2))


def _rounded_up(pairs: float) -> int:
    """Up to two significant digits: no one should read more into an estimate."""
    whole = max(0, math.ceil(pairs))
    step = int(10 ** max(0, len(str(whole)) - 2))
    return -(-whole // step) * step
