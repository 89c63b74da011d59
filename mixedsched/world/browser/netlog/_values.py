"""What a NetLog tells, as plain values. Times are ms, whole ones, from the first event of the first QUIC session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Any


class OpenReason(StrEnum):
    """Why Chromium opened a connection although it may have had others.

    first: there was none. credentials: its requests carry none, unlike those of the others. third_party: its requests go to
    other sites with their cookies blocked. partition: another network anonymization key (a frame of another site, another
    page). host: the others' certificate or address does not fit. replacement: the earlier one had ended. parallel: the
    earlier one was not ready yet. duplicate: the same, and it was closed again for the other one. other: another part of the
    session key differs.
    """

    FIRST = "first"
    CREDENTIALS = "credentials"
    THIRD_PARTY = "third_party"
    PARTITION = "partition"
    HOST = "host"
    REPLACEMENT = "replacement"
    PARALLEL = "parallel"
    DUPLICATE = "duplicate"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Closing:
    """How a connection ended. error: QUIC's name for it, such as "QUIC_CONNECTION_CANCELLED"."""

    time_ms: float
    details: str
    error: str
    from_peer: bool


@dataclass(frozen=True, slots=True)
class QuicSession:
    """A QUIC connection attempt; `established` says whether its handshake finished. source_id: its number in the log.

    privacy_mode, network_anonymization_key: the parts of Chromium's session key that split one page over several connections.
    reason, why: what it was opened for, as a word and in words. pooled_with: source_id of the connection that took over.
    packets_received, packets_sent: datagrams, as the browser counts. packets_declared_lost: of those that it sent itself.
    packets_seen: numbers of the server's 1-RTT packets that came. packets_lost: numbers below the highest one that never came;
    those that a server skips on purpose look the same.
    hol_bytes, connection_hol_bytes: see metrics.hol. losses: (when the packet after them came, how many were lost).
    None: the log cannot tell (see NetLog.unavailable).
    """

    source_id: int
    host: str
    privacy_mode: str | None = None
    network_anonymization_key: str | None = None
    established: bool = False
    opened_ms: float = 0.0
    reason: OpenReason = OpenReason.FIRST
    why: str = ""
    pooled_with: int | None = None
    closing: Closing | None = None
    packets_received: int = 0
    packets_sent: int = 0
    packets_declared_lost: int = 0
    packets_seen: int | None = None
    packets_lost: int | None = None
    hol_bytes: int | None = None
    connection_hol_bytes: int | None = None
    losses: tuple[tuple[float, int], ...] = ()

    @property
    def is_used(self) -> bool:
        """Whether requests could travel on it: its handshake finished, and it was not closed for another one."""
        return self.established and self.reason is not OpenReason.DUPLICATE

    def to_dict(self) -> dict[str, Any]:
        closing = self.closing
        return {
            "id": self.source_id,
            "host": self.host,
            "used": self.is_used,
            "established": self.established,
            "reason": self.reason.value,
            "why": self.why,
            "pooled_with": self.pooled_with,
            "privacy_mode": self.privacy_mode,
            "network_anonymization_key": self.network_anonymization_key,
            "opened_ms": self.opened_ms,
            "closed_ms": closing.time_ms if closing else None,
            "close_details": closing.details if closing else None,
            "close_error": closing.error if closing else None,
            "closed_by_peer": closing.from_peer if closing else None,
            "hol_bytes": self.hol_bytes,
            "connection_hol_bytes": self.connection_hol_bytes,
            "packets_seen": self.packets_seen,
            "packets_lost": self.packets_lost,
            "packets_received": self.packets_received,
            "packets_sent": self.packets_sent,
            "packets_declared_lost": self.packets_declared_lost,
        }


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """A request and its signals. priority: the header field, None if absent. priority_updates: frame values, in order.

    headers: (name, value) of all header fields as sent, pseudo-headers included.
    """

    session: int
    stream_id: int
    authority: str
    path: str
    sent_ms: float
    priority: str | None = None
    priority_updates: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FrameArrival:
    """A STREAM frame that reached the browser on a request stream. HTTP/3 framing and headers count among its bytes.

    blocked_bytes: of these, new ones that had to wait for a lost packet of their stream.
    """

    time_ms: float
    session: int
    stream_id: int
    offset_bytes: int
    length_bytes: int
    fin: bool
    blocked_bytes: int = 0


