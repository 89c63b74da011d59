"""Packets in flight: an acknowledgement costs as much as it newly acknowledges, and a probe need not repeat the oldest."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from aioquic.quic.packet_builder import QuicDeliveryState, QuicSentPacket
from aioquic.quic.rangeset import RangeSet
from aioquic.quic.recovery import QuicPacketRecovery, QuicPacketSpace

_ACKED = QuicDeliveryState.ACKED
_SPARSE = 4  # ranges so many times wider than what is in flight are searched as aioquic does, not walked

ChooseRepeats = Callable[[Iterable[QuicSentPacket]], list[QuicSentPacket]]


class PacketRecovery(QuicPacketRecovery):
    """aioquic's, which lists all packets in flight for each acknowledgement; this one looks only where they are named.

    aioquic's own method is left with the last packets that count for the round-trip time, and with what follows from it.
    aioquic's probes repeat the oldest packet; here somebody else may say which.
    choose_repeats: which of the application's packets in flight, oldest first, a probe is to repeat; none for the oldest.
    """

    def __init__(self, *, choose_repeats: ChooseRepeats, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._choose_repeats = choose_repeats
        self._others: dict[int, QuicSentPacket] | None = None  # in flight, put aside

    def on_ack_received(self, *, ack_rangeset: RangeSet, ack_delay: float, now: float, space: QuicPacketSpace) -> None:
        tail: dict[int, QuicSentPacket] = {}
        for packet in _take_acknowledged(space.sent_packets, ack_rangeset):
            if packet.is_ack_eliciting:
                for earlier in tail.values():
                    self._acknowledge(earlier, now, space)
                tail.clear()
            tail[packet.packet_number] = packet
        self._others, space.sent_packets = space.sent_packets, tail
        try:
            super().on_ack_received(ack_rangeset=ack_rangeset, ack_delay=ack_delay, now=now, space=space)
        finally:
            self._put_back(space)

    def reschedule_data(self, *, now: float, speed_up_handshake: bool = False) -> None:
        """Send a probe. As aioquic's, but for the choice of what it repeats once the handshake is over."""
        if self.handshake_confirmed and not speed_up_handshake:
            space = self.spaces[-1]  # that of the application; the others are given up by now
            sent = space.sent_packets.values()
            repeated = [] if any(packet.is_crypto_packet for packet in sent) else self._choose_repeats(sent)
            if repeated:
                self._on_packets_lost(congestion_event=False, now=now, packets=repeated, space=space)
                self._send_probe()
                return
        super().reschedule_data(now=now, speed_up_handshake=speed_up_handshake)

    def _detect_loss(self, *, now: float, space: QuicPacketSpace) -> None:
        self._put_back(space)
        super()._detect_loss(now=now, space=space)

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

    The peer chooses the ranges: whatever it names, the cost is at most that of listing what is in flight for each.
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
