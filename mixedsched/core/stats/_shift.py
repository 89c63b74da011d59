"""How large a paired change is: the Hodges-Lehmann estimate and its interval, both from the same Walsh averages."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from mixedsched.core.stats._signed_rank import EXACT_PAIRS_MAX, null_cumulative
from mixedsched.core.stats._walsh import count_averages, ranked_averages

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval."""

    low: float
    high: float
    confidence: float
    """As really achieved; with few pairs it may be below what was asked for."""

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"an interval must not end ({self.high}) before it starts ({self.low})")

    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


NOTHING_KNOWN = Interval(-math.inf, math.inf, 0.0)


def hodges_lehmann(differences: Sequence[float]) -> float:
    """The pseudo-median of paired differences: the median of their Walsh averages. Raises ValueError if there is none.

    As sturdy against outliers as a median, nearly as sharp as a mean. Source: Hodges and Lehmann 1963.
    """
    count = count_averages(len(differences))
    low, high = ranked_averages(differences, ((count - 1) // 2, count // 2))
    return low / 2 + high / 2


def signed_rank_interval(differences: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The interval of shifts that the signed-rank test does not reject, by counting Walsh averages in from both ends.

    Exact up to EXACT_PAIRS_MAX pairs (without ties; with ties the true confidence is rather higher). Where even the whole
    range of the data cannot reach `confidence` (below 6 pairs for 95 %) it is that range, and says the lower confidence
    it has. Raises ValueError for no pairs or a confidence outside 0 .. 1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    pairs = len(differences)
    skipped, tail = skipped_averages(pairs, (1 - confidence) / 2)
    low, high = ranked_averages(differences, (skipped, count_averages(pairs) - 1 - skipped))
    return Interval(low, high, 1 - 2 * tail)


@lru_cache
def skipped_averages(pairs: int, tail_max: float) -> tuple[int, float]:
    """How many Walsh averages to leave out at either end, and the chance that the true shift is beyond one end."""
    if pairs > EXACT_PAIRS_MAX:
        mean, deviation = pairs * (pairs + 1) / 4, (pairs * (pairs + 1) * (2 * pairs + 1) / 24) ** 0.5
        skipped = int(mean + deviation * scipy.special.ndtri(tail_max) - 0.5)
        return skipped, float(scipy.special.ndtr((skipped + 0.5 - mean) / deviation))
    cumulative = null_cumulative(range(2, 2 * pairs + 1, 2))[::2]  # without ties only whole ranks occur
    skipped = max(0, int(np.searchsorted(cumulative, tail_max, side="right")) - 1)
    return skipped, float(cumulative[skipped])
