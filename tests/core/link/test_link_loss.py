"""Loss and duplicates: how many, in which bursts, and that each decision belongs to a packet's number alone."""

from __future__ import annotations

import math
import random
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.link import Fate, Link, direction_rng, loss_pattern
from mixedsched.model.profile import CoDel, Direction, GilbertElliott, RandomLoss
from tests.core.link.links import Step, drive, link, losses, steps

MANY = 400_000
Z = 4.0  # standard errors; one in 16,000 other seeds would fail


def bursts(pattern: list[bool]) -> list[int]:
    """The lengths of the runs of lost packets."""
    return [len(list(run)) for is_lost, run in groupby(pattern) if is_lost]


def simple(mean_burst: int, ratio: float = 0.02) -> GilbertElliott:
    r = 1 / mean_burst
    return GilbertElliott(r * ratio / (1 - ratio), r)


@pytest.mark.parametrize("mean_burst", [5, 10, 15])
def test_bursts_are_geometric_and_the_long_run_ratio_is_met(mean_burst: int) -> None:
    loss = simple(mean_burst)
    pattern = loss_pattern(Direction(loss=loss), 1, "down", MANY)
    lengths = bursts(pattern)
    # Neighbours are correlated by 1 - p - r, which widens the binomial interval.
    memory = 1 - loss.p - loss.r
    standard_error = math.sqrt(0.02 * 0.98 / MANY * (1 + memory) / (1 - memory))
    assert abs(sum(pattern) / MANY - loss.mean_ratio) < Z * standard_error
    assert loss.mean_ratio == pytest.approx(0.02)
    deviation = math.sqrt(1 - loss.r) / loss.r
    assert abs(sum(lengths) / len(lengths) - mean_burst) < Z * deviation / math.sqrt(len(lengths))
    for longer_than in (1, mean_burst, 3 * mean_burst):
        share = (1 - loss.r) ** longer_than
        found = sum(length > longer_than for length in lengths) / len(lengths)
        assert abs(found - share) < Z * math.sqrt(share * (1 - share) / len(lengths))


def test_the_packet_on_which_good_turns_bad_survives_and_the_one_on_which_bad_turns_good_is_lost() -> None:
    always_turning = GilbertElliott(p=1.0, r=1.0)
    assert loss_pattern(Direction(loss=always_turning), 1, "down", 6) == [False, True, False, True, False, True]


def test_each_state_has_its_own_loss_ratio() -> None:
    assert all(loss_pattern(Direction(loss=GilbertElliott(0.0, 0.5, 0.0, 1.0)), 1, "down", 20))
    assert not any(loss_pattern(Direction(loss=GilbertElliott(0.5, 0.5, 0.0, 0.0)), 1, "down", 200))
    half = loss_pattern(Direction(loss=GilbertElliott(1.0, 0.0, 0.5, 0.0)), 1, "down", 10_000)
    assert 0.45 < sum(half) / 10_000 < 0.55


@given(losses(), st.integers(0, 99))
def test_a_preview_shows_what_a_link_then_loses(loss: RandomLoss | GilbertElliott, seed: int) -> None:
    subject = link(seed, "up", loss=loss)
    fates = [subject.push(number, 100, number) for number in range(60)]
    assert [fate is Fate.LOST for fate in fates] == loss_pattern(Direction(loss=loss), seed, "up", 60)


def test_random_losses_are_drawn_from_seed_and_direction() -> None:
    rng = random.Random("7/down")
    expected = [rng.random() < 0.3 for _ in range(200)]
    assert loss_pattern(Direction(loss=RandomLoss(0.3)), 7, "down", 200) == expected


@given(
    losses(),
    st.fixed_dictionaries(
        {},
        optional={
            "rate_bps": st.just(1_000_000),
            "queue_bytes": st.just(5_000),
            "burst_bytes": st.just(1514),
            "jitter_us": st.just(900),
            "reorder_ratio": st.just(0.5),
            "codel": st.just(CoDel(1000, 2000)),
        },
    ),
    steps(),
)
def test_whatever_else_a_link_does_it_loses_the_same_packets(
    loss: Any, more: dict[str, Any], traffic: list[Step]
) -> None:
    subject = link(loss=loss, delay_us=1000, **more)
    arrived = {packet for _, packet in drive(subject, traffic)}
    pattern = loss_pattern(Direction(loss=loss), 1, "down", len(traffic))
    assert not {number for number, is_lost in enumerate(pattern, start=1) if is_lost} & arrived
    counters = subject.counters
    assert len(traffic) == len(arrived) + counters.lost + counters.overflowed + counters.dropped_by_aqm


def test_a_duplicate_arrives_right_behind() -> None:
    subject = link(rate_bps=8_000_000, delay_us=10, jitter_us=5, duplicate_ratio=1.0)
    arrived = drive(subject, [(1000, 0), (1000, 0)])
    assert [packet for _, packet in arrived] == [1, 1, 2, 2]
    assert arrived[0] == arrived[1]
    assert (subject.counters.duplicated, subject.counters.lost) == (2, 0)


def test_a_duplicate_makes_up_for_a_loss() -> None:
    subject = link(loss=RandomLoss(1.0), duplicate_ratio=0.5)
    fates = [subject.push(number, 100, 0) for number in range(100)]
    delivered = len(subject.pop_due(0))
    assert delivered == fates.count(Fate.QUEUED)
    assert 30 < delivered < 70
    assert (subject.counters.lost, subject.counters.duplicated) == (100 - delivered, 0)


def test_the_ratio_of_duplicates_is_met() -> None:
    subject = link(duplicate_ratio=0.1)
    for number in range(20_000):
        subject.push(number, 1, 0)
    assert abs(subject.counters.duplicated - 2000) < Z * math.sqrt(20_000 * 0.1 * 0.9)


def test_any_generator_will_do_and_stays_as_it_is_but_for_the_losses() -> None:
    rng, twin = random.Random(5), random.Random(5)
    everything = Direction(delay_us=10, jitter_us=5, reorder_ratio=0.1, duplicate_ratio=0.1, loss=RandomLoss(0.5))
    Link[int](everything, rng)
    assert rng.getstate() == twin.getstate()
    assert direction_rng(1, "down").getstate() != direction_rng(1, "up").getstate()
