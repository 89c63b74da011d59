"""Connections to the origin: kept while they are of use, never more than allowed, and asked for in a fair order.

While the origin cannot be reached, requests are answered at once, and it is tried again with growing pauses.
"""

import asyncio
import logging
import ssl
from typing import Protocol

from mixedsched.world.edge._http1 import Http1Connection
from mixedsched.world.edge._origin import OriginEvents, OriginFault, OriginRequest, OriginStream
from mixedsched.world.edge._queue import FairQueue
from mixedsched.world.edge.settings import OriginAddress, OriginLimits

_log = logging.getLogger(__name__)

PAUSE_MIN_S, PAUSE_MAX_S = 0.1, 5.0


class Waiter(Protocol):
    """A request that wants a connection."""

    client: str
    urgency: int

    @property
    def events(self) -> OriginEvents: ...

    @property
    def request(self) -> OriginRequest: ...

    def connected(self, stream: OriginStream) -> None:
        """The head was sent."""


class OriginPool:
    """The connections of one edge to its origin."""

    def __init__(self, address: OriginAddress, limits: OriginLimits, tls: ssl.SSLContext | None) -> None:
        self._address = address
        self._limits = limits
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._idle: dict[Http1Connection, None] = {}  # that used last at the end
        self._busy: dict[Http1Connection, None] = {}
        self._connecting: set[asyncio.Task[None]] = set()
        self._queue: FairQueue[Waiter] = FairQueue()
        self._down_until_s: float | None = None  # the origin cannot be reached
        self._pause_s = 0.0
        self._trial: asyncio.TimerHandle | None = None
        self.fault: OriginFault | None = None  # the last one in reaching it, until it is reached
        self._sweeper = self._loop.call_later(self._sweep_s, self._sweep)

    @property
    def open_connections(self) -> int:
        return len(self._idle) + len(self._busy)

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def is_down(self) -> bool:
        return self.fault is not None

    def ask(self, waiter: Waiter, *, fresh: bool = False) -> None:
        """Send a request as soon as there is a connection. fresh: only over a new one, as one that was kept has failed."""
        if self.fault is not None:
            waiter.events.failed(self.fault)
            return
        if not fresh and self._idle:
            connection, _ = self._idle.popitem()
            self._use(connection, waiter)
            return
        if len(self._queue) >= self._limits.waiting:
            waiter.events.failed(OriginFault(503, "too many requests wait for the origin"))
            return
        if fresh:
            self._drop_idle()
        self._queue.add(waiter.client, waiter.urgency, waiter)
        self._connect_more()

    def leave(self, waiter: Waiter) -> None:
        """A request that waits is not wanted any more."""
        self._queue.remove(waiter)

    def close(self) -> None:
        self._sweeper.cancel()
        if self._trial is not None:
            self._trial.cancel()
        for task in self._connecting:
            task.cancel()
        for connection in (*self._idle, *self._busy):
            connection.close()

    def _use(self, connection: Http1Connection, waiter: Waiter) -> None:
        self._busy[connection] = None
        waiter.connected(connection)
        connection.start(waiter.request, waiter.events)

    def _released(self, connection: Http1Connection) -> None:
        self._busy.pop(connection, None)
        self._idle.pop(connection, None)
        if connection.is_open:
            waiter = self._queue.pop()
            if waiter is not None:
                self._use(connection, waiter)
            else:
                self._idle[connection] = None
        else:
            self._connect_more()

    def _connect_more(self) -> None:
        """Open connections for those that wait, within the limit."""
        room = self._limits.connections - len(self._busy) - len(self._idle) - len(self._connecting)
        for _ in range(min(room, len(self._queue) - len(self._connecting))):
            task = self._loop.create_task(self._connect())
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)

    async def _connect(self) -> None:
        try:
            async with asyncio.timeout(self._limits.connect_s):
                connection = await self._open()
        except TimeoutError:
            self._is_down(
                OriginFault(504, f"no connection to {self._address.text} within {self._limits.connect_s:g} s")
            )
        except (OSError, ssl.SSLError) as error:
            why = getattr(error, "verify_message", None) or error.strerror or str(error)
            self._is_down(OriginFault(502, f"no connection to {self._address.text}: {why}"))
        else:
            if self.fault is not None:
                _log.warning("the origin %s can be reached again", self._address.text)
            self.fault, self._pause_s = None, 0.0
            self._connecting.discard(asyncio.current_task())
            self._released(connection)

    async def _open(self) -> Http1Connection:
        def make() -> Http1Connection:
            return Http1Connection(self._released)

        if self._address.socket:
            _, connection = await self._loop.create_unix_connection(make, self._address.socket)
        else:
            _, connection = await self._loop.create_connection(
                make,
                self._address.host,
                self._address.port,
                ssl=self._tls,
                server_hostname=self._address.host if self._tls is not None else None,
            )
        return connection

    def _is_down(self, fault: OriginFault) -> None:
        """It cannot be reached: refuse what waits, and try again after a pause that grows."""
        if self.fault is None:
            _log.warning("%s", fault.why)
        self.fault = fault
        if self._trial is None:
            self._pause_s = min(PAUSE_MAX_S, max(PAUSE_MIN_S, 2 * self._pause_s))
            self._trial = self._loop.call_later(self._pause_s, self._try_again)
        while (waiter := self._queue.pop()) is not None:
            waiter.events.failed(fault)

    def _try_again(self) -> None:
        self._trial = None
        task = self._loop.create_task(self._connect())
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    def _drop_idle(self) -> None:
        for connection in tuple(self._idle):
            connection.close()
        self._idle.clear()

    @property
    def _sweep_s(self) -> float:
        limits = self._limits
        return min(1.0, limits.answer_s / 4, limits.silence_s / 4, limits.keep_s / 4)

    def _sweep(self) -> None:
        """End what takes too long, and what nobody has used for long."""
        now_s, limits = self._loop.time(), self._limits
        for connection in tuple(self._busy):
            quiet_s = now_s - connection.heard_s
            if connection.is_paused:
                continue
            if not connection.is_answered and connection.is_sent and quiet_s > limits.answer_s:
                connection.time_out(504, f"the origin did not answer within {limits.answer_s:g} s")
            elif quiet_s > limits.silence_s:
                what = "a response" if connection.is_answered else "a request's body"
                connection.time_out(504, f"nothing came for {limits.silence_s:g} s within {what}")
        for connection in tuple(self._idle):
            if now_s - connection.idle_since_s > limits.keep_s:
                connection.close()
        self._sweeper = self._loop.call_later(self._sweep_s, self._sweep)
