"""Cuts a stream into HTTP/3 frames, in pieces of any size; limits how fast a client may send those that are of no use."""

from typing import NamedTuple

from aioquic.buffer import encode_uint_var

from mixedsched.core.h3.codes import ErrorCode, Http3Error

BURST = 1000
PER_SECOND = 100


class FrameHead(NamedTuple):
    """Type, and size of the payload in bytes."""

    type: int
    size_bytes: int


class FrameReader:
    """Holds a frame's head until it is complete, and its payload only where that is asked for.

    After `feed`, `head` returns the next frame until either `payload` has returned all of it or `skip` was called, which drops
    the part that is here and the part still to come.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: FrameHead | None = None
        self._skip_bytes = 0

    @property
    def held_bytes(self) -> int:
        """Bytes that were fed and are kept."""
        return len(self._buffer)

    @property
    def is_between_frames(self) -> bool:
        """Whether the stream could end here."""
        return self._head is None and not self._buffer and not self._skip_bytes

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        if self._skip_bytes:
            skipped = min(self._skip_bytes, len(data))
            self._skip_bytes -= skipped
            data = data[skipped:]
        self._buffer += data

    def head(self) -> FrameHead | None:
        """The frame that comes next; None until its head is complete."""
        if self._head is None:
            frame_type = read_varint(self._buffer, 0)
            size = read_varint(self._buffer, frame_type[1]) if frame_type is not None else None
            if frame_type is None or size is None:
                return None
            self._head = FrameHead(frame_type[0], size[0])
            del self._buffer[: size[1]]  # cheap: a bytearray moves its start
        return self._head

    def payload(self) -> bytes | None:
        """All of the frame's payload, which ends the frame; None while bytes are missing."""
        assert self._head is not None, "a frame is read after its head"
        size_bytes = self._head.size_bytes
        if len(self._buffer) < size_bytes:
            return None
        payload = bytes(self._buffer[:size_bytes])
        del self._buffer[:size_bytes]
        self._head = None
        return payload

    def part(self) -> bytes:
        """What is here of the frame's payload, and no longer kept. The frame ends with its last part; until then `head` gives
        what is left of it."""
        assert self._head is not None, "a frame is read after its head"
        part = bytes(self._buffer[: self._head.size_bytes])
        del self._buffer[: len(part)]
        left_bytes = self._head.size_bytes - len(part)
        self._head = FrameHead(self._head.type, left_bytes) if left_bytes else None
        return part

    def skip(self) -> None:
        """Drop the frame's payload, which ends the frame."""
        assert self._head is not None, "a frame is skipped after its head"
        here = min(self._head.size_bytes, len(self._buffer))
        del self._buffer[:here]
        self._skip_bytes = self._head.size_bytes - here
        self._head = None


def encode_frame(frame_type: int, payload: bytes) -> bytes:
    """A complete frame."""
    return encode_uint_var(frame_type) + encode_uint_var(len(payload)) + payload


def read_varint(data: bytes | bytearray, position: int) -> tuple[int, int] | None:
    """A variable-length integer (RFC 9000 section 16) and the position behind it; None if bytes are missing."""
    if position >= len(data):
        return None
    end = position + (1 << (data[position] >> 6))
    if end > len(data):
        return None
    return int.from_bytes(data[position:end], "big") & ((1 << (8 * (end - position) - 2)) - 1), end


class FloodGate:
    """A token bucket on the caller's clock, one per connection.

    Frames of the control stream, useless frames on request streams, and requests that are cancelled or malformed take a token
    each; any other request brings one back, so that a page may signal each of its requests however many and fast they are.
    (nghttp3 allows 1000 at once and 33 per second.)
    """

    def __init__(self, now_s: float) -> None:
        self._tokens = float(BURST)
        self._at_s = now_s

    def take(self, now_s: float, count: int = 1) -> None:
        """Take tokens for `count` frames or failed requests. Raises Http3Error when there are too many."""
        if count == 0:
            return
        self._tokens = min(float(BURST), self._tokens + (now_s - self._at_s) * PER_SECOND) - count
        self._at_s = now_s
        if self._tokens < 0:
            raise Http3Error(ErrorCode.H3_EXCESSIVE_LOAD, "too many frames without use")

    def earn(self) -> None:
        """Give a token back for a request."""
        self._tokens = min(float(BURST), self._tokens + 1)
