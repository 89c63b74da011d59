"""Sessions and streams while a log's events are read: packets, their number spaces, their frames, and what losses held back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mixedsched.core.metrics.hol import HolCounter
from mixedsched.world.browser.netlog._values import Closing, OpenReason, QuicSession

# Chromium's words when it closes a session that another can replace.
_DUPLICATE = "An active session exists for the given IP"
_APPLICATION = ""  # the space of 1-RTT packets, and of 0-RTT ones (RFC 9000 section 12.3)
# In a privacy mode: to another site, without cookies except those partitioned by top-level site.
_PARTITIONED = "partitioned"


@dataclass(frozen=True, slots=True)
class Blocked:
    """New bytes of a frame that had to wait. frame: the number by which it was added."""

    stream_id: int
    frame: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class PacketCounts:
    """Figures of a session's packets; see QuicSession. blocked: frames of which bytes had to wait, in the order of packets."""

    seen: int
    lost: int
    hol_bytes: int | None
    connection_hol_bytes: int | None
    losses: tuple[tuple[float, int], ...]
    blocked: tuple[Blocked, ...]


class Packets:
    """Collects packets in the order of arrival, and counts at the end, in the order of their numbers.

    A header that is logged again, as for packets that had to wait for their keys, does not begin a new packet.
    """

    def __init__(self) -> None:
        self._came_ms: dict[int, float] = {}
        self._frames: dict[int, list[tuple[int, int, int, int]]] = {}
        self._other_spaces: dict[str, set[int]] = {}
        self._current: list[tuple[int, int, int, int]] | None = None
        self._has_strays = False

    def header(self, params: Mapping[str, Any], number: int, time_ms: float) -> None:
        """Begin a packet: the next frames were in it."""
        space = _space(params)
        if space != _APPLICATION:
            self._other_spaces.setdefault(space, set()).add(number)
            self._current = None
            return
        self._came_ms.setdefault(number, time_ms)
        self._current = self._frames.setdefault(number, [])

    def frame(self, stream_id: int, offset: int, length: int, frame: int) -> None:
        """Add a STREAM frame to the last packet. frame: its number, for Blocked."""
        if self._current is None:
            self._has_strays = True
        else:
            self._current.append((stream_id, offset, length, frame))

    def count(self) -> PacketCounts:
        """Go through the packets by number. HOL is unknown if the packet of a frame is."""
        counter = HolCounter()
        blocked, losses = [], []
        taken = self._numbers_of_other_spaces()
        next_number = 0
        for number in sorted(self._frames):
            if number > next_number:
                lost = number - next_number - sum(next_number <= other < number for other in taken)
                losses += [(self._came_ms[number], lost)] if lost else []
            next_number = number + 1
            frames = self._frames[number]
            held_bytes = counter.packet(number, [entry[:3] for entry in frames])
            blocked += [
                Blocked(entry[0], entry[3], held) for entry, held in zip(frames, held_bytes, strict=True) if held
            ]
        return PacketCounts(
            seen=len(self._frames),
            lost=sum(lost for _, lost in losses),
            hol_bytes=None if self._has_strays else counter.stream_hol_bytes,
            connection_hol_bytes=None if self._has_strays else counter.connection_hol_bytes,
            losses=tuple(losses),
            blocked=() if self._has_strays else tuple(blocked),
        )

    def _numbers_of_other_spaces(self) -> set[int]:
        """Numbers that are not losses because the handshake used them.

        Every space begins with 0, but some servers (aioquic) continue counting from one space to the next; then no number is
        used twice.
        """
        spaces = [*self._other_spaces.values(), set(self._frames)]
        used = set().union(*spaces)
        return used - spaces[-1] if len(used) == sum(map(len, spaces)) else set()


def _space(params: Mapping[str, Any]) -> str:
    kind = str(params.get("long_header_type") or "")
    if kind:
        return _APPLICATION if "ZERO" in kind else kind
    return "LONG" if "LONG" in str(params.get("header_format") or "") else _APPLICATION


