"""One after another, by weight and then by number: a chain with levels."""

from __future__ import annotations

from mixedsched.core.schedulers._queue import Fifo
from mixedsched.core.schedulers._tree import WEIGHT_MAX


class RankedFifo(Fifo):
    """The heaviest member first, all of it; among equals the lowest number."""

    @staticmethod
    def weight(rank: int) -> int:
        """The weight of a rank, 0 being the first."""
        return WEIGHT_MAX - rank

    def enter(self, member: int, weight: int) -> None:
        self.push(member, -weight)
