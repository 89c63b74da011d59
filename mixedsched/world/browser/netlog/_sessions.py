"""Sessions and streams while a log's events are read: packets, their number spaces, their frames, and what losses held back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mixedsched.core.metrics.hol import HolCounter
from mixedsched.world.browser.netlog._values import Closing, OpenReason, QuicSession

# Chromium's words when it closes a session that another can replace.
_DUPLICATE = "An active session exists for the given IP"
_APPLICATION = ""  # the space of 1-RTT packets, and of 0-RTT ones (RFC 9000 section 12.3)


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

    source_id: int
    host: str
    privacy_mode: str | None
    network_anonymization_key: str | None
    key: tuple[str, ...]
    """Parts of the session key beyond the two above."""
    opened_ms: float
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
        return QuicSession(
            source_id=self.source_id,
            host=self.host,
            privacy_mode=self.privacy_mode,
            network_anonymization_key=self.network_anonymization_key,
            established=self.established_ms is not None,
            opened_ms=self.opened_ms,
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
