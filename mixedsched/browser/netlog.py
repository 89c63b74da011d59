"""Chromium's NetLog: which QUIC connections a page used, what it asked on them, and in which order bytes arrived.

Event numbers change with every release of Chromium; they are resolved through the file's own constants. The log's times
are whole ms.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from mixedsched.errors import InputError

_FIX = "give a file that Chromium wrote with --log-net-log"


@dataclass(frozen=True, slots=True)
class QuicSession:
    """A QUIC connection attempt; `established` says whether its handshake finished. source_id: its number in the log.

    privacy_mode, network_anonymization_key: the parts of Chromium's session key that split one page over several connections.
    packets_missing: numbers the server used and the client never saw, between the first and the last 1-RTT packet it did see.
    packets_declared_lost: of those sent by the client, as its loss detection found.
    """

    source_id: int
    host: str
    privacy_mode: str | None = None
    network_anonymization_key: str | None = None
    established: bool = False
    packets_received: int = 0
    packets_missing: int = 0
    packets_sent: int = 0
    packets_declared_lost: int = 0


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """A request and its signals. priority: the header field, None if absent. priority_updates: frame values, in order."""

    session: int
    stream_id: int
    authority: str
    path: str
    sent_ms: float
    priority: str | None = None
    priority_updates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FrameArrival:
    """A STREAM frame that reached the browser on a request stream. HTTP/3 framing and headers count among its bytes."""

    time_ms: float
    session: int
    stream_id: int
    offset_bytes: int
    length_bytes: int
    fin: bool


@dataclass(frozen=True, slots=True)
class NetLog:
    """What a log tells of QUIC. Times are ms from the first event of the first session, whether it succeeded or not.

    sessions, requests, arrivals: in order of time. truncated: the browser was killed while it wrote, and its last events
    are missing.
    """

    sessions: tuple[QuicSession, ...]
    requests: tuple[StreamRequest, ...]
    arrivals: tuple[FrameArrival, ...]
    chromium_version: str
    command_line: str
    truncated: bool

    @property
    def connections(self) -> tuple[QuicSession, ...]:
        """The sessions that finished their handshake: parallel attempts that lost are none."""
        return tuple(session for session in self.sessions if session.established)

    @property
    def packets_missing(self) -> int:
        """Packets lost on their way to the browser, over all connections."""
        return sum(session.packets_missing for session in self.connections)

    @property
    def packets_declared_lost(self) -> int:
        """Packets lost on their way to the server as the browser believes, over all connections."""
        return sum(session.packets_declared_lost for session in self.connections)


@dataclass(frozen=True, slots=True)
class ArrivalRun:
    """Frames of one response that arrived one after the other. size_bytes: all of them, repeated ones too.

    from_ms, to_ms: when the first and the last of them came, as NetLog counts time. path: "stream N" and no authority if the
    log has no request for the stream.
    """

    authority: str
    path: str
    from_ms: float
    to_ms: float
    frames: int
    size_bytes: int


def read_netlog(path: Path) -> NetLog:
    """Read a log, also one that a killed browser left open. Raises InputError if the file is no NetLog."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{path} cannot be read", why=str(error), fix=_FIX) from error
    data, truncated = _parse(text, path)
    constants = data.get("constants")
    if not isinstance(constants, dict) or not isinstance(constants.get("logEventTypes"), dict):
        raise InputError(f"{path} is no NetLog", why="it has no constants with logEventTypes", fix=_FIX)
    reader = _Reader({number: name for name, number in constants["logEventTypes"].items()})
    try:
        for event in data.get("events", ()):
            reader.read(event)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"an event is not as expected: {type(error).__name__} {error}"
        raise InputError(f"{path} is no NetLog", why=why, fix=_FIX) from error
    client = constants.get("clientInfo") or {}
    return NetLog(
        sessions=tuple(reader.finished_sessions()),
        requests=tuple(reader.requests.values()),
        arrivals=tuple(reader.arrivals),
        chromium_version=str(client.get("version", "")),
        command_line=str(client.get("command_line", "")),
        truncated=truncated,
    )


def arrival_order(log: NetLog) -> list[ArrivalRun]:
    """The order in which response bytes arrived, run-length coded: neighbouring frames of the same response are one entry.

    Frames without bytes (a late FIN) are left out. All connections are merged by time.
    """
    requests = {(item.session, item.stream_id): item for item in log.requests}
    carrying = (frame for frame in log.arrivals if frame.length_bytes)
    runs = []
    for key, group in groupby(carrying, key=lambda frame: (frame.session, frame.stream_id)):
        frames = list(group)
        request = requests.get(key)
        authority, path = (request.authority, request.path) if request else ("", f"stream {key[1]}")
        size_bytes = sum(frame.length_bytes for frame in frames)
        runs.append(ArrivalRun(authority, path, frames[0].time_ms, frames[-1].time_ms, len(frames), size_bytes))
    return runs


def _parse(text: str, path: Path) -> tuple[dict[str, Any], bool]:
    """The log's object, and whether it had to be repaired."""
    for candidate, truncated in _candidates(text):
        try:
            data = json.loads(candidate)
        except ValueError:
            continue
        if isinstance(data, dict):
            return data, truncated
        break
    raise InputError(f"{path} is no NetLog", why="it is not JSON, nor the beginning of a log", fix=_FIX)


