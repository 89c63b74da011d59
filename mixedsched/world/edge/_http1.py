"""One connection to the origin over HTTP/1.1."""

import asyncio
import contextlib
import math
import os
import select
from collections.abc import Callable
from typing import Any, cast

import h11

from mixedsched.core.h3.response import Headers
from mixedsched.world.edge._origin import OriginEvents, OriginFault, OriginRequest

_READ_BYTES = 64 * 1024
_HEAD_BYTES_MAX = 64 * 1024
_WHY_MOST = 200  # characters of h11's reason, which may hold a whole field
_LAST_WORDS_S = 1.0  # for an origin behind TLS whose WebSocket the client has ended
_BUFFER = memoryview(bytearray(_READ_BYTES))  # for all connections: what is read is taken out of it at once


class Http1Connection(asyncio.BufferedProtocol):
    """Carries one request at a time. released: called when it can carry another, or is gone (then `is_open` is False)."""

    def __init__(self, released: Callable[["Http1Connection"], None]) -> None:
        self.is_open = False
        self.was_used = False
        self.idle_since_s = 0.0
        self.heard_s = 0.0  # of the loop's clock: when something came last, or the request was sent
        self.came_s = -math.inf  # when something came last, for whichever request
        self.is_answered = False  # the head of the response has come
        self.is_paused = False
        self.is_stuck = False  # the origin takes no more of the request's body
        self._released = released
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES_MAX)
        self._transport: asyncio.Transport | None = None
        self._events: OriginEvents | None = None
        self._loop = asyncio.get_running_loop()
        self._is_tunnel = False
        self._upgrades = False
        self._chunked = False
        self._has_received = False  # anything for the present request

    # What the pool and the request do.

    def start(self, request: OriginRequest, events: OriginEvents) -> None:
        """Send the head of a request."""
        self._events = events
        self.is_answered = self._has_received = self._is_tunnel = False
        self._upgrades = request.upgrade is not None
        self.heard_s = self._loop.time()
        fields = list(request.fields)
        connection: list[bytes] = []
        if request.upgrade is not None:
            fields.append((b"upgrade", request.upgrade.encode("latin-1")))
            connection.append(b"upgrade")
        if request.wants_trailers:
            fields.append((b"te", b"trailers"))
            connection.append(b"te")
        if connection:
            fields.append((b"connection", b", ".join(connection)))
        self._chunked = request.has_body and request.content_length is None
        if request.has_body or request.content_length is not None:
            length = request.content_length
            framing = (b"transfer-encoding", b"chunked") if length is None else (b"content-length", b"%d" % length)
            fields.append(framing)
        try:
            self._write(h11.Request(method=request.method, target=request.target, headers=fields))
            if not request.has_body and request.upgrade is None:
                self._write(h11.EndOfMessage())
        except h11.LocalProtocolError as error:
            self._fail(OriginFault(400, f"the request cannot be expressed in HTTP/1.1: {error}"))

    def send(self, data: bytes) -> None:
        if self._events is None:
            return
        self.heard_s = self._loop.time()
        if self._is_tunnel:
            assert self._transport is not None
            self._transport.write(data)
        else:
            self._write_guarded(h11.Data(data=data))

    def end(self, trailers: Headers) -> None:
        if self._events is None:
            return
        if self._is_tunnel:
            assert self._transport is not None
            if self._transport.can_write_eof():
                self._transport.write_eof()
            else:  # TLS, of which asyncio closes both directions or none: the origin has a moment for its last words
                self._loop.call_later(_LAST_WORDS_S, self._end_tunnel)
        elif self._h11.our_state is h11.SEND_BODY:
            self.heard_s = self._loop.time()
            self._write_guarded(h11.EndOfMessage(headers=trailers if self._chunked else []))
            self._finish_if_done()

    @property
    def is_sent(self) -> bool:
        """Whether the origin has got all of the request; a tunnel's begins when it is open."""
        return self._upgrades or self._h11.our_state is not h11.SEND_BODY

    def pause(self) -> None:
        if not self.is_paused and self._transport is not None:
            self.is_paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        if self.is_paused:
            self.is_paused = False
            self.heard_s = self._loop.time()
            if not self._is_tunnel:  # whose bytes do not wait in h11; it would give those behind the head again
                self._process()
            if not self.is_paused and self._transport is not None and not self._transport.is_closing():
                self._transport.resume_reading()

    def cancel(self) -> None:
        self._events = None
        self.close()

    @property
    def is_stale(self) -> bool:
        """Whether something has come since it was used, or the end, that the event loop has not told yet: what is asked over it
        now would get that for an answer. (Over a new one with TLS come tickets for later sessions.)
        """
        if not self.was_used or self._transport is None:
            return False
        look = select.poll()
        look.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(look.poll(0))

    def retire(self) -> None:
        """It is idle, and must not be given another request until its transport says that it is gone."""
        self.is_open = False
        self.close()
        self._released(self)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def time_out(self, status: int, why: str) -> None:
        """The origin takes too long."""
        self._fail(OriginFault(status, why))

    # What asyncio tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.is_open = True

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - as asyncio calls it
        return _BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        if self._events is None:
            self.retire()  # what nobody has asked for is no response (RFC 9112 section 6.3), such as 408 while it is idle
            return
        self._has_received = True
        self.heard_s = self.came_s = self._loop.time()
        if self._is_tunnel:
            self._events.received(bytes(_BUFFER[:nbytes]))
            return
        try:
            self._h11.receive_data(bytes(_BUFFER[:nbytes]))
        except h11.RemoteProtocolError as error:
            self._fail(_broken(error))
            return
        self._process()

    def eof_received(self) -> bool:
        if self._events is None:
            self.retire()
            return False
        if self._is_tunnel:
            self._end_tunnel()
            return False
        try:
            self._h11.receive_data(b"")
        except h11.RemoteProtocolError:
            return False
        self._process(at_end=True)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._read_rest()
        if self._events is not None:
            is_stale = self.was_used and not self._has_received
            how = "reset" if exc is not None else "closed"
            before = "before the response was complete" if self.is_answered else "before it answered"
            self._fail(OriginFault(502, f"the origin {how} the connection {before}", is_stale=is_stale))
        self._transport = None
        self._released(self)

    def pause_writing(self) -> None:
        self.is_stuck = True
        if self._events is not None:
            self._events.writable(now=False)

    def resume_writing(self) -> None:
        self.is_stuck = False
        if self._events is not None:
            self._events.writable(now=True)

    # Within.

    def _write(self, event: Any) -> None:
        data = self._h11.send(event)
        if data and self._transport is not None:
            self._transport.write(data)

    def _write_guarded(self, event: Any) -> None:
        try:
            self._write(event)
        except h11.LocalProtocolError as error:
            self._fail(OriginFault(502, f"the request's body cannot be sent: {error}"))

    def _process(self, *, at_end: bool = False) -> None:
        """Pass on what has come, until it is paused or the rest is missing. at_end: the origin has closed its side."""
        try:
            while self._events is not None and not (self.is_paused and not at_end):
                event = self._h11.next_event()
                if event is h11.NEED_DATA:
                    return
                if event is h11.PAUSED:
                    self._switch()
                    return
                self._take(event, self._events)
        except h11.RemoteProtocolError as error:
            if self._events is None:
                return
            if not self._has_received and self.was_used:
                self._fail(OriginFault(502, "the origin closed an idle connection", is_stale=True))
            else:
                self._fail(_broken(error))

    def _take(self, event: Any, events: OriginEvents) -> None:
        match event:
            case h11.Data():
                events.received(bytes(event.data))
            case h11.InformationalResponse():
                if event.status_code != 101:
                    events.informed(event.status_code, event.headers)
                else:
                    self.is_answered = self._is_tunnel = True
                    events.answered(101, event.headers, b"1.1", has_body=True)
            case h11.Response():
                self.is_answered = True
                version = b"1.1" if event.http_version == b"1.1" else b"1.0"
                events.answered(event.status_code, event.headers, version, has_body=True)
            case h11.EndOfMessage():
                self._events = None
                events.ended(event.headers)
                self._finish_if_done()
            case h11.ConnectionClosed():
                self._fail(OriginFault(502, "the origin closed the connection", is_stale=self.was_used))

    def _end_tunnel(self) -> None:
        events, self._events = self._events, None
        if events is not None:
            if self._transport is not None:
                self._transport.close()
            events.ended([])

    def _switch(self) -> None:
        """What follows belongs to the tunnel. (HTTP/1.1 pauses, too, if a second response comes before it was asked for.)"""
        if self._is_tunnel and self._events is not None:
            rest, _ = self._h11.trailing_data
            if rest:
                self._events.received(bytes(rest))
        else:
            self.close()

    def _finish_if_done(self) -> None:
        """Be ready for another request, or close, once both sides are done with this one."""
        if self._events is not None:
            return
        if self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE and not self._h11.trailing_data[0]:
            self._h11.start_next_cycle()
            self.was_used = True
            self.idle_since_s = self._loop.time()
            if self.is_paused and self._transport is not None:
                self.is_paused = False
                self._transport.resume_reading()
            if self.is_open:
                self._released(self)
        else:
            self.close()

    def _read_rest(self) -> None:
        """An origin that refuses a body, and closes, resets the connection under what is being sent: the kernel still has what
        it has answered."""
        if self._events is None or self.is_sent or self._transport is None or self._is_tunnel:
            return
        sock = self._transport.get_extra_info("socket")
        if sock is None or self._transport.get_extra_info("ssl_object") is not None:
            return
        with contextlib.suppress(OSError, h11.RemoteProtocolError):
            while self._events is not None and (data := os.read(sock.fileno(), _READ_BYTES)):
                self._has_received = True
                self._h11.receive_data(data)
                self._process(at_end=True)

    def _fail(self, fault: OriginFault) -> None:
        events, self._events = self._events, None
        self.close()
        if events is not None:
            events.failed(fault)


def _broken(error: h11.RemoteProtocolError) -> OriginFault:
    return OriginFault(502, f"the origin's response is broken: {str(error)[:_WHY_MOST]}")
