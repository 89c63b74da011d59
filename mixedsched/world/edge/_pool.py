"""Connections to the origin: kept while they are of use, never more than allowed, and asked for in a fair order.

While the origin cannot be reached, requests are answered at once, and it is tried again with growing pauses. An origin that
talks over connections it has, but takes no more of them, can be reached: it is busy, or about to be replaced.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable
from typing import Protocol, cast

from mixedsched.world.edge._http1 import Http1Connection
from mixedsched.world.edge._http2 import Http2Connection, Http2Stream
from mixedsched.world.edge._origin import OriginEvents, OriginFault, OriginRequest, OriginStream
from mixedsched.world.edge._queue import FairQueue
from mixedsched.world.edge.settings import OriginAddress, OriginLimits, longer_pause_s

_log = logging.getLogger(__name__)


class Waiter(Protocol):
    """A request that wants a connection."""

    client: str  # as of client_of: each has its turn
    urgency: int

    @property
    def events(self) -> OriginEvents: ...

    @property
    def request(self) -> OriginRequest: ...

    def connected(self, stream: OriginStream) -> None:
        """The head is sent, or about to be."""


class OriginPool:
    """The connections of one edge to its origin. tls: makes the settings for an https origin."""

    def __init__(
        self, address: OriginAddress, limits: OriginLimits, tls: Callable[[], ssl.SSLContext] | None = None
    ) -> None:
        self._address = address
        self._limits = limits
        self._tls = _speaking(tls(), "h2", "http/1.1") if tls is not None else None
        self._tls_http1 = _speaking(tls(), "http/1.1") if tls is not None else None
        self._loop = asyncio.get_running_loop()
        self._idle: dict[Http1Connection, None] = {}  # that used last at the end
        self._busy: dict[Http1Connection | Http2Stream, None] = {}
        self._shared: Http2Connection | None = None  # where the origin speaks HTTP/2
        # Whether the origin speaks HTTP/1.1, of which each request takes a connection; as far as it is known.
        self._takes_many = tls is None and not address.is_h2c
        self._connecting: dict[asyncio.Task[None], Waiter | None] = {}  # with the only one that it is for
        self._queue: FairQueue[Waiter] = FairQueue()
        self._pause_s = 0.0
        self._trial: asyncio.TimerHandle | None = None
        self._is_closed = False
        self.fault: OriginFault | None = None  # the last one in reaching it, until it is reached
        self.sick: OriginFault | None = None  # what the last health check has found
        self._sweeper = self._loop.call_later(self._sweep_s, self._sweep)

    @property
    def open_connections(self) -> int:
        carrying = sum(isinstance(item, Http1Connection) for item in self._busy)
        return len(self._idle) + carrying + (self._shared is not None)

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def is_down(self) -> bool:
        return self.fault is not None or self.sick is not None

    def ask(self, waiter: Waiter, *, fresh: bool = False) -> None:
        """Send a request as soon as there is a connection. fresh: only over a new one, as one that was kept has failed."""
        fault = self.fault or self.sick
        if fault is not None:
            waiter.events.failed(fault)
        elif len(self._queue) >= self._limits.waiting:
            waiter.events.failed(OriginFault(503, "too many requests wait for the origin"))
        else:
            if fresh:
                self._drop_idle()
            self._queue.add(waiter.client, waiter.urgency, waiter, self._loop.time())
            self._serve()

    def check(self, waiter: Waiter, *, fresh: bool = False) -> None:
        """Send the request of a health check, in its turn, also while the last one says that the origin is unhealthy."""
        if self.fault is not None:
            waiter.events.failed(self.fault)
        else:
            if fresh:
                self._drop_idle()
            self._queue.add(waiter.client, waiter.urgency, waiter, self._loop.time())
            self._serve()

    def leave(self, waiter: Waiter) -> None:
        """A request that waits is not wanted any more."""
        self._queue.remove(waiter)
        for task, alone in self._connecting.items():
            if alone is waiter:
                task.cancel()

    def close(self) -> None:
        self._is_closed = True
        self._sweeper.cancel()
        if self._trial is not None:
            self._trial.cancel()
        for task in self._connecting:
            task.cancel()
        for item in (*self._idle, *self._busy):
            connection = item.connection if isinstance(item, Http2Stream) else item
            connection.close()
        if self._shared is not None:
            self._shared.close()

    def _serve(self) -> None:
        """Give those that wait the connections there are, and open more for the rest, within the limit."""
        while len(self._queue) and not self._is_closed:
            room = self._limits.connections - len(self._busy) - len(self._connecting)
            if self._shared is not None and self._shared.has_room and room > 0:
                waiter = self._queue.pop()
                assert waiter is not None
                if waiter.request.upgrade is not None:  # tunnels need HTTP/1.1
                    self._begin(waiter)
                    continue
                stream = self._shared.start(waiter.request, waiter.events)
                if stream is not None:
                    self._busy[stream] = None
                    waiter.connected(stream)
            elif self._idle:
                connection, _ = self._idle.popitem()
                if connection.is_stale:
                    connection.close()
                    continue
                waiter = self._queue.pop()
                assert waiter is not None
                self._use(connection, waiter)
            else:
                break
        if self._shared is not None or self._is_closed or self._trial is not None:
            return
        room = self._limits.connections - len(self._busy) - len(self._idle) - len(self._connecting)
        wanted = min(room, len(self._queue) - len(self._connecting))
        for _ in range(wanted if self._takes_many else min(wanted, 1 - len(self._connecting))):
            self._begin()

    def _use(self, connection: Http1Connection, waiter: Waiter) -> None:
        self._busy[connection] = None
        waiter.connected(connection)
        connection.start(waiter.request, waiter.events)

    def _released1(self, connection: Http1Connection) -> None:
        """A connection of HTTP/1.1 is free, or gone."""
        self._busy.pop(connection, None)
        self._idle.pop(connection, None)
        if connection.is_open and not self._is_closed:
            self._idle[connection] = None
        self._serve()

    def _released2(self, connection: Http2Connection, stream: Http2Stream | None) -> None:
        """A request over HTTP/2 is over, or the connection takes other or no requests."""
        if stream is not None:
            self._busy.pop(stream, None)
        if not connection.is_open and connection is self._shared:
            self._shared = None
        self._serve()

    def _begin(self, alone: Waiter | None = None) -> None:
        """Open a connection, which is then there for all that wait. alone: the only one it is for."""
        task = self._loop.create_task(self._connect(alone))
        self._connecting[task] = alone
        task.add_done_callback(self._connected)

    def _connected(self, task: asyncio.Task[None]) -> None:
        """A connection is there, or is not to be had."""
        self._connecting.pop(task, None)
        self._serve()

    async def _connect(self, alone: Waiter | None) -> None:
        try:
            async with asyncio.timeout(self._limits.connect_s):
                connection = await self._open(only_http1=alone is not None)
        except TimeoutError:
            why = f"no connection to {self._address.text} within {self._limits.connect_s:g} s"
            self._note_down(OriginFault(504, why), alone)
            return
        except (OSError, ssl.SSLError) as error:
            why = getattr(error, "verify_message", None) or error.strerror or str(error)
            self._note_down(OriginFault(502, f"no connection to {self._address.text}: {why}"), alone)
            return
        if self._pause_s:
            _log.warning("the origin %s can be reached again", self._address.text)
        self.fault, self._pause_s = None, 0.0
        self._connecting.pop(cast("asyncio.Task[None]", asyncio.current_task()), None)
        if self._trial is not None:
            self._trial.cancel()
            self._trial = None
        if isinstance(connection, Http2Connection):
            self._takes_many = False
            if self._shared is None:
                self._shared = connection
            else:
                connection.close()
            self._serve()
        elif alone is not None:
            self._use(connection, alone)
        else:
            self._takes_many = True
            self._released1(connection)

    async def _open(self, *, only_http1: bool) -> Http1Connection | Http2Connection:
        is_h2c = self._address.is_h2c and not only_http1

        def make(protocol: str | None = None) -> Http1Connection | Http2Connection:
            is_http2 = is_h2c or protocol == "h2"
            return Http2Connection(self._released2) if is_http2 else Http1Connection(self._released1)

        if self._address.socket:
            _, plain = await self._loop.create_unix_connection(make, self._address.socket)
            return plain
        if self._tls is None:
            _, plain = await self._loop.create_connection(make, self._address.host, self._address.port)
            return plain
        _, secure = await self._loop.create_connection(
            lambda: _Negotiated(make),
            self._address.host,
            self._address.port,
            ssl=self._tls_http1 if only_http1 else self._tls,
            server_hostname=self._address.host,
        )
        chosen = secure.chosen
        assert isinstance(chosen, Http1Connection | Http2Connection)
        return chosen

    def _note_down(self, fault: OriginFault, alone: Waiter | None) -> None:
        """No connection: refuse what waits, and try again after a pause that grows. Until then the origin counts as down, if it
        does not talk over another connection, which new requests can wait for.
        """
        if alone is not None:
            alone.events.failed(fault)
            if self._shared is not None:
                return  # such as one that speaks nothing but HTTP/2
        if self.fault is None and self._pause_s == 0:
            _log.warning("%s", fault.why)
        self.fault = None if self._is_heard else fault
        if self._trial is None:
            self._pause_s = longer_pause_s(self._pause_s)
            self._trial = self._loop.call_later(self._pause_s, self._try_again)
        while (waiter := self._queue.pop()) is not None:
            waiter.events.failed(fault)

    @property
    def _is_heard(self) -> bool:
        """Whether it has said something over a connection that is open, in the time that a new one may take."""
        last_s = self._loop.time() - self._limits.connect_s
        return any(item.came_s >= last_s for item in (*self._busy, *self._idle))

    def _try_again(self) -> None:
        self._trial = None
        if len(self._busy) + len(self._idle) < self._limits.connections or self.fault is not None:
            self._begin()
        else:
            self._pause_s = 0.0  # nobody wants more

    def _drop_idle(self) -> None:
        idle, self._idle = self._idle, {}
        for connection in idle:
            connection.close()

    @property
    def _sweep_s(self) -> float:
        limits = self._limits
        return min(1.0, limits.answer_s / 4, limits.silence_s / 4, limits.keep_s / 4)

    def _sweep(self) -> None:
        """End what takes too long, and what nobody has used for long."""
        now_s, limits = self._loop.time(), self._limits
        self._sweeper = self._loop.call_later(self._sweep_s, self._sweep)
        for item in tuple(self._busy):
            quiet_s = now_s - item.heard_s
            if item.is_paused:
                continue
            if not item.is_answered and item.is_sent and quiet_s > limits.answer_s:
                item.time_out(504, f"the origin did not answer within {limits.answer_s:g} s")
            elif quiet_s > limits.silence_s:
                is_clients = not item.is_answered and not item.is_stuck
                what = "a response" if item.is_answered else "a request's body"
                item.time_out(
                    408 if is_clients else 504, f"nothing was received for {limits.silence_s:g} s during {what}"
                )
        for waiter in self._queue.waiting_since_before(now_s - limits.answer_s):
            self._queue.remove(waiter)
            why = f"no connection to the origin was free for {limits.answer_s:g} s"
            waiter.events.failed(OriginFault(503, why))
        for connection in tuple(self._idle):
            if now_s - connection.idle_since_s > limits.keep_s:
                connection.retire()
        shared = self._shared
        if shared is not None and not shared.streams and now_s - shared.idle_since_s > limits.keep_s:
            self._shared = None
            shared.close()


class _Negotiated(asyncio.Protocol):
    """Stands for a connection until TLS has said which HTTP it is to speak."""

    def __init__(self, make: Callable[[str | None], asyncio.BaseProtocol]) -> None:
        self.chosen: asyncio.BaseProtocol | None = None
        self._make = make

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        tls = transport.get_extra_info("ssl_object")
        self.chosen = self._make(tls.selected_alpn_protocol() if tls is not None else None)
        cast("asyncio.Transport", transport).set_protocol(self.chosen)
        self.chosen.connection_made(transport)


def _speaking(context: ssl.SSLContext, *protocols: str) -> ssl.SSLContext:
    context.set_alpn_protocols(protocols)
    return context
