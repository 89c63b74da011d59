"""How much a median over sites would differ with other sites: the bootstrap, seeded, so that the same data give the same."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mixedsched.core.stats._shift import CONFIDENCE, Interval

RESAMPLES = 2000
RESAMPLED_LEAST = 3  # fewer values say nothing about others
# Even the whole range of n values holds the true median with a probability of 1 - 2^(1-n) only: 94 % of five, 97 % of six.
INTERVAL_LEAST = 6


def resampled_median(values: Sequence[float], seed: int, confidence: float = CONFIDENCE) -> Interval | None:
    """The interval of a median, from drawing as many values with replacement again and again (Efron 1979, percentiles).

    The order of the values does not matter. None for fewer than INTERVAL_LEAST.
    """
    if len(values) < INTERVAL_LEAST:
        return None
    ranked = np.sort(np.asarray(values, dtype=np.float64))
    low, high = _middles(len(ranked), seed)
    medians = ranked[low] / 2 + ranked[high] / 2
    ends = np.quantile(medians, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(ends[0]), float(ends[1]), confidence)


@lru_cache(16)
def resamples(count: int, seed: int) -> NDArray[np.intp]:
    """RESAMPLES x count: which of so many values each resample draws, with replacement."""
    return np.random.default_rng(seed).integers(count, size=(RESAMPLES, count), dtype=np.intp)


@lru_cache(16)
def _middles(count: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """By resample: which of the ranked values are its two middle ones (the same one twice if their number is odd)."""
    below, above = (count - 1) // 2, count // 2
    drawn = np.partition(resamples(count, seed), (below, above), axis=1)
    return drawn[:, below], drawn[:, above]
