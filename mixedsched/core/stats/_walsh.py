"""Walsh averages of paired differences, from which the signed-rank procedures read estimate and interval."""

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mixedsched.core.stats._signed_rank import finite

HELD_MOST = 2_000_000
"""Walsh averages that are held at a time, 16 MB; those of more than 1999 pairs are counted instead."""


def walsh_averages(differences: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """All n(n+1)/2 means of two differences, each with itself included, sorted. Raises ValueError if there is none."""
    values = finite(differences)
    if not len(values):
        raise ValueError("at least one pair is needed")
    first, second = np.triu_indices(len(values))
    return np.sort(values[first] / 2 + values[second] / 2)  # halved before: the sum of two large values may overflow


def ranked_averages(differences: Sequence[float] | NDArray[np.float64], ranks: Sequence[int]) -> list[float]:
    """The Walsh averages at these ranks, from 0 for the smallest. Raises ValueError if there is none.

    Time n log n and memory n where there are more of them than HELD_MOST.
    """
    if count_averages(len(differences)) <= HELD_MOST:
        averages = walsh_averages(differences)
        return [float(averages[rank]) for rank in ranks]
    halves = np.sort(finite(differences)) / 2
    return [_ranked(halves, rank) for rank in ranks]


def count_averages(pairs: int) -> int:
    return pairs * (pairs + 1) // 2


def _ranked(halves: NDArray[np.float64], rank: int) -> float:
    """The smallest number that more averages than `rank` do not exceed: at most 64 halvings of all floating-point numbers."""
    below, found = _ordinal(2 * float(halves[0])) - 1, _ordinal(2 * float(halves[-1]))
    while found - below > 1:
        middle = (below + found) // 2
        if _count_up_to(_number(middle), halves) > rank:
            found = middle
        else:
            below = middle
    return _number(found)


def _count_up_to(limit: float, halves: NDArray[np.float64]) -> int:
    """How many averages do not exceed the limit, exactly as they are rounded. halves: sorted halves of the differences."""
    pairs = len(halves)
    counts = np.zeros(pairs, dtype=np.int64)  # by difference: with how many others, from the smallest up
    step = 1 << (pairs.bit_length() - 1)
    while step:
        more = counts + step
        fits = (more <= pairs) & (halves + halves[np.minimum(more, pairs) - 1] <= limit)
        counts = np.where(fits, more, counts)
        step //= 2
    with_itself = int(np.count_nonzero(halves + halves <= limit))
    return (int(counts.sum()) + with_itself) // 2


def _ordinal(value: float) -> int:
    """Floating-point numbers, numbered in their order; 0 for zero."""
    bits: int = struct.unpack("<q", struct.pack("<d", abs(value)))[0]
    return -bits if value < 0 else bits


def _number(ordinal: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", abs(ordinal)))[0]
    return -value if ordinal < 0 else value
