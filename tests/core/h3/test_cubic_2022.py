"""CUBIC of 2022: windows as RFC 8312 computes them, and nothing that aioquic's CUBIC does beside."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest
from aioquic import tls
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.congestion.base import create_congestion_control
from aioquic.quic.packet import QuicPacketType
from aioquic.quic.packet_builder import QuicSentPacket
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.seam import ScheduledConnection
from mixedsched.core.h3.seam._cubic_2022 import Cubic2022
from mixedsched.core.schedulers.sequential import Sequential

PACKET_BYTES = 1200
INITIAL_PACKETS = 10
RTTS_S = st.floats(0.005, 1.0)
WINDOWS_PACKETS = st.integers(4, 2000)


@dataclass
class Transfer:
    """A sender that always has data, on a network where every packet takes `rtt_s` there and back."""

    rtt_s: float = 0.1
    now_s: float = 1.0
    control: Cubic2022 = field(default_factory=lambda: Cubic2022(max_datagram_size=PACKET_BYTES))
    in_flight: list[QuicSentPacket] = field(default_factory=list)
    number: int = 0

    def send(self, count: int) -> list[QuicSentPacket]:
        sent = [
            QuicSentPacket(
                tls.Epoch.ONE_RTT,
                True,
                True,
                False,
                self.number + place,
                QuicPacketType.ONE_RTT,
                self.now_s,
                PACKET_BYTES,
            )
            for place in range(count)
        ]
        for packet in sent:
            self.control.on_packet_sent(packet=packet)
        self.number += count
        self.in_flight += sent
        return sent

    def fill(self) -> None:
        self.send((self.control.congestion_window - self.control.bytes_in_flight) // PACKET_BYTES)

    def acknowledge(self, packets: list[QuicSentPacket]) -> None:
        self.control.on_rtt_measurement(now=self.now_s, rtt=self.rtt_s)
        for packet in packets:
            self.control.on_packet_acked(now=self.now_s, packet=packet)
        self.in_flight = [packet for packet in self.in_flight if packet not in packets]

    def round(self) -> None:
        """A window leaves, and is acknowledged one round trip later."""
        self.fill()
        self.now_s += self.rtt_s
        self.acknowledge(list(self.in_flight))

    def grow_to(self, packets: int) -> None:
        """In slow start, to exactly this window."""
        self.acknowledge(self.send(packets - INITIAL_PACKETS))

    def lose(self, packets: list[QuicSentPacket]) -> None:
        self.control.on_packets_lost(now=self.now_s, packets=packets)
        self.in_flight = [packet for packet in self.in_flight if packet not in packets]

    def lose_one(self) -> None:
        self.lose(self.send(1))

    @property
    def packets(self) -> float:
        """The window."""
        return self.control.congestion_window / PACKET_BYTES


def curve_packets(w_max: float, t_s: float) -> float:
    """RFC 8312 equations 1 and 2, with the constants of section 5: beta 0.7, C 0.4."""
    k_s = math.cbrt(w_max * 0.3 / 0.4)
    return 0.4 * (t_s - k_s) ** 3 + w_max


def friendly_packets(w_max: float, t_s: float, rtt_s: float) -> float:
    """Equation 4: a standard TCP that backs off to 0.7 and grows by 0.9 / 1.7 packets per round trip."""
    return 0.7 * w_max + 0.9 / 1.7 * t_s / rtt_s


# Slow start


@given(st.lists(st.floats(0.01, 2.0), min_size=1, max_size=6))
def test_slow_start_doubles_each_round_trip_and_does_not_end_because_round_trips_get_longer(
    rtts_s: list[float],
) -> None:
    transfer = Transfer()
    for rtt_s in sorted(rtts_s):
        before = transfer.packets
        transfer.rtt_s = rtt_s
        transfer.round()
        assert transfer.packets == 2 * before
    assert transfer.control.ssthresh is None


def test_aioquics_own_cubic_leaves_slow_start_there() -> None:
    own = create_congestion_control("cubic", max_datagram_size=PACKET_BYTES)
    for step in range(40):
        own.on_rtt_measurement(now=1.0 + step / 10, rtt=0.1 + step / 100)
    assert own.ssthresh is not None


# Loss


@given(WINDOWS_PACKETS.filter(lambda packets: packets >= INITIAL_PACKETS), st.integers(1, 10))
def test_a_loss_leaves_0_7_of_the_window_however_little_was_in_flight(window: int, in_flight: int) -> None:
    transfer = Transfer()
    transfer.grow_to(window)
    transfer.lose(transfer.send(in_flight))
    assert transfer.control.congestion_window == int(window * PACKET_BYTES * 0.7) == transfer.control.ssthresh
    assert transfer.control.bytes_in_flight == 0


def test_losses_of_one_flight_count_once_and_its_other_packets_do_not_grow_the_window() -> None:
    transfer = Transfer()
    flight = transfer.send(10)
    transfer.lose(flight[:2])
    once = transfer.control.congestion_window
    transfer.lose(flight[2:4])
    transfer.acknowledge(flight[4:])
    assert transfer.control.congestion_window == once
    transfer.lose_one()
    assert transfer.control.congestion_window == int(once * 0.7)


def test_the_window_never_falls_below_two_packets() -> None:
    transfer = Transfer()
    for _ in range(20):
        transfer.lose_one()
    assert transfer.packets == 2


# Growth after a loss


@given(WINDOWS_PACKETS, RTTS_S, st.integers(1, 60))
def test_every_acknowledgement_after_a_loss_moves_the_window_as_the_rfc_says(
    w_max: int, rtt_s: float, rounds: int
) -> None:
    transfer = Transfer(rtt_s=rtt_s)
    w_max = max(w_max, INITIAL_PACKETS)
    transfer.grow_to(w_max)
    transfer.lose_one()
    lost_s = transfer.now_s
    transfer.send(1)  # stays in flight, so that there is no pause
    for _ in range(rounds):
        transfer.now_s += rtt_s / 7
        t_s, before = transfer.now_s - lost_s, transfer.packets
        transfer.acknowledge(transfer.send(1))
        if curve_packets(w_max, t_s) < friendly_packets(w_max, t_s, rtt_s):
            expected = max(before, friendly_packets(w_max, t_s, rtt_s))
        else:
            expected = before + max(0.0, curve_packets(w_max, t_s + rtt_s) - before) / before
        assert transfer.packets == pytest.approx(expected, abs=1.01 / PACKET_BYTES)


@pytest.mark.parametrize("w_max", [50, 100, 400])
def test_on_a_long_path_the_window_is_back_after_k_seconds_flat_there_and_steep_afterwards(w_max: int) -> None:
    transfer = Transfer(rtt_s=0.4)  # so long that a standard TCP would be slower
    transfer.grow_to(w_max)
    transfer.lose_one()
    lost_s, k_s = transfer.now_s, math.cbrt(w_max * 0.3 / 0.4)
    seen: dict[float, float] = {}
    while transfer.now_s < lost_s + 2 * k_s:
        transfer.round()
        seen[transfer.now_s - lost_s] = transfer.packets
    for t_s, packets in seen.items():
        if friendly_packets(w_max, t_s, 0.4) < curve_packets(w_max, t_s):
            low, high = curve_packets(w_max, t_s - 0.4), curve_packets(w_max, t_s + 0.4)
            assert low - 1 <= packets <= high + 1
    at_k = min(seen, key=lambda t_s: abs(t_s - k_s))
    assert seen[at_k] == pytest.approx(w_max, rel=0.02)
    assert seen[max(seen)] > 1.2 * w_max


@pytest.mark.parametrize("w_max", [10, 20])
def test_on_a_short_path_it_grows_like_a_standard_tcp(w_max: int) -> None:
    transfer = Transfer(rtt_s=0.01)
    transfer.grow_to(w_max)
    transfer.lose_one()
    after = transfer.packets
    for _ in range(50):
        transfer.round()
    assert transfer.packets - after == pytest.approx(50 * 0.9 / 1.7, rel=0.03)


def test_a_second_loss_below_the_first_ones_window_leaves_room_for_others() -> None:
    """Fast convergence, section 4.6: the next plateau is at 0.85 of the window."""
    transfer = Transfer(rtt_s=0.4)
    transfer.grow_to(400)
    transfer.lose_one()
    transfer.lose_one()
    lost_s, plateau = transfer.now_s, 280 * 0.85
    while transfer.now_s < lost_s + math.cbrt(plateau * 0.3 / 0.4):
        transfer.round()
    assert transfer.packets == pytest.approx(plateau, rel=0.02)


# Pauses


@given(st.floats(0.5, 3600.0))
def test_a_pause_neither_resets_the_window_nor_counts_as_time_since_the_loss(pause_s: float) -> None:
    paused, busy = Transfer(), Transfer()
    for transfer in (paused, busy):
        transfer.grow_to(50)
        transfer.lose_one()
        for _ in range(5):
            transfer.round()
    before = paused.control.congestion_window
    paused.now_s += pause_s
    paused.send(1)
    busy.send(1)
    assert paused.control.congestion_window == before
    for transfer in (paused, busy):
        for _ in range(5):
            transfer.round()
    assert paused.packets == pytest.approx(busy.packets, abs=0.01)


def test_a_pause_before_the_first_loss_changes_nothing_either() -> None:
    transfer = Transfer()
    transfer.grow_to(40)
    transfer.now_s += 60
    transfer.round()
    assert transfer.packets == 80


# In a connection


@pytest.mark.parametrize("flights", [True, False])
@pytest.mark.parametrize(("control", "is_paced"), [("cubic-2022", False), ("cubic", True), ("reno", True)])
def test_only_cubic_of_2022_is_not_paced(control: str, is_paced: bool, flights: bool) -> None:
    connection = ScheduledConnection(
        configuration=QuicConfiguration(congestion_control_algorithm=control),
        scheduler=Sequential(),
        sends_flights=flights,
    )
    pacer = connection._loss._pacer
    pacer.update_rate(congestion_window=12_000, smoothed_rtt=0.1)
    waits = []
    for _ in range(1000):
        waits.append(pacer.next_send_time(now=1.0))
        pacer.update_after_send(now=1.0)
    assert any(at_s is not None for at_s in waits) is is_paced
