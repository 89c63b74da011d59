"""One connection to the origin over HTTP/2, which carries many requests at a time."""

import asyncio
import contextlib
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from h2.config import H2Configuration
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    InformationalResponseReceived,
    RemoteSettingsChanged,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes

from mixedsched.core.h3.response import Headers
from mixedsched.world.edge._h2 import HEAD_BYTES_MAX, ClientH2, Malformed
from mixedsched.world.edge._origin import OriginEvents, OriginFault, OriginRequest

_STREAM_WINDOW_BYTES = 256 * 1024  # that the origin may send ahead of what is read of one response
_CONNECTION_WINDOW_BYTES = 1 << 30  # of all: the streams' own windows are what counts
_UNSENT_BYTES_MAX = 256 * 1024  # of a request's body, beyond which it waits

Field = tuple[bytes, bytes]


class Http2Stream:
    """One request; an OriginStream."""

    def __init__(self, connection: "Http2Connection", stream_id: int, events: OriginEvents, now_s: float) -> None:
        self.was_used = True  # what failed may be tried over another connection
        self.is_answered = False
        self.is_sent = False
        self.is_paused = False
        self.heard_s = now_s
        self.events: OriginEvents | None = events
        self.unsent = bytearray()
        self.unread_bytes = 0  # that came while it was paused
        self.trailers: Headers | None = None  # of the request, once all of it is there
        self.connection = connection
        self.stream_id = stream_id
        self.reads_before = connection.reads

    @property
    def came_s(self) -> float:
        return self.connection.came_s

    @property
    def is_stuck(self) -> bool:
        """Whether the origin takes no more of the request's body."""
        return bool(self.unsent)

    def send(self, data: bytes) -> None:
        self.unsent += data
        self.connection.send_body(self)

    def end(self, trailers: Headers) -> None:
        if self.trailers is None:
            self.trailers = trailers
            self.connection.send_body(self)

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False
        self.connection.grant(self)

    def cancel(self) -> None:
        self.events = None
        self.connection.reset(self, ErrorCodes.CANCEL)

    def time_out(self, status: int, why: str) -> None:
        """The origin takes too long."""
        self.fail(OriginFault(status, why))
        self.connection.reset(self, ErrorCodes.CANCEL)
        if self.reads_before == self.connection.reads:  # nothing at all has come: the path may be dead
            self.connection.leave()

    def fail(self, fault: OriginFault) -> None:
        events, self.events = self.events, None
        if events is not None:
            events.failed(fault)


