"""The content of a NetLog as plain values. Times are whole ms from the first event of the first QUIC session."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Any


class OpenReason(StrEnum):
    """Why Chromium opened a connection although it may have had others."""

    FIRST = "first"
    """There was none."""
    CREDENTIALS = "credentials"
    """Its requests carry none, unlike those of the others, or the reverse."""
    THIRD_PARTY = "third_party"
    """Its requests go to other sites with their cookies blocked."""
    PARTITION = "partition"
    """Another network anonymization key (a frame of another site, another page)."""
    HOST = "host"
    """The others' certificate or address does not fit."""
    REPLACEMENT = "replacement"
    """The earlier one had ended."""
    PARALLEL = "parallel"
    """The earlier one was not ready yet."""
    DUPLICATE = "duplicate"
    """The same, and this one was then closed in favour of the other."""
    OTHER = "other"
    """Another part of the session key differs."""


@dataclass(frozen=True, slots=True)
class Closing:
    """How a connection ended."""

    time_ms: float
    details: str
    error: str
    """QUIC's name for it, such as "QUIC_CONNECTION_CANCELLED"."""
    from_peer: bool


@dataclass(frozen=True, slots=True)
class QuicSession:
    """A QUIC connection attempt. None in its figures: the log does not show them (see NetLog.unavailable)."""

    source_id: int
    """Its number in the log."""
    host: str
    privacy_mode: str | None = None
    """With the next, the part of Chromium's session key that splits one page over several connections."""
    network_anonymization_key: str | None = None
    established: bool = False
    """Its handshake finished."""
    opened_ms: float = 0.0
    reason: OpenReason = OpenReason.FIRST
    why: str = ""
    """The reason in words."""
    pooled_with: int | None = None
    """source_id of the connection that took over."""
    closing: Closing | None = None
    packets_received: int = 0
    """Datagrams, as the browser counts."""
    packets_sent: int = 0
    packets_declared_lost: int = 0
    """Of those that the browser sent."""
    packets_seen: int | None = None
    """Numbers of the server's 1-RTT packets that arrived."""
    packets_lost: int | None = None
    """Numbers below the highest one that never arrived; those that a server skips on purpose look the same."""
    hol_bytes: int | None = None
    """This and the next: see core/metrics/hol.py."""
    connection_hol_bytes: int | None = None
    losses: tuple[tuple[float, int], ...] = ()
    """(When the packet after them arrived, how many were lost)."""

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
    """A request and its signals."""

    session: int
    stream_id: int
    authority: str
    path: str
    sent_ms: float
    priority: str | None = None
    """The header field; None if absent."""
    priority_updates: tuple[str, ...] = ()
    """Values of PRIORITY_UPDATE frames, in order."""
    headers: tuple[tuple[str, str], ...] = ()
    """(name, value) of all header fields as sent, pseudo-headers included."""


@dataclass(frozen=True, slots=True)
class FrameArrival:
    """A STREAM frame that reached the browser on a request stream. HTTP/3 framing and headers count among its bytes."""

    time_ms: float
    session: int
    stream_id: int
    offset_bytes: int
    length_bytes: int
    fin: bool
    blocked_bytes: int = 0
    """Of these, new ones that had to wait for a lost packet of their stream."""


@dataclass(frozen=True, slots=True)
class StreamArrival:
    """The arrivals of a stream, which may be a control or QPACK stream."""

    session: int
    stream_id: int
    first_byte_ms: float | None
    """None if nothing arrived."""
    last_byte_ms: float | None
    received_bytes: int
    """Repeated bytes included."""
    frames: int
    hol_bytes: int | None
    """None if the log does not show it."""

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
    """A log's content about QUIC, in order of time."""

    sessions: tuple[QuicSession, ...]
    requests: tuple[StreamRequest, ...]
    arrivals: tuple[FrameArrival, ...]
    streams: tuple[StreamArrival, ...]
    """In order of their first byte; those without any at the end."""
    chromium_version: str
    command_line: str
    truncated: bool
    """The browser was killed while it wrote, and its last events are missing."""
    unavailable: tuple[str, ...] = ()
    """What this log does not show, because the browser that wrote it has no such events."""
    http2_hosts: tuple[str, ...] = ()
    """Hosts of HTTP/2 sessions, of which nothing else is read."""

    @property
    def connections(self) -> tuple[QuicSession, ...]:
        """The sessions that carried the page, without attempts that failed, or were closed in favour of another one."""
        return tuple(session for session in self.sessions if session.is_used)

    @property
    def hol_bytes(self) -> int | None:
        """Blocked within their streams, over all sessions; None without any connection, or if one does not show it."""
        return self._total(session.hol_bytes for session in self.sessions)

    @property
    def connection_hol_bytes(self) -> int | None:
        """An estimate of what ordered transports would have held back, over all sessions."""
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
        """Packets lost on their way to the server according to the browser, over all connections."""
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
    """Frames of one response that arrived one after the other."""

    authority: str
    path: str
    """ "stream N", and no authority, if the log has no request for the stream."""
    from_ms: float
    """When the first of them arrived, in the time of NetLog."""
    to_ms: float
    """When the last of them did."""
    frames: int
    size_bytes: int
    """Of all of them, repeated bytes included."""
    blocked_bytes: int = 0
    """Of these, new ones that had to wait for a lost packet of their stream."""


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
