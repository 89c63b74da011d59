"""One connection as a qlog trace: QUIC events as aioquic logs them, HTTP/3, priorities, and the scheduler's decisions.

The format is qlog 0.3 as JSON text sequences (RFC 7464), which the viewer qvis reads: a record for the trace, then one for each
event as it happens, so that nothing is kept in memory and a trace that breaks off is still valid. Names:

    transport, recovery, connectivity, security   from aioquic
    http:frame_created, frame_parsed, stream_type_set   as aioquic names them
    http3:priority_updated    draft-ietf-quic-qlog-h3-events-12, which postdates 0.3; `signal` is ours
    mixedsched:stream_placed, stream_scheduled    the scheduler's input and output
    loglevel:warning          draft-ietf-quic-qlog-main-schema: the trace ends early
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.logger import QuicLogger, QuicLoggerTrace

from mixedsched.core.h3 import MAX_TRACE_BYTES
from mixedsched.core.h3._control import Settings
from mixedsched.core.h3._signals import PriorityUpdate, Trigger
from mixedsched.core.h3.codes import FrameType, Setting, StreamType
from mixedsched.core.h3.events import FrameContent, SessionEvents
from mixedsched.model.priority import Priority, PriorityParameters
from mixedsched.model.request import Request

QLOG_VERSION = "0.3"
MAX_HELD_EVENTS = 10_000  # that one received packet can cause, say by reporting as many as lost
_NOTE_BYTES = 300  # room for the event that says that the trace ends early

_encode = json.JSONEncoder(separators=(",", ":")).encode

# One for each packet, and redundant: packets share datagrams in the handshake only.
_LEFT_OUT = frozenset({"datagrams_sent", "datagrams_received"})

_FRAME_TYPES = {
    FrameType.DATA: "data",
    FrameType.HEADERS: "headers",
    FrameType.CANCEL_PUSH: "cancel_push",
    FrameType.SETTINGS: "settings",
    FrameType.PUSH_PROMISE: "push_promise",
    FrameType.GOAWAY: "goaway",
    FrameType.MAX_PUSH_ID: "max_push_id",
    FrameType.PRIORITY_UPDATE_REQUEST: "priority_update",
    FrameType.PRIORITY_UPDATE_PUSH: "priority_update",
}
_STREAM_TYPES = {
    StreamType.CONTROL: "control",
    StreamType.PUSH: "push",
    StreamType.QPACK_ENCODER: "qpack_encode",
    StreamType.QPACK_DECODER: "qpack_decode",
}
# (trigger, reason) of the draft. After a PRIORITY_UPDATE the site's wishes may still be merged in, so no reason is given there.
_CAUSES: dict[Trigger, dict[str, str]] = {
    "header": {"trigger": "client_signal_received", "reason": "client_signal_only"},
    "update": {"trigger": "client_signal_received"},
    "response": {"trigger": "local", "reason": "client_server_merged"},
}


class QlogTrace(QuicLoggerTrace):
    """Turns events into records and writes them at once, in order of time.

    original_id: the destination connection ID of the client's very first packet. clock_s: seconds since the trace began.
    write: takes a record, separator and newline included. reference_ms: when the trace began, in ms since 1970; 0 in virtual
    time. limit_bytes: of all records; a trace that would be longer ends with a note.

    Implements FrameObserver and DecisionObserver, and `priority_updated` of SessionEvents. The times that these pass are
    ignored: one clock for all keeps events in order.
    """

    def __init__(
        self,
        *,
        original_id: bytes,
        clock_s: Callable[[], float],
        write: Callable[[bytes], None],
        title: str,
        reference_ms: float = 0.0,
        limit_bytes: int = MAX_TRACE_BYTES,
    ) -> None:
        super().__init__(is_client=False, odcid=original_id)
        self._clock_s = clock_s
        self._write = write
        self._room_bytes = limit_bytes - _NOTE_BYTES
        self._is_over = False
        self._last_ms = 0.0
        self._held: list[dict[str, Any]] = []  # from a received packet on, to whose event aioquic still adds frames
        self._run: _DecisionRun | None = None
        self._record(_header(original_id, title, reference_ms))

    def log_event(self, *, category: str, event: str, data: dict[str, Any]) -> None:
        """An event of aioquic's. Where it uses names of older drafts, they are replaced by those of 0.3."""
        if event in _LEFT_OUT:
            return
        if event in ("packet_received", "packet_sent"):
            self._settle()
        elif event == "metrics_updated" and "cwnd" in data:
            data["congestion_window"] = data.pop("cwnd")
        elif event == "packet_lost" and "header" not in data:
            data = {"header": {"packet_type": data["type"], "packet_number": data["packet_number"]}}
        self._add(f"{category}:{event}", data, hold=event == "packet_received")

    def flush(self) -> None:
        """Write what is complete by now. Must not be called while a packet is received."""
        self._end_run()
        self._settle()

    # HTTP/3

    def stream_type_set(self, stream_id: int, stream_type: int) -> None:
        name = _STREAM_TYPES.get(stream_type, "unknown")  # type: ignore[call-overload]
        owner = "local" if stream_id % 2 else "remote"
        self._add("http:stream_type_set", {"stream_id": stream_id, "owner": owner, "stream_type": name})

    def frame_parsed(self, stream_id: int, frame_type: int, size_bytes: int, content: FrameContent) -> None:
        self._add("http:frame_parsed", _frame(stream_id, frame_type, size_bytes, content))

    def frame_created(self, stream_id: int, frame_type: int, size_bytes: int, content: FrameContent) -> None:
        self._add("http:frame_created", _frame(stream_id, frame_type, size_bytes, content))

    def priority_updated(
        self,
        now_s: float,  # noqa: ARG002 - see above; as SessionEvents wants it
        stream_id: int,
        old: Priority | None,
        new: Priority,
        trigger: Trigger,
    ) -> None:
        self._end_run()  # so that decisions before the change stand before it
        before = {} if old is None else {"old": str(old)}
        self._add(
            "http3:priority_updated",
            {"stream_id": stream_id, **before, "new": str(new), **_CAUSES[trigger], "signal": trigger},
        )

    # Decisions

    def placed(self, now_s: float, stream_id: int, request: Request, placement: str) -> None:  # noqa: ARG002
        self._end_run()
        self._add(
            "mixedsched:stream_placed",
            {
                "stream_id": stream_id,
                "placement": placement,
                "path": request.path,
                "kind": request.kind,
                "priority": str(request.signal),
                "body_bytes": request.body_bytes,
            },
        )

    def scheduled(self, now_s: float, stream_id: int, size_bytes: int, again_bytes: int, packet: int) -> None:  # noqa: ARG002
        run = self._run
        if run is None or run.stream_id != stream_id:
            self._end_run()
            run = self._run = _DecisionRun(stream_id, self._now_ms())
        run.packets += packet != run.packet
        run.packet = packet
        run.size_bytes += size_bytes
        run.again_bytes += again_bytes

    def closed(self, now_s: float, stream_id: int) -> None:
        """Not logged: acknowledgements and resets are there already."""

    def _end_run(self) -> None:
        if self._run is not None:
            self._add("mixedsched:stream_scheduled", self._run.to_dict())
            self._run = None

    # Records

    def _now_ms(self) -> float:
        self._last_ms = max(self._last_ms, round(self._clock_s() * 1000, 3))
        return self._last_ms

    def _add(self, name: str, data: dict[str, Any], hold: bool = False) -> None:
        event = {"time": self._now_ms(), "name": name, "data": data}
        if hold or self._held:
            self._held.append(event)
            if len(self._held) >= MAX_HELD_EVENTS:
                self._settle()
        else:
            self._record(event)

    def _settle(self) -> None:
        held, self._held = self._held, []
        for event in held:
            self._record(event)

    def _record(self, content: dict[str, Any]) -> None:
        if self._is_over:
            return
        record = _encoded(content)
        self._room_bytes -= len(record)
        if self._room_bytes < 0:
            self._is_over = True
            message = "the limit of this file's size is reached; what follows is not logged"
            record = _encoded({"time": self._last_ms, "name": "loglevel:warning", "data": {"message": message}})
        self._write(record)


