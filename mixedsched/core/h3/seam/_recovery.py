"""Packets in flight: an acknowledgement costs as much as it newly acknowledges, and a probe need not repeat the oldest."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from aioquic.quic.connection import QuicConnectionError
from aioquic.quic.packet import QuicErrorCode, QuicFrameType
from aioquic.quic.packet_builder import QuicDeliveryHandler, QuicDeliveryState, QuicSentPacket
from aioquic.quic.rangeset import RangeSet
from aioquic.quic.recovery import QuicPacketRecovery, QuicPacketSpace

from mixedsched.core.h3.datagram_size import BASE_BYTES
from mixedsched.core.h3.seam._streams import PullingSender

if TYPE_CHECKING:
    from mixedsched.core.h3.seam._connection import ScheduledConnection
    from mixedsched.core.h3.seam._path_size import PathSize

_ACKED = QuicDeliveryState.ACKED
_SPARSE = 4  # ranges so many times wider than what is in flight are searched as aioquic does, not walked

ChooseRepeats = Callable[[Iterable[QuicSentPacket]], list[QuicSentPacket]]


class PacketRecovery(QuicPacketRecovery):
    """aioquic's, but for three things: it lists all packets in flight for each acknowledgement, its probes repeat the oldest,
    and it believes acknowledgements of packets that were never sent, by which it takes all that it sends later for lost.

    Here an acknowledgement is looked up packet by packet; aioquic's own method gets only the last ones, which count for the
    round-trip time. choose_repeats: given the application's packets in flight, oldest first, returns those that a probe should
    repeat; none for the oldest. next_number: of the next packet that is sent. noted_loss: called when packets are lost.
    path_size: is told what became of datagrams larger than every path carries, if there are any; the loss of its probes does
    not count for congestion control (RFC 9000 section 14.4). lost_packets: that were declared lost so far, without such probes.
    """

    def __init__(
        self,
        *,
        choose_repeats: ChooseRepeats,
        next_number: Callable[[], int],
        noted_loss: Callable[[], None],
        path_size: PathSize | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._next_number = next_number
        self._noted_loss = noted_loss
        self._path_size = path_size
        self._choose_repeats = choose_repeats
        self.lost_packets = 0
        self._is_detecting = False
        self._others: dict[int, QuicSentPacket] | None = None  # in flight, put aside

    def on_ack_received(self, *, ack_rangeset: RangeSet, ack_delay: float, now: float, space: QuicPacketSpace) -> None:
        if ack_rangeset.bounds().stop > self._next_number():  # RFC 9000 section 13.1
            raise QuicConnectionError(
                QuicErrorCode.PROTOCOL_VIOLATION, QuicFrameType.ACK, "such a packet was never sent"
            )
        tail: dict[int, QuicSentPacket] = {}
        large_arrived = False
        for packet in _take_acknowledged(space.sent_packets, ack_rangeset):
            large_arrived = large_arrived or packet.sent_bytes > BASE_BYTES
            if packet.is_ack_eliciting:
                for earlier in tail.values():
                    self._acknowledge(earlier, now, space)
                tail.clear()
            tail[packet.packet_number] = packet
        if large_arrived and self._path_size is not None:
            self._path_size.search.arrived()
        self._others, space.sent_packets = space.sent_packets, tail
        try:
            super().on_ack_received(ack_rangeset=ack_rangeset, ack_delay=ack_delay, now=now, space=space)
        finally:
            self._put_back(space)

    def reschedule_data(self, *, now: float, speed_up_handshake: bool = False) -> None:
        """Send a probe: aioquic's method, but for the choice of what is repeated once the handshake is over."""
        if self.handshake_confirmed and not speed_up_handshake:
            space = self.spaces[-1]  # that of the application; the others are given up by now
            sent = space.sent_packets.values()
            if self._path_size is not None:
                self._path_size.note_timeout(sent, now)
            repeated = [] if any(packet.is_crypto_packet for packet in sent) else self._choose_repeats(sent)
            if repeated:
                self._on_packets_lost(congestion_event=False, now=now, packets=repeated, space=space)
                self._send_probe()
                return
        super().reschedule_data(now=now, speed_up_handshake=speed_up_handshake)

    def _detect_loss(self, *, now: float, space: QuicPacketSpace) -> None:
        self._put_back(space)
        self._is_detecting = True
        try:
            super()._detect_loss(now=now, space=space)
        finally:
            self._is_detecting = False

    def _on_packets_lost(
        self,
        *,
        congestion_event: bool = True,
        now: float,
        packets: Iterable[QuicSentPacket],
        persistent_congestion: bool = False,
        space: QuicPacketSpace,
    ) -> None:
        """Take probes for larger datagrams out of what counts as congestion, and report the loss of other large ones."""
        sizing = self._path_size
        if sizing is not None:
            packets = list(packets)
            probes = [packet for packet in packets if packet.sent_bytes > BASE_BYTES and sizing.is_probe(packet)]
            if probes:
                packets = [packet for packet in packets if packet not in probes]
                persistent_congestion = persistent_congestion and self._in_persistent_congestion(packets=packets)
                super()._on_packets_lost(congestion_event=False, now=now, packets=probes, space=space)
            sizing.note_lost(packets, now)
        if self._is_detecting:  # else a probe repeats what may have arrived
            packets = list(packets)
            self.lost_packets += len(packets)
        super()._on_packets_lost(
            congestion_event=congestion_event,
            now=now,
            packets=packets,
            persistent_congestion=persistent_congestion,
            space=space,
        )
        if self._is_detecting and packets:
            self._noted_loss()

    def _put_back(self, space: QuicPacketSpace) -> None:
        if self._others is not None:
            space.sent_packets, self._others = self._others, None

    def _acknowledge(self, packet: QuicSentPacket, now_s: float, space: QuicPacketSpace) -> None:
        if packet.is_ack_eliciting:
            space.ack_eliciting_in_flight -= 1
        if packet.in_flight:
            self._cc.on_packet_acked(packet=packet, now=now_s)
        for handler, arguments in packet.delivery_handlers:
            handler(_ACKED, *arguments)


