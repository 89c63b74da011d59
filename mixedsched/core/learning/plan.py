"""An order of a page's responses, by role, and how it places requests: those that it does not know as the safe order does."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self

from mixedsched.core.learning._matching import Patterned, RequestTraits, best, patterned
from mixedsched.core.learning.visit import MAX_PATH
from mixedsched.core.schedulers.inferred import LevelTurn, safe_turn
from mixedsched.model.request import ChromiumPriority, Kind, Request
from mixedsched.model.scheme import ConfiguredScheme

SAFE = "safe"


@dataclass(frozen=True, slots=True)
class PlannedRole:
    """A role and its turn. The first five fields are how it is recognised."""

    path: str
    kind: Kind
    size_bytes: int
    priority: ChromiumPriority
    position: float
    turn: LevelTurn
    why: str = ""
    """For people."""

    def to_list(self) -> list[Any]:
        turn = [self.turn.level, self.turn.shared, [list(part) for part in self.turn.early], self.turn.batch_packets]
        return [self.path, self.kind.value, self.size_bytes, self.priority.rank, self.position, turn, self.why]

    @classmethod
    def from_list(cls, facts: list[Any]) -> Self:
        path, kind, size_bytes, rank, position, (level, shared, early, batch), why = facts
        turn = _turn(int(level), bool(shared), tuple((int(until), int(at)) for until, at in early), int(batch))
        # A page's orders have the same paths and reasons: a server that holds many of them holds each once.
        names = sys.intern(str(path)), sys.intern(str(why))
        return cls(
            names[0], Kind(kind), int(size_bytes), tuple(ChromiumPriority)[rank], float(position), turn, names[1]
        )


_turn = lru_cache(1000)(LevelTurn)
_Patterns = dict[Kind, list[Patterned[PlannedRole]]]


@dataclass(frozen=True)
class OrderPlan:
    """Where each response of a page goes."""

    name: str
    roles: tuple[PlannedRole, ...]
    why: str = ""
    _index: Mapping[str, PlannedRole] = field(init=False, repr=False, compare=False)
    _patterns: _Patterns = field(init=False, repr=False, compare=False)
    """By kind; made for the first request of that kind whose path is new."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", {role.path: role for role in reversed(self.roles)})
        object.__setattr__(self, "_patterns", {})

    def turn_of(self, request: Request) -> LevelTurn:
        """The turn of a request: its role's, else the safe one. The same for the same request, whoever asked before."""
        role = self.role_of(request)
        return safe_turn(request) if role is None else role.turn

    def role_of(self, request: Request) -> PlannedRole | None:
        path = request.path[:MAX_PATH]  # as it is remembered
        role = self._index.get(path)
        if role is not None and role.kind is request.kind:
            return role
        asked = RequestTraits(
            path, request.kind, request.body_bytes, request.chromium_priority, float(request.stream_id // 4)
        )
        if request.kind not in self._patterns:
            self._patterns[request.kind] = [patterned(role) for role in self.roles if role.kind is request.kind]
        return best(asked, self._patterns[request.kind])

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "why": self.why, "roles": [role.to_list() for role in self.roles]}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Raises ValueError, KeyError or TypeError for what is no plan."""
        roles = tuple(PlannedRole.from_list(item) for item in facts["roles"])
        return cls(str(facts["name"]), roles, str(facts["why"]))


def with_plan(scheme: ConfiguredScheme, plan: OrderPlan | None) -> ConfiguredScheme:
    """The scheme `adaptive` with what is learned of one page; None: nothing yet."""
    if plan is None:
        return scheme
    planned = replace(scheme.scheme, place=lambda request, _mapping, _values: plan.turn_of(request))
    return replace(scheme, scheme=planned)