def traced(
    trace: QlogTrace, configuration: QuicConfiguration, events: SessionEvents
) -> tuple[QuicConfiguration, SessionEvents]:
    """Configuration and events for a session, so that all of it is in the trace."""
    return (
        replace(configuration, quic_logger=_TraceLogger(trace)),
        replace(events, priority_updated=trace.priority_updated, frames=trace, decisions=(*events.decisions, trace)),
    )


class _TraceLogger(QuicLogger):
    """Has a connection log to an existing trace."""

    def __init__(self, trace: QlogTrace) -> None:
        super().__init__()
        self._trace = trace

    def start_trace(self, is_client: bool, odcid: bytes) -> QuicLoggerTrace:  # noqa: ARG002 - known to the trace
        return self._trace

    def end_trace(self, trace: QuicLoggerTrace) -> None:
        """The trace goes on: its owner ends it."""


@dataclass(slots=True)
class _DecisionRun:
    """Consecutive decisions for one stream."""

    stream_id: int
    since_ms: float
    packet: int = -1  # the latest one
    packets: int = 0
    size_bytes: int = 0
    again_bytes: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "stream_id": self.stream_id,
            "since": self.since_ms,
            "packets": self.packets,
            "bytes": self.size_bytes,
            "repeated_bytes": self.again_bytes,
        }


