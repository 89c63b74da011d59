"""Pacing in flights: as aioquic on slow links, a millisecond's worth at once on fast ones."""

from __future__ import annotations

import pytest
from aioquic.quic.recovery import QuicPacketPacer
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.seam._pacer import FLIGHT_S, MAX_FLIGHT_BYTES, FlightPacer

DATAGRAM_BYTES = 1200


def pacers(rate_bytes_per_s: float, window_bytes: int = 1_000_000) -> tuple[FlightPacer, QuicPacketPacer]:
    """Ours and aioquic's, for the same rate."""
    ours, stock = FlightPacer(max_datagram_size=DATAGRAM_BYTES), QuicPacketPacer(max_datagram_size=DATAGRAM_BYTES)
    for pacer in (ours, stock):
        pacer.update_rate(congestion_window=window_bytes, smoothed_rtt=window_bytes / rate_bytes_per_s)
    return ours, stock


def burst(pacer: QuicPacketPacer, now_s: float) -> int:
    """How many packets may leave at once."""
    count = 0
    while pacer.next_send_time(now=now_s) is None:
        pacer.update_after_send(now=now_s)
        count += 1
    return count


@given(st.floats(1e4, 15e6))
def test_below_150_mbit_per_second_bursts_are_as_aioquic_has_them(rate: float) -> None:
    ours, stock = pacers(rate)
    assert burst(ours, 100.0) == burst(stock, 100.0)


@pytest.mark.parametrize(("rate", "packets"), [(30e6, 25), (60e6, 50), (1e9, 54)])
def test_on_a_fast_link_a_millisecond_of_packets_leaves_at_once_up_to_64_kb(rate: float, packets: int) -> None:
    ours, _ = pacers(rate)
    assert abs(burst(ours, 100.0) - packets) <= 1


@pytest.mark.parametrize("rate", [1e5, 1e6, 1e7, 5e7])
def test_the_rate_is_kept_over_time(rate: float) -> None:
    ours, _ = pacers(rate)
    now_s, packets = 100.0, 0
    while now_s < 102.0:
        packets += burst(ours, now_s)
        at_s = ours.next_send_time(now=now_s)
        assert at_s is not None
        assert at_s > now_s
        now_s = at_s
    allowed = rate * 2.0 / DATAGRAM_BYTES
    assert allowed * 0.98 - 1 <= packets <= allowed + MAX_FLIGHT_BYTES / DATAGRAM_BYTES + 1


def test_waits_are_long_enough_for_a_timer_and_never_longer_than_a_burst_lasts() -> None:
    ours, _ = pacers(30e6)
    burst(ours, 100.0)
    at_s = ours.next_send_time(now=100.0)
    assert at_s is not None
    assert 0.0004 <= at_s - 100.0 <= FLIGHT_S