def _take_acknowledged(sent: dict[int, QuicSentPacket], ranges: RangeSet) -> Iterator[QuicSentPacket]:
    """Remove and give the packets in these ranges, by number. `sent` is in order of number.

    The peer chooses the ranges: whatever it names, the cost is at most that of listing what is in flight for each range.
    """
    if not sent:
        return
    oldest = next(iter(sent))
    for numbers in ranges:
        start = max(numbers.start, oldest)
        if numbers.stop - start > _SPARSE * (len(sent) + 1):
            listed = list(sent)
            within: Any = listed[bisect_left(listed, start) : bisect_left(listed, numbers.stop)]
        else:
            within = range(start, numbers.stop)
        for number in within:
            packet = sent.pop(number, None)
            if packet is not None:
                yield packet


def packets_to_repeat(connection: ScheduledConnection, packets: Iterable[QuicSentPacket]) -> list[QuicSentPacket]:
    """The packets whose data the next probe repeats, one or two; none leaves the choice to aioquic, which takes the oldest.

    packets: all of the application that are in flight, oldest first. A probe should carry data of the most urgent response
    (RFC 9002 section 6.2.4). So the oldest packet is chosen of the response that the scheduler picks among those with data in
    flight; and the oldest with anything that goes ahead of all responses (control and QPACK streams, HANDSHAKE_DONE, limits).
    None is chosen when other data can go into the probe, when nothing of a response is in flight, and when the scheme places
    all responses alike.
    """
    service = connection._service
    if not service.has_placements or service.can_send_data:
        return []
    sizing = connection._path_size
    idle_handlers = [connection._on_ack_delivery, connection._on_ping_delivery]
    if sizing is not None:
        idle_handlers.append(sizing.on_probe_delivery)
    ahead: QuicSentPacket | None = None
    oldest: dict[int, QuicSentPacket] = {}  # by response
    for packet in packets:
        for handler, _ in packet.delivery_handlers:
            sender = _sender_of(handler)
            if sender is not None and not service.awaits_delivery(sender):
                continue
            if sender is not None and service.has_response(sender.stream_id):
                oldest.setdefault(sender.stream_id, packet)
            elif ahead is None and handler not in idle_handlers:
                ahead = packet
    picked = service.pick_among(oldest) if oldest else None
    if picked is None:
        return []
    chosen = oldest[picked]
    return [chosen] if ahead is None or ahead is chosen else [ahead, chosen]


def _sender_of(handler: QuicDeliveryHandler) -> PullingSender | None:
    """The sender to which the handler reports the delivery of data, if it is one."""
    sender = getattr(handler, "__self__", None)
    return sender if isinstance(sender, PullingSender) and handler == sender.on_data_delivery else None
