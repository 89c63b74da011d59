"""Makes a scheduler's decisions visible: who listens to them, and a scheduler that tells what becomes of its picks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from mixedsched.model.request import Request
from mixedsched.model.scheme import Scheduler


class DecisionObserver(Protocol):
    """Whom a session tells where responses were placed and whose bytes left. Must not raise, and be quick: it is told of
    every STREAM frame. Times are seconds of the session's clock."""

    def placed(self, now_s: float, stream_id: int, request: Request, placement: str) -> None:
        """A response was handed to the scheduler, or moved. placement: as text."""

    def scheduled(self, now_s: float, stream_id: int, size_bytes: int, again_bytes: int, packet: int) -> None:
        """The scheduler's pick has filled a frame. again_bytes: how much of it had been sent before. packet: a number that
        frames share if they share a packet."""

    def closed(self, now_s: float, stream_id: int) -> None:
        """The response is over, all of it acknowledged or given up."""


class WatchedScheduler:
    """A scheduler that decides as the one it stands before, and tells whose bytes left and who is over.

    sent: (stream ID, size in bytes, how much of it had been sent before). closed: (stream ID).
    """

    def __init__(
        self, scheduler: Scheduler[Any], sent: Callable[[int, int, int], None], closed: Callable[[int], None]
    ) -> None:
        self._scheduler = scheduler
        self._tell_sent = sent
        self._tell_closed = closed
        # What is only passed on costs no call of ours.
        self.open = scheduler.open
        self.reprioritize = scheduler.reprioritize
        self.pause = scheduler.pause
        self.resume = scheduler.resume
        self.pick = scheduler.pick
        self.is_steady = scheduler.is_steady

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:
        self._scheduler.sent(stream_id, size_bytes, again_bytes)
        self._tell_sent(stream_id, size_bytes, again_bytes)

    def close(self, stream_id: int) -> None:
        self._scheduler.close(stream_id)
        self._tell_closed(stream_id)
