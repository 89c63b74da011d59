"""Reads the client's control stream: SETTINGS, PRIORITY_UPDATE (RFC 9218 section 7), and what else RFC 9114 allows there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mixedsched.core.h3._frames import FrameHead, FrameReader, read_varint
from mixedsched.core.h3._signals import MAX_SIGNAL_BYTES, PriorityUpdate, read_update
from mixedsched.core.h3.codes import RESERVED_FRAME_TYPES, RESERVED_SETTINGS, ErrorCode, FrameType, Http3Error, Setting

MAX_SETTINGS_BYTES = 4096  # browsers send under fifty
_VARINT_BYTES = range(1, 9)

_NOT_HERE = frozenset({FrameType.DATA, FrameType.HEADERS, FrameType.PUSH_PROMISE, *RESERVED_FRAME_TYPES})
_BOOLEAN_SETTINGS = (Setting.ENABLE_CONNECT_PROTOCOL, Setting.H3_DATAGRAM)


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of a SETTINGS frame by identifier, unknown ones included."""

    values: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ControlFrame:
    """A frame that was read whole, or recognized and skipped."""

    head: FrameHead
    content: PriorityUpdate | Settings | None  # None for a frame that needs no answer


class ControlStream:
    """The client's control stream behind its type, in pieces of any size."""

    def __init__(self) -> None:
        self._frames = FrameReader()
        self._has_settings = False
        self._goaway_id: int | None = None
        self._max_push_id: int | None = None

    @property
    def held_bytes(self) -> int:
        """Bytes that were fed and are kept."""
        return self._frames.held_bytes

    def feed(self, data: bytes) -> Iterator[ControlFrame]:
        """Take the next bytes; yields the frames completed by them. Raises Http3Error."""
        self._frames.feed(data)
        while (head := self._frames.head()) is not None:
            if not self._is_read(head):
                self._frames.skip()
                yield ControlFrame(head, None)
                continue
            payload = self._frames.payload()
            if payload is None:
                return
            yield ControlFrame(head, self._read(head.type, payload))

    def _is_read(self, head: FrameHead) -> bool:
        """Whether the payload is read. A frame that is not allowed, or too long, is refused before its payload comes."""
        if not self._has_settings and head.type != FrameType.SETTINGS:
            raise Http3Error(ErrorCode.H3_MISSING_SETTINGS, "the control stream must begin with SETTINGS")
        if head.type in _NOT_HERE:
            raise Http3Error(ErrorCode.H3_FRAME_UNEXPECTED, "frame not allowed on the control stream")
        match head.type:
            case FrameType.SETTINGS:
                if self._has_settings:
                    raise Http3Error(ErrorCode.H3_FRAME_UNEXPECTED, "second SETTINGS")
                if head.size_bytes > MAX_SETTINGS_BYTES:
                    raise Http3Error(ErrorCode.H3_EXCESSIVE_LOAD, "SETTINGS is too long")
            case FrameType.CANCEL_PUSH | FrameType.GOAWAY | FrameType.MAX_PUSH_ID:
                if head.size_bytes not in _VARINT_BYTES:
                    raise Http3Error(ErrorCode.H3_FRAME_ERROR, "the frame must hold one ID")
            case FrameType.PRIORITY_UPDATE_REQUEST | FrameType.PRIORITY_UPDATE_PUSH:
                if head.size_bytes > MAX_SIGNAL_BYTES:
                    raise Http3Error(ErrorCode.H3_EXCESSIVE_LOAD, "PRIORITY_UPDATE is too long")
            case _:
                return False
        return True

    def _read(self, frame_type: int, payload: bytes) -> PriorityUpdate | Settings | None:
        match frame_type:
            case FrameType.SETTINGS:
                self._has_settings = True
                return Settings(_read_settings(payload))
            case FrameType.PRIORITY_UPDATE_REQUEST | FrameType.PRIORITY_UPDATE_PUSH:
                return read_update(frame_type, payload)
            case FrameType.CANCEL_PUSH:
                _read_id(payload)
                raise Http3Error(ErrorCode.H3_ID_ERROR, "CANCEL_PUSH for a push that was never promised")
            case FrameType.GOAWAY:
                goaway_id = _read_id(payload)
                if self._goaway_id is not None and goaway_id > self._goaway_id:
                    raise Http3Error(ErrorCode.H3_ID_ERROR, "GOAWAY raises its ID")
                self._goaway_id = goaway_id
            case _:
                max_push_id = _read_id(payload)
                if self._max_push_id is not None and max_push_id < self._max_push_id:
                    raise Http3Error(ErrorCode.H3_ID_ERROR, "MAX_PUSH_ID lowers its ID")
                self._max_push_id = max_push_id
        return None


def _read_settings(payload: bytes) -> dict[int, int]:
    values: dict[int, int] = {}
    position = 0
    while position < len(payload):
        identifier = read_varint(payload, position)
        value = read_varint(payload, identifier[1]) if identifier is not None else None
        if identifier is None or value is None:
            raise Http3Error(ErrorCode.H3_FRAME_ERROR, "SETTINGS ends within a setting")
        if identifier[0] in RESERVED_SETTINGS or identifier[0] in values:
            raise Http3Error(ErrorCode.H3_SETTINGS_ERROR, "a setting of HTTP/2, or one twice")
        values[identifier[0]], position = value
    if any(values.get(setting, 0) not in (0, 1) for setting in _BOOLEAN_SETTINGS):
        raise Http3Error(ErrorCode.H3_SETTINGS_ERROR, "a setting must be 0 or 1")
    return values


def _read_id(payload: bytes) -> int:
    """The one integer that a frame consists of."""
    value = read_varint(payload, 0)
    if value is None or value[1] != len(payload):
        raise Http3Error(ErrorCode.H3_FRAME_ERROR, "the frame must hold one ID")
    return value[0]
