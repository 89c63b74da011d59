"""Frame rules of RFC 9114 and RFC 9218 that one sees from outside: what is sent, and what must come of it."""

from dataclasses import dataclass

from mixedsched.core.h3.codes import ErrorCode, FrameType, StreamType
from mixedsched.core.h3.conform import wire
from mixedsched.core.h3.conform.seen import SeenConnection
from mixedsched.core.h3.conform.verdict import RuleVerdict, Word
from mixedsched.core.h3.conform.wire import WirePiece

ASKED_STREAM = 4
"""On which the file is asked for behind the frames of a probe."""


@dataclass(frozen=True, slots=True)
class FrameProbe:
    """One connection on which something is sent, legal or not."""

    rule: str
    """A number is a rule of docs/conformance.md, which has the section of RFC 9218."""
    what: str
    pieces: tuple[WirePiece, ...]
    code: ErrorCode | None = None
    """With which the connection must be closed; None if it must live, and answer a request."""
    priorities: tuple[str, ...] = ()
    """Priority fields of the request for the file that follows on stream 4, wherever the connection lives: its answer proves
    that what was sent before has been read.
    """
    is_risky: bool = False
    """Whether this has brought servers down, or costs them much."""

    def request_for(self, authority: str, path: str) -> WirePiece:
        """The request behind the pieces."""
        return WirePiece(ASKED_STREAM, wire.request(authority, path, self.priorities), ends=True)

    @property
    def wanted(self) -> str:
        """In words."""
        return "goes on" if self.code is None else f"closes with {self.code.name}"


def _control(data: bytes, *, ends: bool = False) -> tuple[WirePiece, ...]:
    return (WirePiece(wire.CONTROL, wire.BEGINNING + data, ends),)


def _opens(kind: int) -> tuple[WirePiece, ...]:
    return (*_control(b""), WirePiece(wire.ENCODER, bytes([kind])))


def _asks_with(data: bytes) -> tuple[WirePiece, ...]:
    return (*_control(b""), WirePiece(0, data))


def _byte_by_byte(data: bytes) -> tuple[WirePiece, ...]:
    return tuple(WirePiece(wire.CONTROL, data[at : at + 1], waits=True) for at in range(len(data)))


_UNKNOWN_FRAME, _UNKNOWN_STREAM = 0x21, 0x21
_FAR_STREAM = 4 << 50
_FLOOD = 1500

