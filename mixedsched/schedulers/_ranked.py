"""One after another, by weight and then by number: a chain with levels."""

from __future__ import annotations

from mixedsched.schedulers._heap import KeyedHeap
from mixedsched.schedulers._tree import WEIGHT_MAX


class RankedFifo:
    """The heaviest member first, all of it; among equals the lowest number."""

    def __init__(self) -> None:
        self._ready: KeyedHeap[int] = KeyedHeap()

    @staticmethod
    def weight(rank: int) -> int:
        """The weight of a rank, 0 being the first."""
        return WEIGHT_MAX - rank

    def __len__(self) -> int:
        return len(self._ready)

    def enter(self, member: int, weight: int) -> None:
        self._ready.push(member, -weight)

    def leave(self, member: int) -> None:
        self._ready.discard(member)

    def forget(self, member: int) -> None:
        self._ready.discard(member)

    def first(self) -> int | None:
        return self._ready.first()

    def sent(self, member: int, size_bytes: int) -> None:
        """Sending changes no order here."""

    def is_steady(self) -> bool:
        return True