@dataclass(frozen=True, slots=True)
class StreamArrival:
    """What arrived on a stream, control and QPACK streams included.

    received_bytes: all that came, repeated bytes too; first_byte_ms, last_byte_ms: None if nothing did.
    hol_bytes: None if the log cannot tell.
    """

    session: int
    stream_id: int
    first_byte_ms: float | None
    last_byte_ms: float | None
    received_bytes: int
    frames: int
    hol_bytes: int | None

    @property
    def key(self) -> tuple[int, int]:
        """Session and stream ID."""
        return self.session, self.stream_id

    @property
    def is_request(self) -> bool:
        """Whether the client opened it, for both directions."""
        return self.stream_id % 4 == 0

    def to_dict(self, request: StreamRequest | None) -> dict[str, Any]:
        """request: the one on this stream, if the log has it."""
        return {
            "connection": self.session,
            "stream_id": self.stream_id,
            "authority": request.authority if request else None,
            "path": request.path if request else None,
            "priority": request.priority if request else None,
            "priority_updates": list(request.priority_updates) if request else [],
            "requested_ms": request.sent_ms if request else None,
            "first_byte_ms": self.first_byte_ms,
            "last_byte_ms": self.last_byte_ms,
            "received_bytes": self.received_bytes,
            "frames": self.frames,
            "hol_bytes": self.hol_bytes,
            "headers": [list(header) for header in request.headers] if request else [],
        }


@dataclass(frozen=True, slots=True)
class NetLog:
    """What a log tells of QUIC.

    sessions, requests, arrivals: in order of time. streams: in order of their first byte, those without any at the end.
    truncated: the browser was killed while it wrote, and its last events are missing. unavailable: what this log cannot tell,
    because the browser that wrote it has no such events. http2_hosts: of HTTP/2 sessions, which are none of ours.
    """

    sessions: tuple[QuicSession, ...]
    requests: tuple[StreamRequest, ...]
    arrivals: tuple[FrameArrival, ...]
    streams: tuple[StreamArrival, ...]
    chromium_version: str
    command_line: str
    truncated: bool
    unavailable: tuple[str, ...] = ()
    http2_hosts: tuple[str, ...] = ()

    @property
    def connections(self) -> tuple[QuicSession, ...]:
        """The sessions that carried the page: attempts that failed, or were closed for another one, are none."""
        return tuple(session for session in self.sessions if session.is_used)

    @property
    def hol_bytes(self) -> int | None:
        """Blocked within their streams, over all sessions; None without any connection, or if one cannot tell."""
        return self._total(session.hol_bytes for session in self.sessions)

    @property
    def connection_hol_bytes(self) -> int | None:
        """What ordered transports would have held back, over all sessions, as an estimate."""
        return self._total(session.connection_hol_bytes for session in self.sessions)

    @property
    def packets_seen(self) -> int | None:
        """1-RTT packets that reached the browser, over all sessions."""
        return self._total(session.packets_seen for session in self.sessions)

    @property
    def packets_lost(self) -> int | None:
        """Packets lost on their way to the browser, over all sessions."""
        return self._total(session.packets_lost for session in self.sessions)

    @property
    def packets_declared_lost(self) -> int:
        """Packets lost on their way to the server as the browser believes, over all connections."""
        return sum(session.packets_declared_lost for session in self.connections)

    @property
    def requests_by_stream(self) -> dict[tuple[int, int], StreamRequest]:
        """By session and stream ID."""
        return {(item.session, item.stream_id): item for item in self.requests}

    def to_dict(self) -> dict[str, Any]:
        requests = self.requests_by_stream
        return {
            "chromium_version": self.chromium_version,
            "truncated": self.truncated,
            "unavailable": list(self.unavailable),
            "hol_bytes": self.hol_bytes,
            "connection_hol_bytes": self.connection_hol_bytes,
            "packets_seen": self.packets_seen,
            "packets_lost": self.packets_lost,
            "connections": [session.to_dict() for session in self.sessions],
            "streams": [stream.to_dict(requests.get(stream.key)) for stream in self.streams],
        }

    def _total(self, counts: Iterable[int | None]) -> int | None:
        listed = list(counts)
        known = [count for count in listed if count is not None]
        return sum(known) if self.connections and len(known) == len(listed) else None


@dataclass(frozen=True, slots=True)
class ArrivalRun:
    """Frames of one response that arrived one after the other. size_bytes: all of them, repeated ones too.

    from_ms, to_ms: when the first and the last of them came, as NetLog counts time. path: "stream N" and no authority if the
    log has no request for the stream. blocked_bytes: of these, new ones that had to wait for a lost packet of their stream.
    """

    authority: str
    path: str
    from_ms: float
    to_ms: float
    frames: int
    size_bytes: int
    blocked_bytes: int = 0


def arrival_order(log: NetLog) -> list[ArrivalRun]:
    """The order in which response bytes arrived, run-length coded: neighbouring frames of the same response are one entry.

    A run also ends where blocked frames begin or end. Frames without bytes (a late FIN) are left out. All connections are
    merged by time.
    """
    requests = log.requests_by_stream
    carrying = (frame for frame in log.arrivals if frame.length_bytes)
    runs = []
    for key, group in groupby(carrying, key=lambda frame: (frame.session, frame.stream_id, frame.blocked_bytes > 0)):
        frames = list(group)
        request = requests.get(key[:2])
        authority, path = (request.authority, request.path) if request else ("", f"stream {key[1]}")
        runs.append(
            ArrivalRun(
                authority,
                path,
                frames[0].time_ms,
                frames[-1].time_ms,
                len(frames),
                sum(frame.length_bytes for frame in frames),
                sum(frame.blocked_bytes for frame in frames),
            )
        )
    return runs
