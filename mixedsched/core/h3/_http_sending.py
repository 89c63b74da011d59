"""The writing half of HTTP/3 on the server's side: settings, heads of responses, GOAWAY."""

from typing import Protocol

from aioquic.buffer import encode_uint_var

from mixedsched.core.h3._control import Settings
from mixedsched.core.h3._frames import encode_frame
from mixedsched.core.h3._qpack import BLOCKED_STREAMS, TABLE_BYTES, Qpack
from mixedsched.core.h3.codes import ErrorCode, FrameType, Http3Error, Setting, StreamType
from mixedsched.core.h3.events import FrameContent, FrameObserver
from mixedsched.core.h3.response import Headers

MAX_SECTION_BYTES = 32 * 1024  # of a request's head, encoded or not; announced to the client
_SETTINGS: dict[int, int] = {
    Setting.QPACK_MAX_TABLE_CAPACITY: TABLE_BYTES,
    Setting.MAX_FIELD_SECTION_SIZE: MAX_SECTION_BYTES,
    Setting.QPACK_BLOCKED_STREAMS: BLOCKED_STREAMS,
}


class Quic(Protocol):
    """The part of a QUIC connection that is needed here."""

    def get_next_available_stream_id(self, is_unidirectional: bool = False) -> int: ...

    def send_stream_data(self, stream_id: int, data: bytes, end_stream: bool = False) -> None: ...

    def reset_stream(self, stream_id: int, error_code: int) -> None: ...

    def stop_stream(self, stream_id: int, error_code: int) -> None: ...

    def hold_received(self, stream_id: int, size_bytes: int) -> None: ...

    def release_received(self, stream_id: int, size_bytes: int | None = None) -> None: ...


class HttpSender:
    """Writes on the server's own streams and on those of requests. extends_connect: whether CONNECT may name a protocol."""

    def __init__(self, quic: Quic, observer: FrameObserver | None, *, extends_connect: bool) -> None:
        self._quic = quic
        self._observer = observer
        self._qpack = Qpack()
        self._next_request_id = 0
        self._goaway_id: int | None = None  # the first request that is no longer served
        self._control_id = self._open_stream(StreamType.CONTROL)
        settings = {**_SETTINGS, Setting.ENABLE_CONNECT_PROTOCOL: 1} if extends_connect else _SETTINGS
        payload = b"".join(encode_uint_var(key) + encode_uint_var(value) for key, value in settings.items())
        self._send_control(FrameType.SETTINGS, payload, Settings(settings))
        self._encoder_id = self._open_stream(StreamType.QPACK_ENCODER)
        self._decoder_id = self._open_stream(StreamType.QPACK_DECODER)

    def send_head(self, stream_id: int, fields: Headers, body_bytes: int | None) -> None:
        """Send the head of a response, and the head of the DATA frame that its body makes.

        body_bytes: None for no body, which ends the stream here. The body itself, and the stream's end behind it, is up to the
        QUIC connection, which sends it when its turn comes.
        """
        data = self.encode_section(stream_id, fields)
        if body_bytes is not None:
            data += encode_uint_var(FrameType.DATA) + encode_uint_var(body_bytes)
        self._quic.send_stream_data(stream_id, data, end_stream=body_bytes is None)
        if self._observer is not None and body_bytes is not None:
            self._observer.frame_created(stream_id, FrameType.DATA, body_bytes, None)

    def send_section(self, stream_id: int, fields: Headers) -> None:
        """Send a head that something follows: of an interim response, or of one whose body has the heads of its frames."""
        self._quic.send_stream_data(stream_id, self.encode_section(stream_id, fields))

    def encode_section(self, stream_id: int, fields: Headers) -> bytes:
        """A HEADERS frame, which must be sent."""
        instructions, section = self._qpack.encode(stream_id, fields)
        self._send_critical(self._encoder_id, instructions)
        if self._observer is not None:
            self._observer.frame_created(stream_id, FrameType.HEADERS, len(section), fields)
        return encode_frame(FrameType.HEADERS, section)

    def send_goaway(self) -> None:
        """Tell the client that requests it makes from now on are not served. Those that have begun to arrive still are."""
        if self._goaway_id is None:
            self._goaway_id = self._next_request_id
            self._send_control(FrameType.GOAWAY, encode_uint_var(self._goaway_id))

    def _open_stream(self, stream_type: StreamType) -> int:
        stream_id = self._quic.get_next_available_stream_id(is_unidirectional=True)
        self._quic.send_stream_data(stream_id, encode_uint_var(stream_type))
        if self._observer is not None:
            self._observer.stream_type_set(stream_id, stream_type)
        return stream_id

    def _send_control(self, frame_type: FrameType, payload: bytes, content: FrameContent = None) -> None:
        self._send_critical(self._control_id, encode_frame(frame_type, payload))
        if self._observer is not None:
            self._observer.frame_created(self._control_id, frame_type, len(payload), content)

    def _send_critical(self, stream_id: int, data: bytes) -> None:
        """Send on a stream of our own, which the client may have stopped in this very datagram."""
        if not data:
            return
        try:
            self._quic.send_stream_data(stream_id, data)
        except (RuntimeError, ValueError) as error:
            raise critical_stream_stopped() from error


def critical_stream_stopped() -> Http3Error:
    return Http3Error(ErrorCode.H3_CLOSED_CRITICAL_STREAM, "a critical stream was stopped")