@dataclass(slots=True)
class NotedSession:
    """A session so far."""

    opened: QuicSession
    """As it began."""
    rare_key: tuple[str, ...]
    """Parts of the session key beyond its privacy mode and its network anonymization key."""
    established_ms: float | None = None
    closing: Closing | None = None
    pooled_with: int | None = None
    received: int = 0
    sent: int = 0
    declared_lost: int = 0
    packets: Packets = field(default_factory=Packets)

    @property
    def is_duplicate(self) -> bool:
        return self.closing is not None and _DUPLICATE in self.closing.details

    def is_closed_at(self, time_ms: float) -> bool:
        return self.closing is not None and self.closing.time_ms < time_ms

    def is_ready_at(self, time_ms: float) -> bool:
        return self.established_ms is not None and self.established_ms <= time_ms and not self.is_closed_at(time_ms)

    def finished(self, counts: PacketCounts, reason: OpenReason, why: str) -> QuicSession:
        return replace(
            self.opened,
            established=self.established_ms is not None,
            reason=reason,
            why=why,
            pooled_with=self.pooled_with if reason is OpenReason.DUPLICATE else None,
            closing=self.closing,
            packets_received=self.received,
            packets_sent=self.sent,
            packets_declared_lost=self.declared_lost,
            packets_seen=counts.seen,
            packets_lost=counts.lost,
            hol_bytes=counts.hol_bytes,
            connection_hol_bytes=counts.connection_hol_bytes,
            losses=counts.losses,
        )


@dataclass(slots=True)
class NotedStream:
    """A stream's frames so far. blocked: known at the end."""

    first_ms: float | None = None
    last_ms: float | None = None
    received: int = 0
    frames: int = 0
    blocked: int = 0


def reason_of(
    session: NotedSession, earlier: Sequence[NotedSession], taker: NotedSession | None, *, has_other_address: bool
) -> tuple[OpenReason, str]:
    """Why a connection was opened: why its requests could not use those that existed already. Also in words.

    Chromium shares a connection among requests whose session keys are equal (privacy mode, network anonymization key and
    rarer parts) if the host is the same, or address and certificate fit. Source: net/quic/quic_session_pool.cc and
    quic_session_key.h.

    earlier: the sessions opened before, in order of time. taker: the one that took over, if that is known. has_other_address:
    Chromium found one to share, except for its address.
    """
    if session.is_duplicate:
        other = f"the connection to {taker.opened.host}" if taker is not None else "another connection"
        return OpenReason.DUPLICATE, f"opened beside {other}, which then served its requests, too; closed unused"
    if not earlier:
        return OpenReason.FIRST, "there was none before it"
    alike = [other for other in earlier if _key(other) == _key(session)]
    return _not_shared(session, alike, has_other_address) if alike else _kept_apart(session, earlier)


def _key(session: NotedSession) -> tuple[object, ...]:
    return (session.opened.privacy_mode, session.opened.network_anonymization_key, session.rare_key)


def _not_shared(
    session: NotedSession, alike: Sequence[NotedSession], has_other_address: bool
) -> tuple[OpenReason, str]:
    """For a session whose key existed already: why no session with that key would do."""
    living = [other for other in alike if not other.is_closed_at(session.opened.opened_ms)]
    if not living:
        closing = alike[-1].closing
        details = closing.details or closing.error if closing is not None else ""
        return OpenReason.REPLACEMENT, f"the earlier connection to {alike[-1].opened.host} had ended: {details}"
    # A connection that is not ready yet is not waited for; if it is, later, Chromium looks again, and keeps both if it must.
    later_ms = session.established_ms if session.established_ms is not None else session.opened.opened_ms
    ready = [other for other in living if other.is_ready_at(later_ms)]
    if not ready:
        return OpenReason.PARALLEL, f"the connection to {living[-1].opened.host} was not ready yet"
    same_host = [other for other in ready if other.opened.host == session.opened.host]
    if same_host:
        return OpenReason.REPLACEMENT, f"the earlier connection to {session.opened.host} took no new requests"
    kept = "its address is another one" if has_other_address else "its address, or the certificate, does not fit"
    return OpenReason.HOST, f"{session.opened.host} cannot share the connection to {ready[-1].opened.host}: {kept}"


def _kept_apart(session: NotedSession, earlier: Sequence[NotedSession]) -> tuple[OpenReason, str]:
    """For a session with a new key: which part of it is new."""
    mode, partition = session.opened.privacy_mode, session.opened.network_anonymization_key
    if not any(other.opened.network_anonymization_key == partition for other in earlier):
        return (
            OpenReason.PARTITION,
            f"requests of another page, or of a frame of another site, are kept apart ({partition})",
        )
    there = [other for other in earlier if other.opened.network_anonymization_key == partition]
    if any(other.opened.privacy_mode == mode for other in there):
        return OpenReason.OTHER, "a rarer part of the session key differs (proxy, name resolution, use)"
    if mode == "disabled":
        return OpenReason.CREDENTIALS, "requests with credentials are kept apart from those without"
    if _PARTITIONED in (mode or ""):
        return OpenReason.THIRD_PARTY, "requests to other sites, whose cookies are blocked, are kept apart"
    return (
        OpenReason.CREDENTIALS,
        "requests without credentials (fonts, anonymous fetches) are kept apart from those with them",
    )
