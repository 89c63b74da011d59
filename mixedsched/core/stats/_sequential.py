"""Deciding while blocks come in: a signed-rank test that may look after every block, and keeps its error rate all the same.

Each positive difference adds the rank of its size among those so far (Reynolds 1975). Later differences do not change
what earlier ones have added, and given the sizes, each sign is the toss of a coin while there is nothing but symmetric noise.
So the chance of crossing a boundary at any look can be computed exactly, whatever the sizes: noise may have heavy tails, and
may differ from block to block, as with machines of different speed. Boundaries spend the error rate in proportion to the
blocks made (Lan and DeMets 1983).
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixedsched.core.stats._planning import ALPHA
from mixedsched.core.stats._shift import NOTHING_KNOWN, Interval
from mixedsched.core.stats._signed_rank import finite, smallest_p
from mixedsched.core.stats._walsh import walsh_averages

_SCORE_MOST = 40  # ranks are rounded to so many steps, which costs no power that one would notice
_ROUNDING = 1 + 1e-9  # sums of exact chances may come out a little off
_P_STEPS = 20  # of halving


@dataclass(frozen=True, slots=True)
class Looks:
    """When a sequential test may decide: after every pair from the `first` to the `last`. Later pairs are not looked at."""

    first: int
    last: int

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last:
            raise ValueError(f"looks must go up from 1, got {self.first} to {self.last}")

    def spent(self, pairs: int, alpha: float) -> float:
        """How much of the error rate may be used up after so many pairs."""
        return alpha * pairs / self.last

    def first_deciding(self, alpha: float = ALPHA) -> int | None:
        """The first look at which anything can be decided, all differences being on one side; None where none can."""
        looks = range(self.first, self.last + 1)
        return next((pairs for pairs in looks if smallest_p(pairs) <= self.spent(pairs, alpha)), None)


def sequential_interval(differences: Sequence[float], looks: Looks, alpha: float = ALPHA) -> Interval:
    """The shifts that no look so far has rejected; NOTHING_KNOWN before a look can reject any.

    All intervals of a series hold together with confidence 1 - alpha, so one may stop after any of them. They do not get wider;
    only where many differences are equal may an end go back by a step. differences: in the order of the plan, never of arrival.
    Raises ValueError for values that are not finite.
    """
    seen = finite(differences)[: looks.last]
    first = looks.first_deciding(alpha)
    if first is None or len(seen) < first:
        return NOTHING_KNOWN
    return Interval(_lowest(seen, looks, alpha), -_lowest(-seen, looks, alpha), 1 - alpha)


def _lowest(steps: NDArray[np.float64], looks: Looks, alpha: float) -> float:
    """The smallest shift that is not shown to be too small. What is shown of a shift falls as shifts grow."""
    edges = np.unique(walsh_averages(steps))  # where the test's answer changes
    middles = (edges[1:] + edges[:-1]) / 2
    place = bisect_left(range(len(middles)), True, key=lambda at: crossing(steps - middles[at], looks, alpha) <= 0)
    return float(edges[place])


def sequential_p(differences: Sequence[float], looks: Looks) -> float:
    """The smallest error rate at which the looks so far would have shown a shift from zero; 1 where none would."""
    seen = finite(differences)[: looks.last]
    below, above = 0.0, 1.0
    if not crossing(seen, looks, above):
        return 1.0
    for _ in range(_P_STEPS):
        middle = (below + above) / 2
        below, above = (below, middle) if crossing(seen, looks, middle) else (middle, above)
    return above


def crossing(differences: Sequence[float] | NDArray[np.float64], looks: Looks, alpha: float = ALPHA) -> int:
    """1 if a look shows the differences to be above zero, -1 if below, 0 if none shows anything. Later looks change nothing."""
    steps = finite(differences)[: looks.last]
    scores = _scores(np.abs(steps))
    chances = np.ones(1)  # of the sum of scores of positive steps, and that no boundary is crossed yet
    positive, spent = 0, 0.0
    for pairs, (step, score) in enumerate(zip(steps.tolist(), scores.tolist(), strict=True), start=1):
        longer = np.zeros(len(chances) + score)
        longer[: len(chances)] += chances / 2
        longer[score:] += chances / 2
        chances = longer
        positive += score * (step > 0)
        if pairs < looks.first:
            continue
        beyond = np.cumsum(chances[::-1])  # chance to be among the largest 1, 2, 3 ... sums; the smallest are as likely
        room = looks.spent(pairs, alpha) / 2 * _ROUNDING - spent
        cut = min(int(np.searchsorted(beyond, room, side="right")), len(chances) // 2)
        if not cut:
            continue
        if positive >= len(chances) - cut:
            return 1
        if positive < cut:
            return -1
        spent += float(beyond[cut - 1])
        chances[:cut] = chances[-cut:] = 0.0
    return 0


def _scores(sizes: NDArray[np.float64]) -> NDArray[np.int64]:
    """The rank of each size among those up to it, as a share of their number in whole steps; ties share one, zeros have 0."""
    earlier = np.tril(np.ones((len(sizes), len(sizes)), dtype=bool))
    smaller = ((sizes[None, :] < sizes[:, None]) & earlier).sum(axis=1)
    alike = ((sizes[None, :] == sizes[:, None]) & earlier).sum(axis=1)
    shares = (smaller + (alike + 1) / 2) / np.arange(2, len(sizes) + 2)
    return np.where(sizes > 0, np.rint(shares * _SCORE_MOST), 0).astype(np.int64)
