"""A response's body between the origin and the client's stream: read a window ahead, and within what all may hold."""

import asyncio
from collections.abc import Callable

from mixedsched.core.h3.response import GrowingBody
from mixedsched.world.edge._budget import Budget
from mixedsched.world.edge._origin import OriginStream
from mixedsched.world.edge._spool import Spool
from mixedsched.world.edge.settings import Buffers

_REFILL_BYTES = 32 * 1024
_SPOOLED_BYTES = 64 * 1024  # of a response in memory where a file has the rest


class Inflow:
    """Feeds a body from the origin, or from a file where the origin was faster than the client.

    budget, spooled: of all bodies, in memory and in files. size_bytes: of the body, 0 where that is not known. lost: told why
    the rest cannot come, where the file is at fault.
    """

    def __init__(
        self,
        stream: OriginStream,
        budget: Budget,
        spooled: Budget,
        buffers: Buffers,
        size_bytes: int,
        lost: Callable[[str], None],
    ) -> None:
        self._lost = lost
        self.body = GrowingBody(size_bytes, taken=self._taken, closed=self.close)
        self._stream: OriginStream | None = stream
        self._budget = budget
        self._window_bytes = (
            buffers.window_bytes if buffers.spool is None else min(_SPOOLED_BYTES, buffers.window_bytes)
        )
        self._spool = Spool(buffers.spool, buffers.spool_bytes, spooled) if buffers.spool is not None else None
        self._loop = asyncio.get_running_loop()
        self._is_paused = False
        self._is_refilling = False
        self._held_bytes = 0  # in the budget
        self._finish: Callable[[], None] | None = None  # the origin has sent all
        self._is_closed = False

    def feed(self, data: bytes) -> None:
        """More has come from the origin."""
        if self._is_closed:
            return
        spool = self._spool
        has_room = spool is not None and not spool.is_full
        # Behind what is in the file already, even where that becomes too large.
        if spool is not None and (spool.size_bytes or (has_room and self._is_full)):
            try:
                spool.write(data)
            except OSError as error:
                self._lost(f"the spool cannot be written: {error.strerror}")
                return
            if spool.is_full:
                self._pause()
        else:
            self._to_body(data)
            if self._is_full and not has_room:
                self._pause()

    def end(self, finish: Callable[[], None], last: bytes = b"") -> None:
        """The origin has sent all. last: of our own behind it. finish: to be called behind the last byte."""
        self._stream = None
        if last:
            self.feed(last)
        self._finish = finish
        self._finish_if_empty()

    def close(self) -> None:
        """The response is over."""
        if not self._is_closed:
            self._is_closed = True
            self._stream = None
            self._budget.forget(self._resume)
            if self._spool is not None:
                self._spool.close()

    @property
    def _is_full(self) -> bool:
        held_bytes = self.body.remaining_bytes
        return held_bytes >= self._window_bytes or (held_bytes > 0 and self._budget.is_spent)

    def _to_body(self, data: bytes) -> None:
        before = self.body.remaining_bytes
        self.body.feed(data)
        added_bytes = self.body.remaining_bytes - before
        self._held_bytes += added_bytes
        self._budget.add(added_bytes)

    def _pause(self) -> None:
        if not self._is_paused and self._stream is not None:
            self._is_paused = True
            self._stream.pause()
            if self.body.remaining_bytes < self._window_bytes:
                self._budget.wait(self._resume)

    def _taken(self, size_bytes: int) -> None:
        """Called from within a packet: only notes what to do."""
        held_bytes = min(size_bytes, self._held_bytes)  # trailers, which come last, do not count
        self._held_bytes -= held_bytes
        self._budget.release(held_bytes)
        if self._is_refilling or self._is_closed:
            return
        if self.body.remaining_bytes <= self._window_bytes // 2 and (
            self._is_paused or (self._spool is not None and self._spool.size_bytes)
        ):
            self._resume()

    def _resume(self) -> None:
        if not self._is_refilling:
            self._is_refilling = True
            self._loop.call_soon(self._refill)

    def _refill(self) -> None:
        self._is_refilling = False
        if self._is_closed:
            return
        if self._spool is not None:
            try:
                while self._spool.size_bytes and not self._is_full:
                    self._to_body(self._spool.read(_REFILL_BYTES))
            except OSError as error:
                self._lost(f"the spool cannot be read: {error.strerror}")
                return
            self._finish_if_empty()
            if self._spool.size_bytes:
                return
        if self._is_paused and self._stream is not None:
            if self._is_full:
                self._budget.wait(self._resume)
                return
            self._is_paused = False
            self._stream.resume()

    def _finish_if_empty(self) -> None:
        if self._finish is not None and not (self._spool is not None and self._spool.size_bytes):
            finish, self._finish = self._finish, None
            finish()