FRAME_PROBES: tuple[FrameProbe, ...] = (
    FrameProbe("9114 4.1", "DATA before HEADERS", _asks_with(wire.frame(0, b"A")), ErrorCode.H3_FRAME_UNEXPECTED),
    FrameProbe("9114 6.2.1", "second control stream", _opens(0), ErrorCode.H3_STREAM_CREATION_ERROR),
    FrameProbe("9114 6.2.1", "control stream ends", _control(b"", ends=True), ErrorCode.H3_CLOSED_CRITICAL_STREAM),
    FrameProbe(
        "9114 6.2.1",
        "a frame before SETTINGS",
        (WirePiece(wire.CONTROL, b"\0" + wire.frame(FrameType.MAX_PUSH_ID, b"\0")),),
        ErrorCode.H3_MISSING_SETTINGS,
    ),
    FrameProbe("9114 6.2.2", "push stream of a client", _opens(StreamType.PUSH), ErrorCode.H3_STREAM_CREATION_ERROR),
    FrameProbe("9114 7.2.1", "DATA on the control stream", _control(b"\0\1A"), ErrorCode.H3_FRAME_UNEXPECTED),
    FrameProbe("9114 7.2.4", "second SETTINGS", _control(wire.SETTINGS), ErrorCode.H3_FRAME_UNEXPECTED),
    FrameProbe(
        "9114 7.2.4.1",
        "a setting of HTTP/2",
        (WirePiece(wire.CONTROL, b"\0" + wire.frame(FrameType.SETTINGS, b"\2\1")),),
        ErrorCode.H3_SETTINGS_ERROR,
    ),
    FrameProbe(
        "9114 7.2.5",
        "PUSH_PROMISE of a client",
        _asks_with(wire.frame(FrameType.PUSH_PROMISE, b"\0\0")),
        ErrorCode.H3_FRAME_UNEXPECTED,
    ),
    FrameProbe(
        "9114 7.2.7",
        "MAX_PUSH_ID falls",
        _control(wire.frame(FrameType.MAX_PUSH_ID, b"\x08") + wire.frame(FrameType.MAX_PUSH_ID, b"\x04")),
        ErrorCode.H3_ID_ERROR,
    ),
    FrameProbe("9114 7.2.8", "a frame type of HTTP/2", _control(wire.frame(6)), ErrorCode.H3_FRAME_UNEXPECTED),
    FrameProbe(
        "9114 9",
        "unknown frame and stream types",
        (*_control(wire.frame(_UNKNOWN_FRAME, b"abc")), WirePiece(wire.ENCODER, bytes([_UNKNOWN_STREAM]))),
    ),
    FrameProbe("11", "a priority field that is no dictionary", _control(b""), priorities=("u=1, @@",)),
    FrameProbe(
        "16", "update without an ID", _control(wire.frame(FrameType.PRIORITY_UPDATE_REQUEST)), ErrorCode.H3_FRAME_ERROR
    ),
    FrameProbe("21", "update on a request stream", _asks_with(wire.update(0, "u=1")), ErrorCode.H3_FRAME_UNEXPECTED),
    FrameProbe("22", "update for a stream of the server", _control(wire.update(1, "u=1")), ErrorCode.H3_ID_ERROR),
    FrameProbe(
        "23", "update beyond the stream limit", _control(wire.update(_FAR_STREAM, "u=1")), ErrorCode.H3_ID_ERROR
    ),
    FrameProbe(
        "24", "update for a push never promised", _control(wire.update(0, "u=1", for_push=True)), ErrorCode.H3_ID_ERROR
    ),
    FrameProbe("27", "update byte by byte", _byte_by_byte(wire.BEGINNING + wire.update(4, "u=1")), is_risky=True),
    FrameProbe(
        "36",
        f"{_FLOOD} updates at once",
        _control(wire.update(0, "u=1") * _FLOOD),
        ErrorCode.H3_EXCESSIVE_LOAD,
        is_risky=True,
    ),
)
"""All probes on frames; the risky ones last."""


def judge_frames(probe: FrameProbe, seen: SeenConnection) -> RuleVerdict:
    """What the server did with the frames of a probe, and whether it had to."""
    if seen.closed is not None:
        return _judge_end(probe, seen)
    cut_off = [f"cuts stream {stream} off with {_name(code)}" for stream, code in seen.resets.items()]
    status = seen.statuses.get(ASKED_STREAM)
    if status is None:
        word: Word = "wrong" if probe.code is None or cut_off else "unclear"
        return RuleVerdict(word, ", ".join(cut_off) or "gives no answer, and does not close")
    answer = ", ".join([*cut_off, f"goes on: status {status}"])
    return RuleVerdict("right" if probe.code is None and status == 200 else "wrong", answer)


def _judge_end(probe: FrameProbe, seen: SeenConnection) -> RuleVerdict:
    ended = seen.closed
    assert ended is not None, "asked of an ended connection"
    said = _name(ended.code) if ended.is_application else f"QUIC error {ended.code:#x}"
    if probe.code is None:
        return RuleVerdict("wrong", f"closes with {said}")
    if ended.is_application and ended.code == probe.code:
        return RuleVerdict("right", f"closes with {said}")
    return RuleVerdict("other code", f"closes with {said}")


def _name(code: int) -> str:
    return ErrorCode(code).name if code in set(ErrorCode) else f"{code:#x}"
