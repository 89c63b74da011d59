"""Strict levels of any number, in which responses are sent one by one or share; the beginning of one may go before the rest."""

from dataclasses import dataclass
from typing import Literal

from mixedsched.core.schedulers._base import StreamTable
from mixedsched.core.schedulers._queue import KeyedHeap, RoundRobin

Client = Literal["chromium", "firefox", "silent"]
"""Whose signals a client sends. One without signals is served in the order of its requests, as nothing else is known."""


@dataclass(frozen=True, slots=True)
class LevelTurn:
    """When a response has its turn."""

    level: int
    """The lowest goes first, strictly; 0 or more."""
    shared: bool = False
    """Whether it takes turns of several packets with others of its level; else it is sent in one piece, by stream ID."""
    early: tuple[tuple[int, int], ...] = ()
    """Levels of its beginning: (until so many bytes, level), by rising bytes."""
    batch_packets: int = 1
    """How many packets it sends in a turn; of those that share a level, the first one's counts."""

    client: Client | None = None
    """Which client sent the request, according to its signal; None if there is none."""
    if_firefox: int | None = None
    """Its level on a connection of Firefox, if that differs."""

    def level_at(self, sent_bytes: int) -> int:
        """The level of the data after so many bytes."""
        return next((level for until_bytes, level in self.early if sent_bytes < until_bytes), self.level)

    def __str__(self) -> str:
        early = "".join(f"{level} until {until_bytes} B, " for until_bytes, level in self.early)
        return f"[{early}{self.level}{', i' if self.shared else ''}]"


class LevelTurns(StreamTable[LevelTurn]):
    """Responses by level; of one level those that share before the others."""

    def __init__(self) -> None:
        super().__init__()
        self._queue: KeyedHeap[int] = KeyedHeap()  # by level: streams, and -1 - level for those that share it
        self._shared: dict[int, RoundRobin] = {}  # by level, none empty
        self._levels: dict[int, int] = {}  # of ready streams, as they were entered; that of those that share is below 0
        self._client: Client | None = None  # the first request that tells decides
        self._sent_bytes: dict[int, int] = {}  # of all: any may get levels for its beginning later

    def _place(self, stream_id: int, placement: LevelTurn) -> None:  # noqa: ARG002 - whichever stream tells
        if self._client is None:
            self._client = placement.client

    def _enter(self, stream_id: int, placement: LevelTurn) -> None:
        level = self._level_at(placement, self._sent_bytes.setdefault(stream_id, 0))
        if placement.shared and level == placement.level:
            self._levels[stream_id] = -1 - level
            self._shared.setdefault(level, RoundRobin(placement.batch_packets)).enter(stream_id, 1)
            self._queue.push(-1 - level, level)
        else:
            self._levels[stream_id] = level
            self._queue.push(stream_id, level)

    def _level_at(self, placement: LevelTurn, sent_bytes: int) -> int:
        if self._client == "silent":
            return 0
        if self._client == "firefox" and placement.if_firefox is not None:
            return placement.if_firefox
        return placement.level_at(sent_bytes)

    def _leave(self, stream_id: int, placement: LevelTurn) -> None:  # noqa: ARG002 - it leaves what it has entered
        level = self._levels.pop(stream_id)
        if level >= 0:
            self._queue.discard(stream_id)
            return
        group = self._shared[-1 - level]
        group.leave(stream_id)
        if not group:
            del self._shared[-1 - level]
            self._queue.discard(level)

    def _forget(self, stream_id: int) -> None:
        self._sent_bytes.pop(stream_id, None)

    def pick(self) -> int | None:
        first = self._queue.first()
        return self._shared[-1 - first].first() if first is not None and first < 0 else first

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:
        placement, level = self._placements[stream_id], self._levels.get(stream_id)
        if level is not None and level < 0:
            self._shared[-1 - level].sent(stream_id, size_bytes)
        sent_bytes = self._sent_bytes[stream_id] + max(0, size_bytes - again_bytes)
        self._sent_bytes[stream_id] = sent_bytes
        if not placement.early or level is None:
            return
        if max(level, -1 - level) != self._level_at(placement, sent_bytes):
            self._leave(stream_id, placement)
            self._enter(stream_id, placement)

    def is_steady(self) -> bool:
        first = self._queue.first()
        return first is not None and first >= 0 and not self._placements[first].early
