"""Intervals of one sample, for measurements of the lab itself: a share of packets, a median delay, a mean rate."""

import math
from collections.abc import Sequence

import numpy as np
import scipy

from mixedsched.core.stats._shift import CONFIDENCE, Interval


def share_interval(hits: float, trials: float, confidence: float = CONFIDENCE) -> Interval:
    """The interval of a share of trials (Clopper and Pearson 1934), which never holds less than `confidence`.

    hits, trials: need not be whole, so that trials that hang together can be counted as fewer. Without trials 0..1.
    Raises ValueError unless 0 <= hits <= trials.
    """
    if not 0 <= hits <= trials:
        raise ValueError(f"hits must be 0..{trials}, got {hits}")
    tail = (1 - confidence) / 2
    low = float(scipy.special.betaincinv(hits, trials - hits + 1, tail)) if hits else 0.0
    high = float(scipy.special.betaincinv(hits + 1, trials - hits, 1 - tail)) if hits < trials else 1.0
    return Interval(low, high, confidence)


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The interval of a median, between two of the values; it assumes nothing about their distribution.

    Where they are too few for `confidence` it is their whole range, and says what it has. Raises ValueError for none.
    """
    ranked = np.sort(np.asarray(values, dtype=float))
    count = len(ranked)
    if not count:
        raise ValueError("at least one value is needed")
    tail = (1 - confidence) / 2
    # At either end, the chance that the median lies outside if one value is left out there, or two, or three ...
    beyond = scipy.special.bdtr(np.arange((count + 1) // 2), count, 0.5)
    skipped = max(0, int(np.searchsorted(beyond, tail, side="right")) - 1)
    return Interval(
        float(ranked[skipped]), float(ranked[count - 1 - skipped]), max(0.0, 1 - 2 * float(beyond[skipped]))
    )


def mean_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The interval of a mean of independent values (Student). Raises ValueError for fewer than two."""
    if len(values) < 2:
        raise ValueError("at least two values are needed")
    sample = np.asarray(values, dtype=float)
    half = (
        float(scipy.special.stdtrit(len(sample) - 1, (1 + confidence) / 2))
        * float(sample.std(ddof=1))
        / math.sqrt(len(sample))
    )
    return Interval(float(sample.mean()) - half, float(sample.mean()) + half, confidence)
