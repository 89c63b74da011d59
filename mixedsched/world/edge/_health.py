"""Checks the origin's health by requesting a path again and again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mixedsched.world.edge._origin import OriginEvents, OriginFault, OriginRequest, OriginStream
from mixedsched.world.edge.settings import longer_pause_s

if TYPE_CHECKING:
    from mixedsched.world.edge._pool import OriginPool

_log = logging.getLogger(__name__)

LIMIT_S = 5.0  # for the whole answer, from when the request is sent


class HealthCheck:
    """A Waiter for the pool and OriginEvents for its connection, one request at a time. Stop it at the end.

    The origin is healthy if it answers with a status below 500 in time. While it is not, the pool refuses requests at once, and
    the pauses between checks grow. every_s: between them while it is. passed, failures: checks so far.
    """

    def __init__(self, pool: OriginPool, path: str, host: str, every_s: float) -> None:
        self.client, self.urgency = "", 0
        self.request = OriginRequest("GET", path, [(b"host", host.encode())], None, has_body=False)
        self.passed = self.failures = 0
        self._pool = pool
        self._every_s = every_s
        self._loop = asyncio.get_running_loop()
        self._pause_s = 0.0
        self._status = 0
        self._is_repeated = False  # the present check
        self._stream: OriginStream | None = None
        self._limit: asyncio.TimerHandle | None = None
        self._next: asyncio.Handle | None = self._loop.call_soon(self._check)

    @property
    def events(self) -> OriginEvents:
        return self

    def stop(self) -> None:
        for timer in (self._next, self._limit):
            if timer is not None:
                timer.cancel()
        self._pool.leave(self)
        if self._stream is not None:
            self._stream.cancel()

    def _check(self) -> None:
        self._next = None
        self._is_repeated = False
        self._pool.check(self)

    def connected(self, stream: OriginStream) -> None:
        self._stream = stream
        self._limit = self._loop.call_later(LIMIT_S, self._time_out)

    def _time_out(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.cancel()
        self._note(f"{self.request.target} was not answered within {LIMIT_S:g} s")

    def informed(self, status: int, fields: Iterable[tuple[bytes, bytes]]) -> None:
        """Tells nothing."""

    def answered(self, status: int, fields: Iterable[tuple[bytes, bytes]], version: bytes, *, has_body: bool) -> None:  # noqa: ARG002
        self._status = status

    def received(self, data: bytes) -> None:
        """What it says does not matter."""

    def ended(self, trailers: Iterable[tuple[bytes, bytes]]) -> None:  # noqa: ARG002
        self._note(f"{self.request.target} was answered with {self._status}" if self._status >= 500 else None)

    def failed(self, fault: OriginFault) -> None:
        if (fault.is_stale or fault.is_unprocessed) and not self._is_repeated:  # closing idle connections is healthy
            self._is_repeated, self._stream = True, None
            if self._limit is not None:
                self._limit.cancel()
            self._pool.check(self, fresh=True)
        elif self._stream is None and self._pool.fault is None:  # it answers over the connections that it has
            self._next = self._loop.call_later(self._pause_s or self._every_s, self._check)
        else:
            self._note(fault.why)

    def writable(self, *, now: bool) -> None:
        """It has no body."""

    def _note(self, why: str | None) -> None:
        """A check is over. why: it has failed."""
        self._stream = None
        if self._limit is not None:
            self._limit.cancel()
        was_healthy = self._pool.sick is None
        if why is None:
            self.passed += 1
            self._pause_s, self._pool.sick = 0.0, None
            if not was_healthy:
                _log.warning("the origin is healthy again")
        else:
            self.failures += 1
            self._pause_s = longer_pause_s(self._pause_s)
            self._pool.sick = OriginFault(503, f"the origin is unhealthy: {why}")
            if was_healthy:
                _log.warning("%s", self._pool.sick.why)
        self._next = self._loop.call_later(self._pause_s or self._every_s, self._check)
