"""HTTP/3 on the server's side of one connection: stream data in, requests and priority updates out (RFC 9114, RFC 9204).

aioquic has a layer of this kind, too. It drops PRIORITY_UPDATE frames before any hook, on whichever stream they come;
closes the connection for what is a request's own fault; and holds header sections of any size. So this one stands in
its place.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from mixedsched.core.h3._control import ControlStream, Settings
from mixedsched.core.h3._frames import FloodGate, read_varint
from mixedsched.core.h3._http_sending import MAX_SECTION_BYTES, HttpSender, Quic, critical_stream_stopped
from mixedsched.core.h3._qpack import count_lines
from mixedsched.core.h3._requests import RequestStream, content_length, read_head, require_trailers, section_size_bytes
from mixedsched.core.h3.codes import ErrorCode, FrameType, Http3Error, Setting, StreamError, StreamType
from mixedsched.core.h3.events import (
    BodyReceived,
    FrameObserver,
    HttpEvent,
    RequestEnded,
    RequestFailed,
    RequestReceived,
    RequestTooLarge,
)
from mixedsched.core.h3.response import Headers
from mixedsched.core.h3.tables import shrink

MAX_FIELD_LINES = 256
MAX_HELD_BYTES = 512 * 1024  # of incomplete heads and control frames, on all streams of a connection together

_CRITICAL = frozenset({StreamType.CONTROL, StreamType.QPACK_ENCODER, StreamType.QPACK_DECODER})
_IGNORED = -1  # stands for the type of a stream whose data is dropped


@dataclass(slots=True)
class _UnidirectionalStream:
    """type: None until it is known."""

    type: int | None = None
    start: bytes = b""


class HttpLayer(HttpSender):
    """Reads what the client sends, in pieces of any size, and writes heads of responses.

    All that reads or writes may raise Http3Error, upon which the connection must be closed and the layer no longer used. A
    mistake within one request gives up its stream only. is_live: bodies of requests are passed on, and extended CONNECT is
    allowed.
    """

    def __init__(
        self, quic: Quic, now_s: float, observer: FrameObserver | None = None, *, is_live: bool = False
    ) -> None:
        super().__init__(quic, observer, extends_connect=is_live)
        self._is_live = is_live
        self._gate = FloodGate(now_s)
        self._control = ControlStream()
        self._requests: dict[int, RequestStream] = {}
        self._unidirectional: dict[int, _UnidirectionalStream] = {}
        self._critical: dict[int, int] = {}  # the client's critical streams: ID -> type
        self._held_bytes = 0

    @property
    def is_reading(self) -> bool:
        """Whether a request that is to be served has begun to arrive and is not complete."""
        return any(request.is_arriving for request in self._requests.values())

    def awaits_request(self, stream_id: int) -> bool:
        """Whether a request may still come on a stream, or the rest of one."""
        if self._goaway_id is not None and stream_id >= self._goaway_id:
            return False
        request = self._requests.get(stream_id)
        return request is None or not (request.has_head or request.is_abandoned)

    def receive(self, stream_id: int, data: bytes, end_stream: bool, now_s: float) -> list[HttpEvent]:
        """Take the next bytes of one of the client's streams."""
        if stream_id % 4 == 2:
            return list(self._receive_unidirectional(stream_id, data, end_stream, now_s))
        return list(self._receive_request(stream_id, data, end_stream, now_s))

    def reset(self, stream_id: int, now_s: float) -> list[HttpEvent]:
        """The client has cut off its half of a stream."""
        if stream_id % 4 == 2:
            self._require_not_critical(stream_id)
            self._unidirectional.pop(stream_id, None)
            return []
        request = self._request(stream_id)
        if not request.is_arriving:
            return []  # it is complete, or we have asked for this
        self._note_cancelled(request, now_s)
        self._abandon(request)
        if request.has_head:
            return [RequestFailed(stream_id, ErrorCode.H3_REQUEST_CANCELLED)] if self._is_live else []
        self._quic.reset_stream(stream_id, ErrorCode.H3_REQUEST_INCOMPLETE)
        return [RequestFailed(stream_id, ErrorCode.H3_REQUEST_INCOMPLETE)]

    def stopped(self, stream_id: int, now_s: float) -> None:
        """The client does not want our half of a stream."""
        if stream_id in (self._control_id, self._encoder_id, self._decoder_id):
            raise critical_stream_stopped()
        if stream_id % 4 == 0:
            self._note_cancelled(self._requests.get(stream_id), now_s)

    def _note_cancelled(self, request: RequestStream | None, now_s: float) -> None:
        """The client cancels a request, or breaks a rule so that its stream is reset. That takes back what its head has earned:
        else nothing would bound a client that does so with each of its requests."""
        if request is None or not request.has_earned:
            self._gate.take(now_s)
        else:
            self._gate.take(now_s, 2)
            request.has_earned = False

    def is_arriving(self, stream_id: int) -> bool:
        """Whether the rest of a request is still to come, and not yet refused."""
        request = self._requests.get(stream_id)
        return request is not None and request.is_arriving

    def stop_reading(self, stream_id: int, error_code: ErrorCode) -> None:
        """Nothing more is wanted of a request that may still be arriving."""
        if self.is_arriving(stream_id):
            self._abandon(self._requests[stream_id])
            self._quic.stop_stream(stream_id, error_code)

    def forget(self, stream_id: int) -> None:
        """A stream is over, both ways."""
        self._unidirectional.pop(stream_id, None)
        request = self._requests.pop(stream_id, None)
        if request is not None:
            if request.is_blocked:
                self._abandon(request)
            self._held_bytes -= request.counted_bytes

    def shrink(self) -> None:
        """Give back the room of requests that are over."""
        shrink(self._requests)

    def _hold(self, change_bytes: int) -> None:
        self._held_bytes += change_bytes
        if self._held_bytes > MAX_HELD_BYTES:
            raise Http3Error(ErrorCode.H3_EXCESSIVE_LOAD, "too many frames are begun and not finished")

    # Unidirectional streams

    def _receive_unidirectional(
        self, stream_id: int, data: bytes, end_stream: bool, now_s: float
    ) -> Iterator[HttpEvent]:
        stream = self._unidirectional.setdefault(stream_id, _UnidirectionalStream())
        if stream.type is None:
            stream.start += data
            first = read_varint(stream.start, 0)
            if first is not None:
                data, stream.start = stream.start[first[1] :], b""
                stream.type = self._set_type(stream_id, first[0])
        match stream.type:
            case StreamType.CONTROL:
                yield from self._receive_control(stream_id, data, now_s)
            case StreamType.QPACK_ENCODER:
                yield from self._receive_encoder(data, now_s)
            case StreamType.QPACK_DECODER:
                self._qpack.feed_decoder(data)
            case _:
                pass  # its type is unknown, or not yet known
        if end_stream:
            self._require_not_critical(stream_id)
            del self._unidirectional[stream_id]

    def _set_type(self, stream_id: int, stream_type: int) -> int:
        if self._observer is not None:
            self._observer.stream_type_set(stream_id, stream_type)
        if stream_type == StreamType.PUSH or stream_type in self._critical.values():
            raise Http3Error(ErrorCode.H3_STREAM_CREATION_ERROR, "a push stream, or a second critical one of its type")
        if stream_type not in _CRITICAL:
            return _IGNORED
        self._critical[stream_id] = stream_type
        return stream_type

    def _require_not_critical(self, stream_id: int) -> None:
        if stream_id in self._critical:
            raise Http3Error(ErrorCode.H3_CLOSED_CRITICAL_STREAM, "a critical stream was closed")

    def _receive_control(self, stream_id: int, data: bytes, now_s: float) -> Iterator[HttpEvent]:
        held_bytes = self._control.held_bytes
        for frame in self._control.feed(data):
            self._gate.take(now_s)
            if self._observer is not None:
                self._observer.frame_parsed(stream_id, *frame.head, frame.content)
            if isinstance(frame.content, Settings):
                self._apply(frame.content)
            elif frame.content is not None:
                yield frame.content
        self._hold(self._control.held_bytes - held_bytes)

    def _apply(self, settings: Settings) -> None:
        table_bytes = settings.values.get(Setting.QPACK_MAX_TABLE_CAPACITY, 0)
        blocked_streams = settings.values.get(Setting.QPACK_BLOCKED_STREAMS, 0)
        self._send_critical(self._encoder_id, self._qpack.apply_settings(table_bytes, blocked_streams))

    def _receive_encoder(self, data: bytes, now_s: float) -> Iterator[HttpEvent]:
        for stream_id in self._qpack.feed_encoder(data):
            request = self._requests[stream_id]
            yield from self._guarded(request, self._resume(request), now_s)

    # Request streams

    def _receive_request(self, stream_id: int, data: bytes, end_stream: bool, now_s: float) -> Iterator[HttpEvent]:
        request = self._request(stream_id)
        request.is_ended |= end_stream
        yield from self._guarded(request, self._read(request, data), now_s)

    def _request(self, stream_id: int) -> RequestStream:
        """The stream, which is new if nothing of it has come before."""
        request = self._requests.get(stream_id)
        if request is None:
            request = self._requests[stream_id] = RequestStream(stream_id, keeps_body=self._is_live)
            self._next_request_id = max(self._next_request_id, stream_id + 4)
        return request

    def _guarded(self, request: RequestStream, events: Iterator[HttpEvent], now_s: float) -> Iterator[HttpEvent]:
        """Pass events on; give the stream up where they end with an error of its own."""
        try:
            yield from events
        except StreamError as error:
            self._note_cancelled(request, now_s)
            self._abandon(request)
            if not request.is_ended:
                self._quic.stop_stream(request.stream_id, error.error_code)
            self._quic.reset_stream(request.stream_id, error.error_code)
            yield RequestFailed(request.stream_id, error.error_code)
        self._gate.take(now_s, request.pop_idle_frames())
        self._count_held(request)

    def _read(self, request: RequestStream, data: bytes) -> Iterator[HttpEvent]:
        if self._goaway_id is not None and request.stream_id >= self._goaway_id and not request.is_abandoned:
            raise StreamError(ErrorCode.H3_REQUEST_REJECTED, "the server is shutting down")
        if request.is_abandoned:
            return
        for frame in request.feed(data, MAX_SECTION_BYTES):
            if frame.type == FrameType.HEADERS:
                yield from self._decode(request, frame.size_bytes)
            elif self._observer is not None:
                self._observer.frame_parsed(request.stream_id, *frame, None)
        request.require_complete()
        yield from self._pass_on(request)

    def _pass_on(self, request: RequestStream) -> Iterator[HttpEvent]:
        """What a live responder hears of a request behind its head."""
        if not self._is_live or request.is_abandoned or not request.has_head:
            return
        if body := request.pop_body():
            yield BodyReceived(request.stream_id, body)
        if request.is_ended and not (request.is_blocked or request.is_told):
            request.is_told = True
            yield RequestEnded(request.stream_id, request.trailers)

    def _decode(self, request: RequestStream, size_bytes: int) -> Iterator[HttpEvent]:
        """A field section has come, unless it is too long to be kept. size_bytes: its size, 0 to go on with those kept."""
        if request.is_tunnel and (size_bytes or request.sections):
            raise Http3Error(ErrorCode.H3_FRAME_UNEXPECTED, "a tunnel has DATA frames only")
        if size_bytes > MAX_SECTION_BYTES:
            yield from self._refuse_section(request)
        while request.sections and not request.is_blocked:
            section = request.sections[0]
            if count_lines(section, MAX_FIELD_LINES) > MAX_FIELD_LINES:
                yield from self._refuse_section(request)
                return
            decoded = self._qpack.decode(request.stream_id, section)
            if decoded is None:
                request.is_blocked = True
                return
            yield from self._take_section(request, *decoded)

    def _resume(self, request: RequestStream) -> Iterator[HttpEvent]:
        """Go on with a section that was blocked: the encoder stream has brought what it waited for."""
        decoded = self._qpack.resume(request.stream_id)
        request.is_blocked = False
        yield from self._take_section(request, *decoded)
        yield from self._decode(request, 0)
        request.require_complete()
        yield from self._pass_on(request)

    def _take_section(self, request: RequestStream, instructions: bytes, fields: Headers) -> Iterator[HttpEvent]:
        """The request's first section is decoded. instructions: for our decoder stream."""
        self._send_critical(self._decoder_id, instructions)
        section = request.sections.popleft()
        if self._observer is not None:
            self._observer.frame_parsed(request.stream_id, FrameType.HEADERS, len(section), fields)
        if section_size_bytes(fields) > MAX_SECTION_BYTES:
            yield from self._refuse_section(request)
        elif request.has_head:
            require_trailers(fields)
            request.trailers = fields if self._is_live else []
        else:
            head = read_head(fields, extended=self._is_live)
            request.content_length = content_length(fields)
            request.is_tunnel = head.protocol is not None
            request.has_head = True
            self._gate.earn()
            request.has_earned = True
            yield RequestReceived(request.stream_id, head)

    def _refuse_section(self, request: RequestStream) -> Iterator[HttpEvent]:
        """A field section is too long. A head's request may be answered; trailers are needed by a live responder only."""
        if request.has_head and self._is_live:
            raise StreamError(ErrorCode.H3_EXCESSIVE_LOAD, "the trailers are too long")
        self._abandon(request)
        if not request.has_head:
            request.has_head = True
            yield RequestTooLarge(request.stream_id)

    def _abandon(self, request: RequestStream) -> None:
        request.abandon()
        self._count_held(request)
        self._send_critical(self._decoder_id, self._qpack.cancel(request.stream_id))

    def _count_held(self, request: RequestStream) -> None:
        self._hold(request.held_bytes - request.counted_bytes)
        request.counted_bytes = request.held_bytes
        if self._is_live:
            self._count_early(request)

    def _count_early(self, request: RequestStream) -> None:
        """A body that nobody takes yet counts against what the client may send. Later its responder says what it has taken."""
        change_bytes = request.early_bytes - request.credited_bytes
        request.credited_bytes += change_bytes
        if change_bytes > 0:
            self._quic.hold_received(request.stream_id, change_bytes)
        elif change_bytes < 0:
            self._quic.release_received(request.stream_id, -change_bytes)
