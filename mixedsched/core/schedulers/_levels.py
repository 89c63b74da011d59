"""Strict levels: nothing of a level is sent while a better one has something to send."""

from collections.abc import Callable
from dataclasses import dataclass

from mixedsched.core.schedulers._base import StreamTable
from mixedsched.core.schedulers._queue import Queue


class FilledLevels:
    """Levels by number, the lowest first. Finding it is cheaper than looking at every level, as every packet needs it."""

    __slots__ = ("_bits",)

    def __init__(self) -> None:
        self._bits = 0

    def add(self, level: int) -> None:
        self._bits |= 1 << level

    def discard(self, level: int) -> None:
        self._bits &= ~(1 << level)

    def first(self) -> int:
        """The lowest level that has something; -1 if none has."""
        bits = self._bits
        return (bits & -bits).bit_length() - 1


@dataclass(frozen=True, slots=True)
class Level:
    """level: 0 is served first. weight: among those of the same level, where the discipline inside has weights."""

    level: int
    weight: int = 1

    def __str__(self) -> str:
        return f"level {self.level}" if self.weight == 1 else f"level {self.level}, weight {self.weight}"


class StrictLevels(StreamTable[Level]):
    """The best level that has something to send, at every packet; inside it, any discipline (FIFO, round robin, weighted)."""

    def __init__(self, levels: int, discipline: Callable[[], Queue]) -> None:
        super().__init__()
        self._queues = tuple(discipline() for _ in range(levels))
        self._filled = FilledLevels()

    def _enter(self, stream_id: int, placement: Level) -> None:
        self._queues[placement.level].enter(stream_id, placement.weight)
        self._filled.add(placement.level)

    def _leave(self, stream_id: int, placement: Level) -> None:
        queue = self._queues[placement.level]
        queue.leave(stream_id)
        if not queue:
            self._filled.discard(placement.level)

    def _forget(self, stream_id: int) -> None:
        for queue in self._queues:
            queue.forget(stream_id)

    def pick(self) -> int | None:
        level = self._filled.first()
        return self._queues[level].first() if level >= 0 else None

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:  # noqa: ARG002 - repeats cost capacity too
        self._queues[self._placements[stream_id].level].sent(stream_id, size_bytes)

    def is_steady(self) -> bool:
        level = self._filled.first()
        return level >= 0 and self._queues[level].is_steady()
