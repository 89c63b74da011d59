"""What is noted of sessions and streams while a log's events are read."""

from __future__ import annotations

from dataclasses import dataclass, field

from mixedsched.world.browser.netlog._packets import PacketCounts, Packets
from mixedsched.world.browser.netlog._reasons import Opened
from mixedsched.world.browser.netlog._values import Closing, OpenReason, QuicSession


@dataclass(slots=True)
class NotedSession:
    """What is noted while a session's events are read."""

    source_id: int
    host: str
    privacy_mode: str | None
    network_anonymization_key: str | None
    key: tuple[str, ...]
    opened_ms: float
    established_ms: float | None = None
    closing: Closing | None = None
    pooled_with: int | None = None
    received: int = 0
    sent: int = 0
    declared_lost: int = 0
    packets: Packets = field(default_factory=Packets)

    def opened(self, *, other_address: bool, pooled_with: str) -> Opened:
        """As far as the reason for it goes."""
        return Opened(
            host=self.host,
            privacy_mode=self.privacy_mode,
            network_anonymization_key=self.network_anonymization_key,
            key=self.key,
            opened_ms=self.opened_ms,
            established_ms=self.established_ms,
            closing=self.closing,
            other_address=other_address,
            pooled_with=pooled_with,
        )

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
    """What is noted of a stream's frames. blocked: known when all packets are."""

    first_ms: float | None = None
    last_ms: float | None = None
    received: int = 0
    frames: int = 0
    blocked: int = 0