# Where a log may be cut, and what closes it again: after its events (Chromium adds to the log when it closes), among them, or
# before the first one was whole. An event is one line.
_REPAIRS = (("}],\n", 2, "}"), ("},\n", 1, "]}"), ('"events": [\n', 11, "]}"))


def _candidates(text: str) -> Iterator[tuple[str, bool]]:
    yield text, False
    for mark, kept, end in _REPAIRS:
        at = text.rfind(mark)
        if at >= 0:
            yield text[: at + kept] + end, True


@dataclass(slots=True)
class _Counts:
    """What adds up while a session's events are read."""

    received: int = 0
    sent: int = 0
    declared_lost: int = 0
    numbers: set[int] = field(default_factory=set)

    @property
    def missing(self) -> int:
        return max(self.numbers) - min(self.numbers) + 1 - len(self.numbers) if self.numbers else 0


class _Reader:
    """Takes the events one by one. names: event name of each number."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names
        self._start_ms: float | None = None
        self._sessions: dict[int, QuicSession] = {}
        self._counts: dict[int, _Counts] = {}
        self._updates: dict[tuple[int, int], tuple[str, ...]] = {}
        self.requests: dict[tuple[int, int], StreamRequest] = {}
        self.arrivals: list[FrameArrival] = []

    def read(self, event: Mapping[str, Any]) -> None:
        name = self._names.get(event["type"], "")
        if not name.startswith(("QUIC_SESSION", "HTTP3_")):
            return
        source = event["source"]["id"]
        params = event.get("params") or {}
        time_ms = float(event["time"])
        if name == "QUIC_SESSION" and "host" in params:
            self._open_session(source, params, time_ms)
        if source not in self._sessions or self._start_ms is None:
            return  # of the session pool, or of a session older than the log
        self._read_of_session(name, source, params, time_ms - self._start_ms)

    def _open_session(self, source: int, params: Mapping[str, Any], time_ms: float) -> None:
        if self._start_ms is None:
            self._start_ms = time_ms
        self._counts[source] = _Counts()
        self._sessions[source] = QuicSession(
            source_id=source,
            host=params["host"],
            privacy_mode=params.get("privacy_mode"),
            network_anonymization_key=params.get("network_anonymization_key"),
        )

    def _read_of_session(self, name: str, source: int, params: Mapping[str, Any], time_ms: float) -> None:
        counts = self._counts[source]
        match name:
            case "QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE":
                self._sessions[source] = replace(self._sessions[source], established=True)
            case "QUIC_SESSION_PACKET_RECEIVED":
                counts.received += 1
            case "QUIC_SESSION_PACKET_SENT":
                counts.sent += 1
            case "QUIC_SESSION_PACKET_LOST":
                counts.declared_lost += 1
            case "QUIC_SESSION_UNAUTHENTICATED_PACKET_HEADER_RECEIVED":
                # Only 1-RTT packets: those of the handshake are numbered apart.
                if "long_header_type" not in params:
                    counts.numbers.add(int(params["packet_number"]))
            case "HTTP3_PRIORITY_UPDATE_SENT":
                self._add_update(source, int(params["prioritized_element_id"]), str(params["priority_field_value"]))
            case "HTTP3_HEADERS_SENT":
                self._add_request(source, int(params["stream_id"]), params["headers"], time_ms)
            case "QUIC_SESSION_STREAM_FRAME_RECEIVED" if (
                params["stream_id"] % 4 == 0
            ):  # opened by the client, both ways
                self.arrivals.append(
                    FrameArrival(
                        time_ms,
                        source,
                        params["stream_id"],
                        int(params["offset"]),
                        int(params["length"]),
                        bool(params["fin"]),
                    )
                )

    def _add_update(self, source: int, stream_id: int, value: str) -> None:
        """Keep a PRIORITY_UPDATE, which usually goes ahead of its request."""
        key = (source, stream_id)
        self._updates[key] = (*self._updates.get(key, ()), value)
        if key in self.requests:
            self.requests[key] = replace(self.requests[key], priority_updates=self._updates[key])

    def _add_request(self, source: int, stream_id: int, lines: list[str], time_ms: float) -> None:
        key = (source, stream_id)
        if key in self.requests:
            return  # trailers
        fields = dict(_split_header(line) for line in lines)
        self.requests[key] = StreamRequest(
            session=source,
            stream_id=stream_id,
            authority=fields.get(":authority", ""),
            path=fields.get(":path", ""),
            sent_ms=time_ms,
            priority=fields.get("priority"),
            priority_updates=self._updates.get(key, ()),
        )

    def finished_sessions(self) -> Iterator[QuicSession]:
        for source, session in self._sessions.items():
            counts = self._counts[source]
            yield replace(
                session,
                packets_received=counts.received,
                packets_missing=counts.missing,
                packets_sent=counts.sent,
                packets_declared_lost=counts.declared_lost,
            )


def _split_header(line: str) -> tuple[str, str]:
    """ ":path: /a" -> (":path", "/a"). A pseudo-header's own colon does not part it."""
    name, _, value = line.partition(": ")
    return name, value
