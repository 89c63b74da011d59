"""Reads the client's control stream for PRIORITY_UPDATE frames (RFC 9218 section 7).

aioquic throws away frames it does not know before any hook, so the control stream is read twice: here for priorities,
there for everything else, which also judges what is wrong with the stream in other respects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mixedsched.priority import PriorityParameters, parse_parameters

STREAM_TYPE_CONTROL = 0x00
FRAME_PRIORITY_UPDATE_REQUEST = 0xF0700
FRAME_PRIORITY_UPDATE_PUSH = 0xF0701

H3_FRAME_ERROR = 0x106
H3_EXCESSIVE_LOAD = 0x107
H3_ID_ERROR = 0x108

MAX_UPDATE_BYTES = 1024  # room for extension parameters; what browsers send has under ten bytes


class ControlStreamError(Exception):
    """The connection must be closed with this HTTP/3 error code."""

    def __init__(self, error_code: int, reason: str) -> None:
        super().__init__(reason)
        self.error_code = error_code


@dataclass(frozen=True, slots=True)
class PriorityUpdate:
    """A PRIORITY_UPDATE for a request stream. parameters: None where the value is no dictionary, which is to be ignored."""

    stream_id: int
    parameters: PriorityParameters | None


class UnidirectionalStreamReader:
    """Reads one client-initiated unidirectional stream, in pieces of any size; of interest only if it is the control stream."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._stream_type: int | None = None
        self._skip_bytes = 0

    def feed(self, data: bytes) -> Iterator[PriorityUpdate]:
        """Take the next bytes of the stream; yields the updates completed by them. Raises ControlStreamError."""
        if self._stream_type not in {None, STREAM_TYPE_CONTROL}:
            return
        self._buffer += data
        if self._stream_type is None:
            first = read_varint(self._buffer, 0)
            if first is None:
                return
            self._stream_type, position = first
            del self._buffer[:position]
            if self._stream_type != STREAM_TYPE_CONTROL:
                self._buffer.clear()
                return
        while (head := self._next_head()) is not None:
            frame_type, start, size = head
            if frame_type not in {FRAME_PRIORITY_UPDATE_REQUEST, FRAME_PRIORITY_UPDATE_PUSH}:
                del self._buffer[:start]
                self._skip_bytes = size
                continue
            if size > MAX_UPDATE_BYTES:
                raise ControlStreamError(H3_EXCESSIVE_LOAD, "PRIORITY_UPDATE is too long")
            if len(self._buffer) < start + size:
                return
            payload = bytes(self._buffer[start : start + size])
            del self._buffer[: start + size]
            yield _read_update(frame_type, payload)

    def _next_head(self) -> tuple[int, int, int] | None:
        """Type, start of payload and size of payload of the next frame; None until its head is complete."""
        skipped = min(self._skip_bytes, len(self._buffer))
        del self._buffer[:skipped]
        self._skip_bytes -= skipped
        frame_type = read_varint(self._buffer, 0)
        length = read_varint(self._buffer, frame_type[1]) if frame_type is not None else None
        if frame_type is None or length is None:
            return None
        size, start = length
        return frame_type[0], start, size


def _read_update(frame_type: int, payload: bytes) -> PriorityUpdate:
    element = read_varint(payload, 0)
    if element is None:
        raise ControlStreamError(H3_FRAME_ERROR, "PRIORITY_UPDATE without an element ID")
    element_id, start = element
    if frame_type == FRAME_PRIORITY_UPDATE_PUSH:
        raise ControlStreamError(H3_ID_ERROR, "PRIORITY_UPDATE for a push that was never promised")
    if element_id % 4 != 0:
        raise ControlStreamError(H3_ID_ERROR, "PRIORITY_UPDATE for something that is no request stream")
    return PriorityUpdate(element_id, parse_parameters(payload[start:]))


def read_varint(data: bytes | bytearray, position: int) -> tuple[int, int] | None:
    """A variable-length integer (RFC 9000 section 16) and the position behind it; None if bytes are missing."""
    if position >= len(data):
        return None
    end = position + (1 << (data[position] >> 6))
    if end > len(data):
        return None
    return int.from_bytes(data[position:end], "big") & ((1 << (8 * (end - position) - 2)) - 1), end
