"""How packets leave for clients that acknowledge many at once, as browsers do."""

from __future__ import annotations

import pytest
from aioquic import tls
from aioquic.quic.packet import QuicFrameType, QuicPacketType
from aioquic.quic.packet_builder import QuicSentPacket
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.seam._flight_cubic import FlightCubic
from tests.core.h3.quic_pair import QuicPair

SIZE = 1200
WHOLE = SIZE - 64  # payload bytes of a packet that is as good as full


def packet(number: int, sent_s: float) -> QuicSentPacket:
    made = QuicSentPacket(tls.Epoch.ONE_RTT, True, True, False, number, QuicPacketType.ONE_RTT, sent_s, SIZE)
    made.sent_time = sent_s
    return made


@given(st.integers(1, 60), st.data())
def test_a_loss_leaves_70_percent_of_what_was_in_flight_however_many_packets_the_news_acknowledges(
    flight: int, data: st.DataObject
) -> None:
    lost = data.draw(st.integers(1, flight))
    acknowledged = data.draw(st.integers(0, flight - lost))
    cubic = FlightCubic(SIZE)
    sent = [packet(number, 1.0) for number in range(flight)]
    for each in sent:
        cubic.on_packet_sent(packet=each)
    for each in sent[lost : lost + acknowledged]:
        cubic.on_packet_acked(now=2.0, packet=each)
    cubic.on_packets_lost(now=2.0, packets=iter(sent[:lost]))
    assert cubic.congestion_window == max(int(flight * SIZE * 0.7), 2 * SIZE)
    assert cubic.bytes_in_flight == (flight - lost - acknowledged) * SIZE


def test_later_losses_of_the_same_round_trip_change_nothing() -> None:
    cubic = FlightCubic(SIZE)
    sent = [packet(number, 1.0) for number in range(10)]
    for each in sent:
        cubic.on_packet_sent(packet=each)
    cubic.on_packets_lost(now=2.0, packets=sent[:1])
    window = cubic.congestion_window
    cubic.on_packets_lost(now=2.1, packets=sent[1:2])
    assert (cubic.congestion_window, cubic.bytes_in_flight) == (window, 8 * SIZE)


def sent_after_s(seed: int, *, sends_flights: bool, ack_delay_s: float) -> float:
    """When the last of 400 kB leaves, over 2 Mbit/s, 100 ms and 2 % of loss."""
    pair = QuicPair(
        "sequential",
        delay_us=50_000,
        rate_bps=2_000_000,
        queue_bytes=26_215,
        loss_ratio=0.02,
        seed=seed,
        sends_flights=sends_flights,
        ack_delay_s=ack_delay_s,
    )
    begun_s = pair.now_s
    pair.ask([400_000])
    return pair.finish().packets[-1][0] - begun_s


@pytest.mark.parametrize(("ack_delay_s", "share"), [(0.001, 0.95), (0.025, 0.8)])
def test_a_lossy_link_is_used_better_than_by_aioquic(ack_delay_s: float, share: float) -> None:
    """And most where the client gathers packets for a quarter of a round trip before it acknowledges them."""
    ours, theirs = (
        sum(sent_after_s(seed, sends_flights=flights, ack_delay_s=ack_delay_s) for seed in range(1, 7))
        for flights in (True, False)
    )
    assert ours < theirs * share


def payload_sizes(pair: QuicPair) -> list[int]:
    """Of packets with nothing but responses."""
    return [len(payload) for _, _, payload in pair.packets if payload[0] != QuicFrameType.ACK]


def test_packets_of_responses_alone_are_whole_but_for_the_last() -> None:
    """Once slow start is over."""
    pair = QuicPair("sequential", delay_us=50_000, rate_bps=2_000_000, queue_bytes=26_215, sends_flights=True)
    pair.server._loss._cc.ssthresh = 0
    pair.ask([200_000, 200_000])
    assert sum(size < WHOLE for size in payload_sizes(pair.finish())) == 1


@pytest.mark.parametrize(
    ("size_bytes", "in_slow_start", "sent"),
    [(20_000, False, 1), (20_000, True, 2), (1_600, False, 2)],
    ids=["what does not fit waits", "not in slow start", "nor the end of a response"],
)
def test_half_a_packet_waits_for_room_in_the_window(size_bytes: int, in_slow_start: bool, sent: int) -> None:
    pair = QuicPair("sequential", delay_us=50_000, sends_flights=True)
    pair.server._loss._cc.congestion_window = SIZE + 600
    pair.server._loss._cc.ssthresh = None if in_slow_start else 0
    pair.ask([size_bytes])
    pair.run(0.140)  # less than it takes until the first acknowledgement
    assert len(payload_sizes(pair)) == sent