class Http2Connection(asyncio.Protocol):
    """released: called with each stream that is over, and with None when the connection takes no more requests."""

    def __init__(self, released: Callable[["Http2Connection", Http2Stream | None], None]) -> None:
        self.is_open = False
        self.idle_since_s = 0.0
        self.streams: dict[int, Http2Stream] = {}
        self.reads = 0  # how often something has come
        self.came_s = -math.inf  # when it came last
        self._released = released
        self._h2 = ClientH2(H2Configuration(client_side=True, header_encoding=None))
        self._is_stuck = False  # the socket takes no more
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def has_room(self) -> bool:
        """Whether the origin takes one more request now."""
        limit = self._h2.remote_settings.max_concurrent_streams
        return self.is_open and len(self.streams) < limit

    def start(self, request: OriginRequest, events: OriginEvents) -> Http2Stream | None:
        """Send the head of a request. None if that cannot be done, of which the events were told."""
        (_, host), *fields = request.fields
        head: list[Field] = [
            (b":method", request.method.encode("ascii")),
            (b":scheme", b"https"),
            (b":authority", host),
            (b":path", request.target.encode("ascii")),
            *fields,
        ]
        if request.wants_trailers:
            head.append((b"te", b"trailers"))
        if request.content_length is not None:
            head.append((b"content-length", b"%d" % request.content_length))
        stream_id = self._h2.get_next_available_stream_id()
        stream = Http2Stream(self, stream_id, events, self._loop.time())
        stream.is_sent = not request.has_body
        try:
            self._h2.send_headers(stream_id, head, end_stream=not request.has_body)
        except ProtocolError as error:
            stream.fail(OriginFault(400, f"the request cannot be expressed in HTTP/2: {error}"))
            return None
        if not request.has_body:
            stream.trailers = []
        self.streams[stream_id] = stream
        self._flush()
        return stream

    def send_body(self, stream: Http2Stream) -> None:
        """Send what flow control lets through of a request's body, and its end."""
        if stream.is_sent or stream.events is None or stream.stream_id not in self.streams:
            return
        stream.heard_s = self._loop.time()
        try:
            self._send_what_fits(stream)
        except ProtocolError as error:  # the origin has closed the stream meanwhile
            self._give_up(stream, OriginFault(502, f"the request's body cannot be sent: {error}"))
            return
        self._flush()
        stream.events.writable(now=len(stream.unsent) < _UNSENT_BYTES_MAX)

    def _send_what_fits(self, stream: Http2Stream) -> None:
        h2, stream_id = self._h2, stream.stream_id
        while stream.unsent and not self._is_stuck:
            size = min(len(stream.unsent), h2.local_flow_control_window(stream_id), h2.max_outbound_frame_size)
            if size <= 0:
                break
            h2.send_data(stream_id, bytes(stream.unsent[:size]))
            del stream.unsent[:size]
        if not stream.unsent and stream.trailers is not None:
            stream.is_sent = True
            if stream.trailers:
                h2.send_headers(stream_id, stream.trailers, end_stream=True)
            else:
                h2.end_stream(stream_id)

    def grant(self, stream: Http2Stream) -> None:
        """Let the origin send as much as was read meanwhile."""
        stream.heard_s = self._loop.time()
        self._acknowledge(stream)
        self._flush()

    def _acknowledge(self, stream: Http2Stream) -> None:
        size_bytes, stream.unread_bytes = stream.unread_bytes, 0
        if size_bytes:
            self._h2.acknowledge_received_data(size_bytes, stream.stream_id)

    def reset(self, stream: Http2Stream, code: ErrorCodes) -> None:
        if self.streams.pop(stream.stream_id, None) is not None:
            with contextlib.suppress(ProtocolError):  # it may be over on both sides
                self._h2.reset_stream(stream.stream_id, code)
            self._over(stream)

    def leave(self) -> None:
        """Take no more requests, and close behind the last one."""
        self.is_open = False
        self._released(self, None)
        if not self.streams:
            self.close()

    def close(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    # What asyncio tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.is_open = True
        self.idle_since_s = self._loop.time()
        self._h2.initiate_connection()
        self._h2.update_settings(
            {
                SettingCodes.INITIAL_WINDOW_SIZE: _STREAM_WINDOW_BYTES,
                SettingCodes.ENABLE_PUSH: 0,
                SettingCodes.MAX_HEADER_LIST_SIZE: HEAD_BYTES_MAX,
            }
        )
        self._h2.increment_flow_control_window(_CONNECTION_WINDOW_BYTES)
        self._flush()

    def data_received(self, data: bytes) -> None:
        self.reads += 1
        self.came_s = self._loop.time()
        try:
            for event in self._h2.receive_data(data):
                self._take(event)
        except ProtocolError as error:
            self._flush()
            self._lose(OriginFault(502, f"the origin violated HTTP/2: {error}"))
            return
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        how = "reset" if exc is not None else "closed"
        self._transport = None
        fault = OriginFault(502, f"the origin {how} the connection before the response was complete")
        self._lose(fault, may_be_stale=True)

    def pause_writing(self) -> None:
        self._is_stuck = True

    def resume_writing(self) -> None:
        self._is_stuck = False
        for stream in tuple(self.streams.values()):
            self.send_body(stream)

    # Within.

    def _take(self, event: Any) -> None:
        match event:
            case RemoteSettingsChanged():
                self._released(self, None)
                return
            case WindowUpdated():
                for stream_id in [event.stream_id] if event.stream_id else tuple(self.streams):
                    if stream_id in self.streams:
                        self.send_body(self.streams[stream_id])
                return
            case ConnectionTerminated():
                self._go_away(event.last_stream_id or 0)
                return
        stream = self.streams.get(getattr(event, "stream_id", 0) or 0)
        if stream is None or stream.events is None:
            if isinstance(event, DataReceived):  # of a response that is not wanted any more
                self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            return
        stream.heard_s = self._loop.time()
        self._take_of(stream, stream.events, event)

    def _take_of(self, stream: Http2Stream, events: OriginEvents, event: Any) -> None:
        match event:
            case InformationalResponseReceived():
                events.informed(*_split(event.headers))
            case ResponseReceived():
                stream.is_answered = True
                status, fields = _split(event.headers)
                events.answered(status, fields, b"2", has_body=event.stream_ended is None)
            case DataReceived():
                stream.unread_bytes += event.flow_controlled_length
                if event.data:
                    events.received(event.data)
                if not stream.is_paused:
                    self.grant(stream)
            case TrailersReceived():
                self._end(stream, event.headers)
            case StreamEnded():
                self._end(stream, [])
            case StreamReset():
                is_refused = event.error_code == ErrorCodes.REFUSED_STREAM
                why = f"the origin reset the stream ({event.error_code!r})"
                self._give_up(stream, OriginFault(502, why, is_unprocessed=is_refused))
            case Malformed():
                self._give_up(stream, OriginFault(502, event.why))

    def _give_up(self, stream: Http2Stream, fault: OriginFault) -> None:
        """The stream is closed, without a whole response."""
        del self.streams[stream.stream_id]
        stream.fail(fault)
        self._over(stream)

    def _end(self, stream: Http2Stream, trailers: list[Field]) -> None:
        events, stream.events = stream.events, None
        if events is not None:
            events.ended(trailers)
        if stream.is_sent:
            self.streams.pop(stream.stream_id, None)
            self._over(stream)
        else:
            self.reset(stream, ErrorCodes.NO_ERROR)  # the rest of the request is not wanted

    def _over(self, stream: Http2Stream) -> None:
        self.idle_since_s = self._loop.time()
        self._acknowledge(stream)  # what was not read still counts for the connection
        self._flush()
        self._released(self, stream)
        if not self.is_open and not self.streams:
            self.close()  # it goes away, and this was its last one

    def _go_away(self, last_stream_id: int) -> None:
        self.is_open = False
        for stream_id, stream in list(self.streams.items()):
            if stream_id > last_stream_id:
                del self.streams[stream_id]
                stream.fail(
                    OriginFault(502, "the origin sent GOAWAY before it began this request", is_unprocessed=True)
                )
                self._released(self, stream)
        self.leave()

    def _lose(self, fault: OriginFault, *, may_be_stale: bool = False) -> None:
        """may_be_stale: a request of which nothing had come may have met a connection that was idle, and closed already."""
        self.close()
        streams, self.streams = self.streams, {}
        for stream in streams.values():
            is_stale = may_be_stale and stream.stream_id > 1 and stream.reads_before == self.reads
            stream.fail(replace(fault, is_stale=is_stale))
            self._released(self, stream)
        self._released(self, None)

    def _flush(self) -> None:
        data = self._h2.data_to_send()
        if data and self._transport is not None:
            self._transport.write(data)


def _split(headers: list[Field]) -> tuple[int, list[Field]]:
    """Status and regular fields of a response. Raises ProtocolError for no status, or 101 (RFC 9113 section 8.6)."""
    status = next(value for name, value in headers if name == b":status")
    if len(status) != 3 or not status.isdigit() or status in (b"000", b"101"):
        raise ProtocolError(f"the status {status.decode('latin-1')}")
    return int(status), [(name, value) for name, value in headers if not name.startswith(b":")]
