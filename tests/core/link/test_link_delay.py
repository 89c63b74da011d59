"""Delay, jitter and overtaking."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from tests.core.link.links import Step, drive, link, steps

DELAY_US = 20_000
MANY = 20_000
Z = 4.0  # standard errors


def test_jitter_is_spread_evenly_around_the_delay() -> None:
    arrived = drive(link(delay_us=DELAY_US, jitter_us=5000, keeps_order=False), [(100, 100_000)] * MANY)
    delays_us = [at_us - 100_000 * packet for at_us, packet in arrived]
    assert min(delays_us) >= DELAY_US - 5000
    assert max(delays_us) <= DELAY_US + 5000
    assert abs(sum(delays_us) / MANY - DELAY_US) < Z * 5000 / math.sqrt(3 * MANY)
    for tenth in range(10):
        from_us = DELAY_US - 5000 + tenth * 1000
        share = sum(from_us <= delay_us < from_us + 1000 for delay_us in delays_us) / MANY
        assert abs(share - 0.1) < Z * math.sqrt(0.09 / MANY)


def test_jitter_lets_packets_wait_for_those_before_them_unless_reordering_is_asked_for() -> None:
    traffic = [(100, 100)] * 500
    kept = drive(link(delay_us=DELAY_US, jitter_us=5000), traffic)
    free = drive(link(delay_us=DELAY_US, jitter_us=5000, keeps_order=False), traffic)
    assert [packet for _, packet in kept] == list(range(1, 501))
    assert [packet for _, packet in free] != list(range(1, 501))
    own_us = {packet: at_us for at_us, packet in free}
    latest_us = 0
    for at_us, packet in kept:
        latest_us = max(latest_us, own_us[packet])
        assert at_us == latest_us, "no earlier than its own jitter says, and no later than it must"


def test_a_packet_that_is_not_delayed_overtakes_those_under_way() -> None:
    subject = link(delay_us=DELAY_US, reorder_ratio=0.1)
    arrived = drive(subject, [(100, 1000)] * 200)
    overtaking = [packet for at_us, packet in arrived if at_us == 1000 * packet]
    others = [packet for at_us, packet in arrived if at_us == 1000 * packet + DELAY_US]
    assert len(overtaking) + len(others) == 200
    assert len(overtaking) == subject.counters.reordered > 5
    assert others == sorted(others)


def test_the_ratio_of_overtaking_packets_is_met() -> None:
    subject = link(delay_us=1, reorder_ratio=0.25)
    drive(subject, [(100, 0)] * MANY)
    assert abs(subject.counters.reordered - MANY / 4) < Z * math.sqrt(MANY * 0.25 * 0.75)


@given(steps(), st.integers(0, 9), st.integers(1, DELAY_US), st.integers(100_000, 10**8))
def test_order_is_kept_unless_asked_otherwise(traffic: list[Step], seed: int, jitter_us: int, rate_bps: int) -> None:
    arrived = drive(link(seed, delay_us=DELAY_US, jitter_us=jitter_us, rate_bps=rate_bps), traffic)
    assert [packet for _, packet in arrived] == list(range(1, len(traffic) + 1))


@given(steps(), st.integers(0, 9), st.floats(0, 1))
def test_arrivals_come_in_order_of_time_and_then_of_handing_over(traffic: list[Step], seed: int, ratio: float) -> None:
    subject = link(seed, delay_us=3000, jitter_us=2000, keeps_order=False, reorder_ratio=ratio, duplicate_ratio=ratio)
    arrived = drive(subject, traffic)
    assert arrived == sorted(arrived)
