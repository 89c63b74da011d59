"""All that a server keeps of one page: its memory, the networks of its visitors, the orders proposed, and what came of them."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from mixedsched.core.learning import networks
from mixedsched.core.learning.guard import OrderGuard, is_left
from mixedsched.core.learning.learned import USUAL, LearnedPage
from mixedsched.core.learning.memory import PageMemory
from mixedsched.core.learning.networks import NetworkClass
from mixedsched.core.learning.plan import SAFE, OrderPlan
from mixedsched.core.learning.visit import Beacon, SeenNetwork, Visit

MEMORY_VERSION = 3
MAX_PLANS = 3
"""For one class of networks."""
MAX_PROPOSALS = 9
"""In all: for two classes, and for any other."""
UNKNOWN = SeenNetwork()
THINKS_AFTER = (3, 10, 30, 100, 300, 1000)
"""Numbers of visits to a page, as it is now, after which orders are searched; then every thousand."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """An order and what simulation promises of it, as ratios to the safe order (0.9: a tenth sooner)."""

    plan: OrderPlan
    fcp_ratio: float
    lcp_ratio: float
    """Over all classes of networks that were simulated."""
    by_network: Mapping[int, float] = field(default_factory=dict)
    """Ratios of LCP for each class that was simulated, by its place; 1 or more where it is no good order for that class. Empty
    where there is one class only."""
    everywhere: bool = True
    """Whether it is good over all of them together, and so for a visit whose class is not known."""


@dataclass(slots=True)
class ToldPaints:
    """What browsers said of their paints."""

    visits: int = 0
    fcp_ms: float = 0.0
    lcp_ms: float = 0.0
    cls: float = 0.0
    """All three of the latest."""
    mean_fcp: float = 0.0
    mean_lcp: float = 0.0
    """Means of logarithms of ms; later ones count more from the tenth on."""

    def add(self, beacon: Beacon) -> None:
        self.visits += 1
        step = 1 / min(self.visits, 10)
        self.fcp_ms, self.lcp_ms, self.cls = beacon.fcp_ms, beacon.lcp_ms, beacon.cls
        self.mean_fcp += (math.log(max(1.0, beacon.fcp_ms)) - self.mean_fcp) * step
        self.mean_lcp += (math.log(max(1.0, beacon.lcp_ms)) - self.mean_lcp) * step

    def to_list(self) -> list[float]:
        paints = (self.fcp_ms, self.lcp_ms, self.cls, self.mean_fcp, self.mean_lcp)
        return [self.visits, *(round(value, 5) for value in paints)]

    @classmethod
    def from_list(cls, facts: Sequence[float]) -> Self:
        visits, *paints = facts
        return cls(int(visits), *map(float, paints))


@dataclass(slots=True)
class PageState:
    """A page as its server knows it."""

    memory: PageMemory
    classes: list[NetworkClass] = field(default_factory=list)
    proposals: list[Proposal] = field(default_factory=list)
    """The best first."""
    guard: OrderGuard = field(default_factory=OrderGuard)
    told: ToldPaints = field(default_factory=ToldPaints)
    thought: int = 0
    """After how many visits orders were searched last."""

    @classmethod
    def of(cls, path: str) -> Self:
        """Of a page that was never seen."""
        return cls(PageMemory(path))

    @property
    def names(self) -> list[str]:
        return [item.plan.name for item in self.proposals]

    @property
    def wants_thought(self) -> bool:
        """Whether orders should be searched."""
        visits = self.memory.visits - self.memory.learned_from
        due = [number for number in THINKS_AFTER if number <= visits]
        if visits > THINKS_AFTER[-1]:
            due.append(visits - visits % THINKS_AFTER[-1])
        return bool(due) and self.thought < self.memory.learned_from + due[-1] and not self.memory.strange

    def learn(self, visit: Visit) -> None:
        """Take a visit in: what it says of the page, of networks, and of the order that served it."""
        place = networks.note(self.classes, visit.connection)
        partial = self.memory.partial
        changed = self.memory.learn(visit)
        is_whole = self.memory.partial == partial
        if visit.beacon is not None:
            self.told.add(visit.beacon)
        if changed:
            self.guard.forget()
            self.thought = 0
            self.proposals.clear()
        if changed or self.memory.strange:
            return
        paints = self._paints(visit) if is_whole else None  # one with a cache is sooner, whatever its order
        if paints is not None:
            self.guard.note(visit.order, 0 if place is None else place, *paints, told=visit.beacon is not None)
            if self.guard.judge(self.names) and all(is_left(name, self.guard.left) for name in self.names):
                self.thought = self.memory.learned_from  # search others at once, not only after many more visits

    def propose(self, proposals: Sequence[Proposal]) -> None:
        """Orders that were searched for what is known now. What came of orders of the same name still counts."""
        self.proposals = list(proposals)[:MAX_PROPOSALS]
        self.thought = self.memory.visits
        self.guard.outcomes = {
            name: found for name, found in self.guard.outcomes.items() if name == SAFE or name in self.names
        }

    def choose(self, rng: random.Random, seen: SeenNetwork = UNKNOWN) -> OrderPlan | None:
        """The order of the next visit; None for the safe one. seen: what is known of the visitor's network."""
        return self._plan(self.guard.choose(self.orders_for(seen), rng))

    def settled(self, seen: SeenNetwork = UNKNOWN) -> OrderPlan | None:
        """The order that most visits over such a network get; None for the safe one."""
        return self._plan(self.guard.settled(self.orders_for(seen)))

    def orders_for(self, seen: SeenNetwork) -> list[str]:
        """Names of the orders for a network, the best first: of its class where that was simulated alone, else those that are
        good over all classes that were. None while the page looks as if it had changed."""
        if self.memory.strange:
            return []
        place = networks.place_of(self.classes, seen)
        ratios = [
            (item.by_network[place], item.plan.name)
            for item in self.proposals
            if place is not None and place in item.by_network
        ]
        if not ratios:
            return [item.plan.name for item in self.proposals if item.everywhere][:MAX_PLANS]
        ratios.sort(key=lambda entry: entry[0])
        return [name for ratio, name in ratios if ratio < 1][:MAX_PLANS]

    def _plan(self, name: str) -> OrderPlan | None:
        return next((item.plan for item in self.proposals if item.plan.name == name), None)

    def _paints(self, visit: Visit) -> tuple[float, float] | None:
        """What the visitor's browser told; else when the last byte had left of what paints are believed to wait for."""
        if visit.beacon is not None:
            return visit.beacon.fcp_ms, visit.beacon.lcp_ms
        learned = LearnedPage.of(self.memory)
        if learned is None:
            return None
        numbers = {(role.path, role.kind): name for name, role in learned.roles.items()}
        ends: dict[str, float] = {}
        for item in visit.requests:
            name = numbers.get((item.path, item.kind))
            if name is not None and item.last_byte_ms is not None and not item.is_unsent:
                ends[name] = item.last_byte_ms
        begun_ms = visit.requests[0].first_byte_ms
        if begun_ms is None or any(name not in ends for name in learned.awaited - {learned.needs.main}):
            return None
        return learned.paints({learned.needs.main: begun_ms}, {**ends, learned.needs.main: begun_ms})

    def for_serving(self) -> Self | None:
        """What decisions need of it, without what is remembered of the page; None where the safe order is all there is."""
        if not self.proposals or self.memory.strange:
            return None
        return type(self)(PageMemory(self.memory.path), self.classes, self.proposals, self.guard)

    def shed(self) -> None:
        """Keep less of it: only what is part of the page; after that the better half of its orders, then of its roles."""
        memory = self.memory
        kept = [role for role in memory.roles.values() if memory.share(role) >= USUAL]
        if len(kept) < len(memory.roles):
            memory.keep(len(kept))
        elif self.proposals:
            self.proposals = self.proposals[: len(self.proposals) // 2]
        else:
            memory.keep(len(kept) // 2)

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": MEMORY_VERSION,
            "memory": self.memory.to_dict(),
            "networks": [item.to_list() for item in self.classes],
            "orders": [
                [item.plan.to_dict(), item.fcp_ratio, item.lcp_ratio, [*item.by_network.items()], item.everywhere]
                for item in self.proposals
            ],
            "guard": self.guard.to_dict(),
            "told": self.told.to_list(),
            "thought": self.thought,
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Raises ValueError where it is none, or of another version."""
        try:
            if facts["version"] != MEMORY_VERSION:
                raise ValueError(f"version {facts['version']} is not {MEMORY_VERSION}")
            return cls(
                PageMemory.from_dict(facts["memory"]),
                [NetworkClass.from_list(item) for item in facts["networks"][: networks.MAX_CLASSES]],
                [
                    Proposal(
                        *(OrderPlan.from_dict(plan), float(fcp), float(lcp)),
                        {int(place): float(ratio) for place, ratio in by_network},
                        bool(everywhere),
                    )
                    for plan, fcp, lcp, by_network, everywhere in facts["orders"][:MAX_PROPOSALS]
                ],
                OrderGuard.from_dict(facts["guard"]),
                ToldPaints.from_list(facts["told"]),
                int(facts["thought"]),
            )
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise ValueError(f"not a page's memory: {error}") from error
