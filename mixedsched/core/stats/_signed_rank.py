"""Wilcoxon's signed-rank statistic: its null distribution and its p value. Exact up to a few hundred pairs."""

import math
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

# Beyond this many pairs the normal approximation is right to many digits, and the exact table grows with the cube.
EXACT_PAIRS_MAX = 200


def null_cumulative(doubled_ranks: Sequence[int]) -> NDArray[np.float64]:
    """P(T+ <= t/2) for t = 0, 1, 2 ... sum of `doubled_ranks`, when every rank is positive with probability one half.

    doubled_ranks: twice the ranks, so that midranks of ties are whole numbers. Values of t that cannot occur repeat the one
    before. Source: Wilcoxon 1945; the distribution conditional on ties is the permutation distribution of Pratt and Gibbons.
    """
    chances = np.ones(1)
    for rank in doubled_ranks:
        longer = np.zeros(len(chances) + rank)
        longer[: len(chances)] += chances / 2  # this difference is negative
        longer[rank:] += chances / 2  # or positive
        chances = longer
    return np.cumsum(chances)


def wilcoxon_p(differences: Sequence[float]) -> float:
    """Two-sided p value of the hypothesis that paired differences are symmetric around zero.

    Zero differences keep their ranks and count half to either side (scipy's zero_method "zsplit"); ties get midranks and the
    exact conditional distribution. All zeros, or no pairs at all, give 1. Above EXACT_PAIRS_MAX pairs: normal approximation
    with the variance of the ranks at hand. Raises ValueError for values that are not finite.
    """
    values = finite(differences)
    if not np.any(values):
        return 1.0
    doubled = _doubled_midranks(np.abs(values))
    moving = doubled[values != 0]
    positive = int(doubled[values > 0].sum())
    if len(values) > EXACT_PAIRS_MAX:
        deviation = abs(positive - moving.sum() / 2) - 1  # half a rank for continuity; ranks are doubled
        spread = math.sqrt(float(np.square(moving.astype(float)).sum()) / 4)
        return min(1.0, 2 * float(scipy.special.ndtr(-max(0.0, deviation) / spread)))
    # Symmetric around its middle, so the smaller tail is enough. The zeros shift statistic and distribution alike.
    smaller_tail = min(positive, int(moving.sum()) - positive)
    return min(1.0, 2 * float(null_cumulative(moving.tolist())[smaller_tail]))


def _doubled_midranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Twice the rank of each value, from 1 up; equal values share the mean of theirs."""
    _, place, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    return (2 * last - sizes + 1)[place]


def smallest_p(pairs: int) -> float:
    """The smallest two-sided p value that this many pairs can give: all differences on one side. 1 for no pairs."""
    return min(1.0, 2.0 ** (1 - pairs))


def finite(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """`values` as an array. Raises ValueError where one is NaN or infinite."""
    array = np.asarray(values, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        raise ValueError("differences must be finite")
    return array
