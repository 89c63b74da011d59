"""How fast packets leave: like on a wire, through a token bucket, after a trace; each against a plain model."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from mixedsched.model.profile import OPPORTUNITY_BYTES, Trace
from tests.core.link.links import Step, drain, drive, link, steps, traces

MBIT_PER_S = 1_000_000


def test_a_token_bucket_lets_a_burst_pass_at_once_and_the_rest_at_the_rate() -> None:
    subject = link(rate_bps=8 * MBIT_PER_S, burst_bytes=3000)
    for number in range(5):
        subject.push(number, 1000, now_us=0)
    assert drain(subject) == [(0, 0), (0, 1), (0, 2), (1000, 3), (2000, 4)]


def test_a_bucket_of_one_packet_takes_the_time_of_the_packet_before_instead_of_its_own() -> None:
    subject = link(rate_bps=8 * MBIT_PER_S, burst_bytes=1514)
    for number, size_bytes in enumerate([1514, 500, 1514]):
        subject.push(number, size_bytes, now_us=0)
    assert drain(subject) == [(0, 0), (500, 1), (500 + 1514, 2)]


def test_tokens_do_not_pile_up_beyond_the_bucket() -> None:
    subject = link(rate_bps=8 * MBIT_PER_S, burst_bytes=2000)
    subject.push(0, 2000, now_us=0)
    for number in (1, 2, 3):
        subject.push(number, 1000, now_us=1_000_000)
    assert drain(subject) == [(0, 0), (1_000_000, 1), (1_000_000, 2), (1_001_000, 3)]


def test_a_packet_larger_than_the_bucket_waits_for_all_that_it_lacks() -> None:
    subject = link(rate_bps=8 * MBIT_PER_S, burst_bytes=1514)
    for number in range(3):
        subject.push(number, 2514, now_us=0)
    assert drain(subject) == [(1000, 0), (1000 + 2514, 1), (1000 + 2 * 2514, 2)]
    subject.push(3, 2514, now_us=1_000_000)  # an idle link saves up no more than a bucket
    assert drain(subject) == [(1_001_000, 3)]


def test_what_waits_for_tokens_fills_the_queue_and_what_passes_does_not() -> None:
    subject = link(rate_bps=8 * MBIT_PER_S, burst_bytes=2000, queue_bytes=2000)
    for number in range(5):
        subject.push(number, 1000, now_us=0)
    assert [packet for _, packet in drain(subject)] == [0, 1, 2, 3]
    assert (subject.counters.overflowed, subject.counters.highest_queue_bytes) == (1, 2000)


@given(steps(), st.integers(20_000, 10**8), st.integers(500, 20_000))
def test_a_token_bucket_is_as_one_that_counts_its_tokens(traffic: list[Step], rate_bps: int, burst_bytes: int) -> None:
    """The naive model keeps tokens as exact fractions of bytes; rounding to ns and us may cost a little, and never gains."""
    tokens, then_us, now_us, left_us = Fraction(burst_bytes), Fraction(0), 0, Fraction(0)
    expected = []
    for size_bytes, gap_us in traffic:
        now_us += gap_us
        begin_us = max(Fraction(now_us), left_us)
        tokens = min(Fraction(burst_bytes), tokens + (begin_us - then_us) * rate_bps / 8_000_000)
        left_us = begin_us + max(Fraction(0), size_bytes - tokens) * 8_000_000 / rate_bps
        tokens, then_us = max(tokens, Fraction(size_bytes)) - size_bytes, left_us
        expected.append(left_us)
    arrived = drive(link(rate_bps=rate_bps, burst_bytes=burst_bytes), traffic)
    for (at_us, _), ideal_us in zip(arrived, expected, strict=True):
        assert ideal_us <= at_us <= ideal_us + 1 + Fraction(2 * len(traffic), 1000)


@given(steps(), st.integers(20_000, 10**9), st.sampled_from([0, 1514, 6000]))
def test_no_link_beats_its_rate_and_burst_over_any_window(traffic: list[Step], rate_bps: int, burst_bytes: int) -> None:
    arrived = drive(link(rate_bps=rate_bps, burst_bytes=burst_bytes), traffic)
    sizes_bytes = [size_bytes for size_bytes, _ in traffic]
    for first, (from_us, _) in enumerate(arrived):
        passed_bytes = -sizes_bytes[first] if not burst_bytes else 0  # a wire: the first one has begun before
        for last in range(first, len(arrived)):
            passed_bytes += sizes_bytes[last]
            window_us = arrived[last][0] - from_us + 1  # arrivals are rounded up to microseconds
            assert passed_bytes * 8_000_000 <= window_us * rate_bps + burst_bytes * 8_000_000


def test_each_opportunity_of_a_trace_lets_a_full_packet_pass_and_then_it_begins_again() -> None:
    subject = link(trace=Trace("t", (2, 5, 5, 10)))
    for number in range(6):
        subject.push(number, 1500, now_us=0)
    assert drain(subject) == [(2000, 0), (5000, 1), (5000, 2), (10_000, 3), (12_000, 4), (15_000, 5)]


def test_small_packets_share_an_opportunity_if_they_wait_and_what_comes_later_gets_none_of_it() -> None:
    subject = link(trace=Trace("t", (1, 10)))
    for number in (0, 1):
        subject.push(number, 500, now_us=0)
    subject.push(2, 500, now_us=1001)
    assert drain(subject) == [(1000, 0), (1000, 1), (10_000, 2)]


def test_a_large_packet_takes_several_opportunities_and_leaves_the_rest_of_the_last() -> None:
    subject = link(trace=Trace("t", (1, 2, 3, 4)))
    for number, size_bytes in enumerate([2000, 1000, 1000]):
        subject.push(number, size_bytes, now_us=0)
    assert drain(subject) == [(2000, 0), (2000, 1), (3000, 2)]


def test_unused_opportunities_are_gone() -> None:
    subject = link(trace=Trace("t", (1, 2, 3, 100)))
    subject.push(0, 1500, now_us=3500)
    assert drain(subject) == [(100_000, 0)]


def test_a_packet_may_use_the_opportunity_of_its_very_moment_also_after_many_rounds() -> None:
    for round_ms in (0, 100, 700):
        subject = link(trace=Trace("t", (7, 100)))
        subject.push(0, 1500, now_us=(round_ms + 7) * 1000)
        assert drain(subject) == [((round_ms + 7) * 1000, 0)]


def test_the_end_of_a_round_and_the_zero_of_the_next_are_one_moment() -> None:
    subject = link(trace=Trace("t", (0, 10)))
    for number in range(4):
        subject.push(number, 1500, now_us=1)
    assert drain(subject) == [(10_000, 0), (10_000, 1), (20_000, 2), (20_000, 3)]


@given(steps(), traces())
def test_a_trace_is_as_one_played_millisecond_by_millisecond(traffic: list[Step], trace: Trace) -> None:
    waiting: list[list[int]] = []  # [when it came, what is left of it]
    now_us = 0
    for size_bytes, gap_us in traffic:
        now_us += gap_us
        waiting.append([now_us, size_bytes])
    expected: list[int] = []
    for time_ms in range(10**6):
        rounds, rest_ms = divmod(time_ms, trace.period_ms)
        chances = trace.opportunities_ms.count(rest_ms)
        if rounds and rest_ms == 0:
            chances += trace.opportunities_ms.count(trace.period_ms)
        for _ in range(chances):
            spare_bytes = OPPORTUNITY_BYTES
            while spare_bytes and waiting and waiting[0][0] <= time_ms * 1000:
                used_bytes = min(spare_bytes, waiting[0][1])
                spare_bytes -= used_bytes
                waiting[0][1] -= used_bytes
                if not waiting[0][1]:
                    waiting.pop(0)
                    expected.append(time_ms * 1000)
        if not waiting:
            break
    assert [at_us for at_us, _ in drive(link(trace=trace), traffic)] == expected
