"""One direction of a link: rate, queue, delay and loss, to the microsecond."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.link import Fate, Link, direction_rng
from mixedsched.model.profile import Direction, RandomLoss
from tests.core.link.links import drain


def link(
    rate_bps: int | None = None, delay_us: int = 0, queue_bytes: int | None = None, loss: float = 0.0, seed: int = 1
) -> Link[int]:
    return Link(Direction(rate_bps, delay_us, queue_bytes, RandomLoss(loss)), direction_rng(seed, "down"))


def test_a_packet_takes_its_size_over_the_rate_and_then_the_delay() -> None:
    subject = link(rate_bps=8_000_000, delay_us=5_000)
    subject.push(1, 1000, now_us=100)
    assert drain(subject) == [(100 + 1000 + 5000, 1)]


def test_packets_wait_for_those_before_them() -> None:
    subject = link(rate_bps=8_000_000)
    for number in range(3):
        subject.push(number, 1000, now_us=0)
    subject.push(3, 1000, now_us=10_000)
    assert drain(subject) == [(1000, 0), (2000, 1), (3000, 2), (11_000, 3)]


def test_without_a_rate_only_the_delay_counts() -> None:
    subject = link(delay_us=7)
    subject.push(1, 10**9, now_us=3)
    assert drain(subject) == [(10, 1)]


def test_the_queue_holds_so_many_bytes_and_what_overflows_is_gone() -> None:
    subject = link(rate_bps=8_000_000, queue_bytes=3000)
    fates = [subject.push(number, 1000, now_us=0) for number in range(4)]
    assert fates == [Fate.QUEUED, Fate.QUEUED, Fate.QUEUED, Fate.OVERFLOWED]
    assert subject.push(4, 1000, now_us=1000) is Fate.QUEUED  # the first has left
    assert [packet for _, packet in drain(subject)] == [0, 1, 2, 4]
    assert (subject.counters.packets, subject.counters.overflowed) == (4, 1)
    assert subject.counters.highest_queue_bytes == 3000


def test_a_lost_packet_has_used_the_link() -> None:
    subject = link(rate_bps=8_000_000, loss=0.5)
    fates = [subject.push(number, 1000, now_us=0) for number in range(20)]
    lost = fates.count(Fate.LOST)
    assert 0 < lost < 20
    assert subject.counters.lost == lost
    assert all(at_us == 1000 * (packet + 1) for at_us, packet in drain(subject))


def test_nothing_arrives_before_its_time() -> None:
    subject = link(delay_us=100)
    subject.push(1, 10, now_us=0)
    assert subject.pop_due(99) == []
    assert subject.pop_due(100) == [1]
    assert subject.next_due_us() is None


@given(
    st.lists(st.tuples(st.integers(40, 1500), st.integers(0, 3000)), min_size=1, max_size=60), st.integers(1000, 10**9)
)
def test_no_link_beats_its_rate_and_packets_stay_in_order(steps: list[tuple[int, int]], rate_bps: int) -> None:
    subject, now_us, total_bytes = link(rate_bps=rate_bps, delay_us=50), 0, 0
    for number, (size_bytes, gap_us) in enumerate(steps):
        now_us += gap_us
        subject.push(number, size_bytes, now_us)
        total_bytes += size_bytes
    arrived = drain(subject)
    assert [packet for _, packet in arrived] == list(range(len(steps)))
    assert arrived[-1][0] - 50 - steps[0][1] >= total_bytes * 8 * 10**6 / rate_bps - 1


@given(st.integers(0, 2**48), st.lists(st.integers(0, 500), min_size=50, max_size=50))
def test_which_packet_is_lost_depends_on_seed_and_number_alone(seed: int, gaps_us: list[int]) -> None:
    steady, uneven, now_us = link(loss=0.3, seed=seed), link(10**6, 10, 10**6, 0.3, seed), 0
    for number, gap_us in enumerate(gaps_us):
        now_us += gap_us
        assert steady.push(number, 100, number) is uneven.push(number, 1200, now_us)


def test_directions_and_seeds_differ() -> None:
    def pattern(rng: random.Random) -> list[bool]:
        subject: Link[int] = Link(Direction(loss=RandomLoss(0.5)), rng)
        return [subject.push(number, 1, 0) is Fate.LOST for number in range(64)]

    patterns = {tuple(pattern(direction_rng(seed, direction))) for seed in (1, 2) for direction in ("up", "down")}
    assert len(patterns) == 4


def test_the_loss_ratio_is_met() -> None:
    subject = link(loss=0.02)
    for number in range(50_000):
        subject.push(number, 1, 0)
    assert 0.018 < subject.counters.lost / 50_000 < 0.022
