"""Which order the next visit gets: the safe one, or one of a few proposals; and which proposals do visitors no good.

Without beacons the best proposal is tried, and stays or is left. Where browsers tell their paints it is a bandit: proposals are
tried one after another, and then each gets visits as often as it is likely the best by what was told (Thompson sampling).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from mixedsched.core.learning.plan import SAFE

MOST_LATER = math.log(1.02)
"""How much later than by the safe order a paint may come: beyond that an order is left."""
FEWEST = 3
"""Visits of an order, and of the safe one, before the guard says anything of it."""
TRIED = 8
"""Visits after which an order that the guard has let stand gets most visits."""
TRIAL_SHARE = 0.5
"""Share of the visits of an order that is not tried yet."""
SAFE_SHARE = 0.1
"""Share of the visits that go on with the safe order, to compare with."""
MAX_NUMBER = 500
"""What many visits count for at most, so that a change shows."""
MAX_ARMS = 10
TOLD = 100
"""Added to the place of a class of networks: paints that browsers told, which are compared only with each other."""
FAR = math.log(1.5)
"""A paint that is further from the mean counts as so far: one visit does not outweigh many, whoever made it up."""
LEAST_DEVIATION = 0.02
"""Of logarithms of paints, as far as the bandit believes it."""

FIRST_PAINT = "the first paint"


def is_left(order: str, left: Mapping[str, str]) -> bool:
    """Whether an order is not used any more: it was left, or another one of the same document was for its first paint, as that
    comes when the document lets it. left: as OrderGuard has it.
    """
    document, slash, _ = order.partition("/")
    late = (name.partition("/")[0] for name, why in left.items() if why.startswith(FIRST_PAINT))
    return order in left or (bool(slash) and document in late)


@dataclass(slots=True)
class Outcomes:
    """Paints of the visits that were served by one order over one class of networks: logarithms of ms."""

    number: float = 0.0
    """Of visits that count alike, so many would tell the means as surely. Up to half of MAX_NUMBER all do."""
    fcp: float = 0.0
    lcp: float = 0.0
    """Means; of more visits the later ones count for more."""
    fcp_squares: float = 0.0
    lcp_squares: float = 0.0
    """Squared deviations, as the sum over that many visits."""

    def add(self, fcp_ms: float, lcp_ms: float) -> None:
        fcp, lcp = math.log(max(fcp_ms, 1.0)), math.log(max(lcp_ms, 1.0))
        if self.number >= FEWEST:
            fcp = min(max(fcp, self.fcp - FAR), self.fcp + FAR)
            lcp = min(max(lcp, self.lcp - FAR), self.lcp + FAR)
        if self.number < MAX_NUMBER // 2:
            number = self.number + 1
            share = 1 / number  # of this visit in the means
        else:
            share = 2 / (MAX_NUMBER + 1)
            # A mean with weights is as sure as one of 1 / (sum of the squares of the weights) values.
            number = 1 / ((1 - share) ** 2 / self.number + share**2)
        kept, added = (1 - share) * number / max(1.0, self.number), (1 - share) * number * share
        self.fcp_squares = kept * self.fcp_squares + added * (fcp - self.fcp) ** 2
        self.lcp_squares = kept * self.lcp_squares + added * (lcp - self.lcp) ** 2
        self.fcp += share * (fcp - self.fcp)
        self.lcp += share * (lcp - self.lcp)
        self.number = number

    def to_list(self) -> list[float]:
        values = (self.number, self.fcp, self.lcp, self.fcp_squares, self.lcp_squares)
        return [round(value, 6) for value in values]


@dataclass(slots=True)
class OrderGuard:
    """What came of each order. Randomness is an argument."""

    outcomes: dict[str, dict[int, Outcomes]] = field(default_factory=dict)
    """By name of the order, then place of the class of networks."""
    left: dict[str, str] = field(default_factory=dict)
    """Orders that are not used any more, and why: in words, which begin with the paint that came too late."""

    def note(self, order: str, network: int, fcp_ms: float, lcp_ms: float, *, told: bool = False) -> None:
        """A visit is over. network: place of its class. told: whether the paints are what the visitor's browser said."""
        network += TOLD if told else 0
        if order not in self.outcomes and len(self.outcomes) >= MAX_ARMS:
            return
        self.outcomes.setdefault(order, {}).setdefault(network, Outcomes()).add(fcp_ms, lcp_ms)

    def judge(self, orders: Sequence[str]) -> list[str]:
        """Leave those that are later than the safe one; returns them."""
        gone = []
        for order in orders:
            if order == SAFE or order in self.left:
                continue
            for key, word in (("lcp", "the largest paint"), ("fcp", FIRST_PAINT)):
                compared = self._later(order, key)
                if compared is not None and compared[0] - compared[1] > MOST_LATER:
                    later_pct = (math.exp(compared[0]) - 1) * 100
                    self.left[order] = f"{word} came {later_pct:.1f} % later than by the safe order"
                    gone.append(order)
                    break
        return gone

    def choose(self, orders: Sequence[str], rng: random.Random) -> str:
        """The order of the next visit. orders: proposals, the best first."""
        useful = [order for order in orders if not is_left(order, self.left)]
        if not useful:
            return SAFE
        compared = self._told_of(useful)
        untried = next((order for order in useful if self.visits_of(order) < TRIED), None)
        draw = rng.random()
        if not compared:
            best = useful[0]
            return best if draw < (TRIAL_SHARE if untried == best else 1 - SAFE_SHARE) else SAFE
        if untried is not None and draw < TRIAL_SHARE:
            return untried
        if draw >= 1 - SAFE_SHARE:
            return SAFE
        sampled = {order: rng.gauss(later, deviation) for order, (later, deviation) in compared.items()}
        best = min(sampled, key=lambda order: sampled[order])
        return best if sampled[best] < 0 else SAFE

    def settled(self, orders: Sequence[str]) -> str:
        """The order that most visits get, or would get."""
        useful = [order for order in orders if not is_left(order, self.left)]
        compared = self._told_of(useful)
        if compared:
            best = min(compared, key=lambda order: compared[order][0])
            return best if compared[best][0] < 0 else SAFE
        return next(iter(useful), SAFE)

    def _told_of(self, orders: Sequence[str]) -> dict[str, tuple[float, float]]:
        """Of those that enough browsers have told of: how much later the largest paint came than by the safe order, as a
        logarithm, and how sure that is."""
        found = {}
        for order in orders:
            compared = self._later(order, "lcp", told=True) if self.visits_of(order) >= TRIED else None
            if compared is not None:
                found[order] = (compared[0], max(LEAST_DEVIATION, compared[1]))
        return found

    def visits_of(self, order: str) -> float:
        """How many visits it served."""
        return sum(item.number for item in self.outcomes.get(order, {}).values())

    def forget(self) -> None:
        """The page has changed."""
        self.outcomes.clear()
        self.left.clear()

    def _later(self, order: str, key: str, *, told: bool = False) -> tuple[float, float] | None:
        """(mean difference of logarithms to the safe order, its standard error); None as long as visits are too few."""
        differences, weights, variance = [], [], 0.0
        for network, own in self.outcomes.get(order, {}).items():
            safe = self.outcomes.get(SAFE, {}).get(network)
            if (told and network < TOLD) or safe is None or min(own.number, safe.number) < FEWEST:
                continue
            weight = 1 / (1 / own.number + 1 / safe.number)
            differences.append(getattr(own, key) - getattr(safe, key))
            weights.append(weight)
            squares = getattr(own, f"{key}_squares") + getattr(safe, f"{key}_squares")
            variance += weight * squares / max(1.0, own.number + safe.number - 2)
        if not weights:
            return None
        total = sum(weights)
        mean = sum(weight * value for weight, value in zip(weights, differences, strict=True)) / total
        return mean, math.sqrt(variance) / total

    def to_dict(self) -> dict[str, Any]:
        outcomes = {
            order: {str(network): item.to_list() for network, item in by_network.items()}
            for order, by_network in self.outcomes.items()
        }
        return {"outcomes": outcomes, "left": self.left}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Raises ValueError, TypeError, KeyError or AttributeError for what is none."""
        outcomes = {
            str(order): {int(network): Outcomes(*map(float, values)) for network, values in by_network.items()}
            for order, by_network in facts["outcomes"].items()
        }
        return cls(outcomes, {str(order): str(why) for order, why in facts["left"].items()})
