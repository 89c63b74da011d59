"""Which request of a visit is which role of a page: where its path is new, by pattern, place, size and priority."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from mixedsched.model.request import ChromiumPriority, Kind

ENOUGH = 4.0
"""The least likeness that makes two of a kind the same."""

_HASH = re.compile(r"[0-9a-fA-F]{6,}|[0-9]+|[A-Za-z0-9_]*[0-9][A-Za-z0-9_]{5,}")


class Likeness(Protocol):
    """What is compared; roles and requests have it."""

    @property
    def path(self) -> str: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def priority(self) -> ChromiumPriority: ...
    @property
    def position(self) -> float: ...


@dataclass(frozen=True, slots=True)
class RequestTraits:
    """What is compared of a request."""

    path: str
    kind: Kind
    size_bytes: int
    priority: ChromiumPriority
    position: float


R = TypeVar("R", bound=Likeness)
Patterned = tuple[R, str, tuple[str, str]]
"""A role with its pattern and its folder and ending."""


def patterned(role: R) -> Patterned[R]:
    return role, pattern_of(role.path), folder_and_ending(role.path)


def pattern_of(path: str) -> str:
    """The path with what looks like a hash, a version or a number left out, and without the values of its query."""
    bare, _, query = path.partition("?")
    names = "&".join(part.partition("=")[0] for part in query.split("&")) if query else ""
    return _HASH.sub("*", bare) + ("?" + _HASH.sub("*", names) if names else "")


def folder_and_ending(path: str) -> tuple[str, str]:
    bare = path.partition("?")[0]
    folder, _, name = bare.rpartition("/")
    return _HASH.sub("*", folder), name.rpartition(".")[2] if "." in name else ""


def likeness(one: Likeness, other: Likeness, patterns_agree: bool, folders_agree: bool) -> float:
    """How much speaks for two of one kind being the same; ENOUGH is enough."""
    score = 2.0 if patterns_agree else 1.0 if folders_agree else 0.0
    apart = abs(math.log((one.size_bytes + 64) / (other.size_bytes + 64)))
    score += 2.5 if apart < 0.02 else 1.5 if apart < 0.25 else 0.5 if apart < 0.7 else -1.0
    score += 1.0 if one.priority is other.priority else 0.0
    away = abs(one.position - other.position)
    return score + max(0.0, 1.5 - away / 4)


def best(wanted: RequestTraits, among: Iterable[Patterned[R]]) -> R | None:
    """The most alike, if it is enough."""
    pattern, folder = pattern_of(wanted.path), folder_and_ending(wanted.path)
    chosen: R | None = None
    most = ENOUGH
    for other, other_pattern, other_folder in among:
        score = likeness(wanted, other, pattern == other_pattern, folder == other_folder)
        if score > most or (chosen is None and score == most):
            chosen, most = other, score
    return chosen
