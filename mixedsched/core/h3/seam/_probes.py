"""What a probe repeats: data of the most urgent response, as RFC 9002 section 6.2.4 suggests, instead of the oldest data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from aioquic.quic.packet_builder import QuicDeliveryHandler, QuicSentPacket

from mixedsched.core.h3.seam._streams import PullingSender

if TYPE_CHECKING:
    from mixedsched.core.h3.seam._connection import ScheduledConnection


def packets_to_repeat(connection: ScheduledConnection, packets: Iterable[QuicSentPacket]) -> list[QuicSentPacket]:
    """Whose data the next probe is to carry, one packet or two; none leaves it to aioquic, which takes the oldest.

    packets: all of the application that are in flight, oldest first. It is left to aioquic when other data can go into the
    probe, when nothing of a response is in flight, and when the scheme places all responses alike. Otherwise it is the oldest
    packet with data of the response that the scheduler picks among those that have some in flight; and the oldest with
    something that goes ahead of all responses whenever packets are written (control and QPACK streams, HANDSHAKE_DONE, limits).
    """
    service = connection._service
    if not service.has_placements or service.can_send_data:
        return []
    ahead: QuicSentPacket | None = None
    oldest: dict[int, QuicSentPacket] = {}  # by response
    for packet in packets:
        for handler, _ in packet.delivery_handlers:
            sender = _sender_of(handler)
            if sender is not None and not service.awaits_delivery(sender):
                continue
            if sender is not None and service.has_response(sender.stream_id):
                oldest.setdefault(sender.stream_id, packet)
            elif ahead is None and handler not in (connection._on_ack_delivery, connection._on_ping_delivery):
                ahead = packet
    picked = service.pick_among(oldest) if oldest else None
    if picked is None:
        return []
    chosen = oldest[picked]
    return [chosen] if ahead is None or ahead is chosen else [ahead, chosen]


def _sender_of(handler: QuicDeliveryHandler) -> PullingSender | None:
    """Whose data a packet carries, if that is what the handler is told about."""
    sender = getattr(handler, "__self__", None)
    return sender if isinstance(sender, PullingSender) and handler == sender.on_data_delivery else None
