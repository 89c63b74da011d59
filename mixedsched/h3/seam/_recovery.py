"""Packets in flight: an acknowledgement costs as much as it newly acknowledges, and a probe may repeat another than the oldest."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from aioquic.quic.packet_builder import QuicDeliveryState, QuicSentPacket
from aioquic.quic.rangeset import RangeSet
from aioquic.quic.recovery import QuicPacketRecovery, QuicPacketSpace

_ACKED = QuicDeliveryState.ACKED
_SPARSE = 4  # ranges so many times wider than what is in flight are searched as aioquic does, not walked


ChooseRepeat = Callable[[Iterable[QuicSentPacket]], QuicSentPacket | None]


class PacketRecovery(QuicPacketRecovery):
    """aioquic's, which lists all packets in flight for each acknowledgement; this one looks only where they are named.

    aioquic's own method is left with the last packets that count for the round-trip time, and with what follows from it.
    choose_repeat: which of the application's packets in flight, oldest first, a probe is to repeat; None for the oldest.
    """

    def __init__(self, *, choose_repeat: ChooseRepeat, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._choose_repeat = choose_repeat
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
        """Have aioquic repeat the packet that is chosen, by showing it no older one. Handshake data is left to aioquic."""
        space = self.spaces[-1]
        sent = space.sent_packets
        is_plain = self.handshake_confirmed and not speed_up_handshake
        if is_plain and not any(packet.is_crypto_packet for packet in sent.values()):
            chosen = self._choose_repeat(sent.values())
            if chosen is not None:
                del sent[chosen.packet_number]
                self._others, space.sent_packets = sent, {chosen.packet_number: chosen}
        try:
            super().reschedule_data(now=now, speed_up_handshake=speed_up_handshake)
        finally:
            self._put_back(space)

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
