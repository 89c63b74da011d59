"""Strict urgency, as in RFC 9218 and all servers that follow it; they differ in the order inside one urgency."""

from collections import defaultdict
from collections.abc import Callable
from typing import Protocol

from mixedsched.core.schedulers._base import StreamTable
from mixedsched.core.schedulers._levels import FilledLevels
from mixedsched.model.priority import Priority


class UrgencyLevel(Protocol):
    """The ready responses of one urgency, and whose turn it is."""

    def __len__(self) -> int:
        """The number of ready responses."""

    def enter(self, stream_id: int, incremental: bool) -> None:
        """It has something to send, and was not in this level."""

    def leave(self, stream_id: int, incremental: bool) -> None:
        """It has nothing more to send, and was in this level."""

    def forget(self, stream_id: int) -> None:
        """It is closed."""

    def first(self) -> int | None:
        """Whose turn it is; changes nothing."""

    def sent(self, stream_id: int, incremental: bool, size_bytes: int) -> None:
        """It was served, ready or not."""


class UrgencyLevels(StreamTable[Priority]):
    """At every packet the lowest urgency that has something to send. create_level: makes the order inside one urgency."""

    def __init__(self, create_level: Callable[[], UrgencyLevel]) -> None:
        super().__init__()
        # Those in use: most connections have one or two.
        self._levels: defaultdict[int, UrgencyLevel] = defaultdict(create_level)
        self._filled = FilledLevels()

    def _enter(self, stream_id: int, placement: Priority) -> None:
        self._levels[placement.urgency].enter(stream_id, placement.incremental)
        self._filled.add(placement.urgency)

    def _leave(self, stream_id: int, placement: Priority) -> None:
        level = self._levels[placement.urgency]
        level.leave(stream_id, placement.incremental)
        if not level:
            self._filled.discard(placement.urgency)

    def _forget(self, stream_id: int) -> None:
        for level in self._levels.values():
            level.forget(stream_id)

    def pick(self) -> int | None:
        urgency = self._filled.first()
        return self._levels[urgency].first() if urgency >= 0 else None

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:  # noqa: ARG002 - repeats cost capacity too
        placement = self._placements[stream_id]
        self._levels[placement.urgency].sent(stream_id, placement.incremental, size_bytes)
