"""Many samples of paired differences at once: shift, interval and p of each row of a matrix, in a few operations on arrays.

What a row gives is what `hodges_lehmann`, `signed_rank_interval` and `wilcoxon_p` give for it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy  # its parts are loaded when they are first used: `scipy.special` takes 0.1 s, which --help need not wait for
from numpy.typing import NDArray

from mixedsched.core.stats._shift import CONFIDENCE, NOTHING_KNOWN, Interval, skipped_averages
from mixedsched.core.stats._signed_rank import EXACT_PAIRS_MAX, null_cumulative
from mixedsched.core.stats._walsh import HELD_MOST, count_averages, ranked_averages

Matrix = NDArray[np.float64]

_PATTERNS_KEPT = 128  # null distributions; each holds the square of the number of pairs


@dataclass(frozen=True, slots=True)
class PairedShift:
    """What the signed-rank procedures say of one sample of paired differences."""

    pairs: int
    shift: float  # Hodges and Lehmann's estimate; NaN without pairs
    interval: Interval
    p: float  # of Wilcoxon's test
    dominance: float  # share of positive minus share of negative differences


NO_PAIRS = PairedShift(0, math.nan, NOTHING_KNOWN, 1.0, 0.0)


def paired_shift(differences: Sequence[float] | Matrix) -> PairedShift:
    """One sample; NO_PAIRS for none. Raises ValueError for values that are not finite."""
    values = np.asarray(differences, dtype=np.float64)
    if np.isnan(values).any():
        raise ValueError("differences must be finite")
    return paired_shifts(values.reshape(1, -1))[0]


def paired_shifts(differences: Matrix, confidence: float = CONFIDENCE) -> list[PairedShift]:
    """A sample a row; NaN stands for a pair that is missing. Raises ValueError for infinite values."""
    if np.isinf(differences).any():
        raise ValueError("differences must be finite")
    present = ~np.isnan(differences)
    counts = present.sum(axis=1)
    results = [NO_PAIRS] * len(differences)
    for pairs in np.unique(counts[counts > 0]).tolist():
        for rows in _in_parts(np.flatnonzero(counts == pairs), pairs):
            values = differences[rows][present[rows]].reshape(len(rows), pairs)
            for row, found in zip(rows.tolist(), _of_equal_length(values, confidence), strict=True):
                results[row] = found
    return results


def _in_parts(rows: NDArray[np.intp], pairs: int) -> Iterator[NDArray[np.intp]]:
    most = max(1, HELD_MOST // count_averages(pairs))
    for first in range(0, len(rows), most):
        yield rows[first : first + most]


def _of_equal_length(values: Matrix, confidence: float) -> Iterator[PairedShift]:
    pairs = values.shape[1]
    count = count_averages(pairs)
    skipped, tail = skipped_averages(pairs, (1 - confidence) / 2)
    ranked = _ranked_averages(values, (skipped, (count - 1) // 2, count // 2, count - 1 - skipped))
    dominances = np.sign(values).mean(axis=1).tolist()
    for (low, below, above, high), p, dominance in zip(ranked, _wilcoxon_p(values), dominances, strict=True):
        yield PairedShift(pairs, below / 2 + above / 2, Interval(low, high, 1 - 2 * tail), p, dominance)


def _ranked_averages(values: Matrix, ranks: Sequence[int]) -> list[list[float]]:
    """Of each row, its Walsh averages at these ranks."""
    if len(values) == 1:
        return [ranked_averages(values[0], ranks)]
    first, second = np.triu_indices(values.shape[1])
    averages = np.sort(values[:, first] / 2 + values[:, second] / 2, axis=1)
    found: list[list[float]] = averages[:, list(ranks)].tolist()
    return found


def _wilcoxon_p(values: Matrix) -> list[float]:
    if values.shape[1] == 1:
        return [1.0] * len(
            values
        )  # a single pair shows nothing; thousands of places where nothing is random have no more
    from scipy.stats import rankdata  # here, because scipy.stats takes half a second to load, and --help needs none

    doubled = np.rint(2 * rankdata(np.abs(values), axis=1)).astype(np.int64)
    moving = np.where(values != 0, doubled, 0)
    positive = np.where(values > 0, doubled, 0).sum(axis=1)
    total = moving.sum(axis=1)
    if values.shape[1] > EXACT_PAIRS_MAX:
        deviation = np.maximum(0.0, np.abs(positive - total / 2) - 1)
        spread = np.sqrt(np.square(moving.astype(float)).sum(axis=1) / 4)
        p = 2 * scipy.special.ndtr(-np.divide(deviation, spread, out=np.zeros_like(deviation), where=spread > 0))
        return [min(1.0, value) for value in p.tolist()]
    tails = np.minimum(positive, total - positive).tolist()
    return [
        min(1.0, 2 * float(_cumulative(ranks.tobytes())[tail]))
        for ranks, tail in zip(np.sort(moving, axis=1), tails, strict=True)
    ]


@lru_cache(_PATTERNS_KEPT)
def _cumulative(ranks: bytes) -> Matrix:
    """Rows without ties share one distribution, and those with the same ties another. ranks: sorted; 0 for differences of 0."""
    doubled = np.frombuffer(ranks, dtype=np.int64)
    return null_cumulative(doubled[doubled > 0].tolist())