def _header(original_id: bytes, title: str, reference_ms: float) -> dict[str, Any]:
    return {
        "qlog_version": QLOG_VERSION,
        "qlog_format": "JSON-SEQ",
        "title": title,
        "trace": {
            "title": title,
            "vantage_point": {"name": "mixedsched", "type": "server"},
            "common_fields": {
                "ODCID": original_id.hex(),
                "protocol_type": ["QUIC", "HTTP3"],
                "time_format": "relative",
                "reference_time": reference_ms,
            },
        },
    }


def _encoded(content: dict[str, Any]) -> bytes:
    return b"\x1e" + _encode(content).encode() + b"\n"


def _frame(stream_id: int, frame_type: int, size_bytes: int, content: FrameContent) -> dict[str, Any]:
    type_name = _FRAME_TYPES.get(frame_type, "unknown")  # type: ignore[call-overload]
    frame: dict[str, Any] = {"frame_type": type_name}
    match content:
        case PriorityUpdate():
            frame["stream_id"] = content.stream_id
            frame["priority_field_value"] = _parameters_text(content.parameters)
        case Settings():
            frame["settings"] = [_setting(*setting) for setting in content.values.items()]
        case list():
            frame["headers"] = [{"name": _text(name), "value": _text(value)} for name, value in content]
        case None if type_name == "unknown":
            frame["frame_type_bytes"] = frame_type
        case None:
            pass
    return {"stream_id": stream_id, "length": size_bytes, "frame": frame}


def _setting(identifier: int, value: int) -> dict[str, Any]:
    try:
        return {"name": f"settings_{Setting(identifier).name.lower()}", "value": value}
    except ValueError:
        return {"name": "unknown", "name_bytes": identifier, "value": value}


def _parameters_text(parameters: PriorityParameters | None) -> str | None:
    """The parameters of a PRIORITY_UPDATE; None if it was not a dictionary."""
    if parameters is None:
        return None
    members = []
    if parameters.urgency is not None:
        members.append(f"u={parameters.urgency}")
    if parameters.incremental is not None:
        members.append("i" if parameters.incremental else "i=?0")
    return ", ".join(members)


def _text(value: bytes) -> str:
    """As text; clients may send any bytes."""
    return value.decode("utf-8", "backslashreplace")
