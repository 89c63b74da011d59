"""Rules of deciding while blocks come in: what a look has shown stays shown, and the error rate holds over all looks."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.stats import (
    ALPHA,
    NOTHING_KNOWN,
    Looks,
    crossing,
    hodges_lehmann,
    sequential_interval,
    sequential_p,
    signed_rank_interval,
)
from mixedsched.core.stats._sequential import _SCORE_MOST, _scores

LOOKS = Looks(6, 16)
# Quarters keep sums and halves exact, so that properties may compare without tolerance.
quarters = st.integers(-400, 400).map(lambda number: number / 4)
series = st.lists(quarters, min_size=1, max_size=20)


def noise(pairs: int, seed: int, shift: float = 0.0) -> list[float]:
    rng = random.Random(seed)
    return [rng.gauss(shift, 1) for _ in range(pairs)]


def test_the_chance_of_any_look_to_cross_is_exact_whatever_the_sizes() -> None:
    looks = Looks(6, 10)
    for sizes in ([3, 1, 4, 1, 5, 9, 2, 6, 5, 3], [2**place for place in range(10)], [7] * 10):
        signs = itertools.product((1, -1), repeat=10)
        crossed = [crossing([sign * size for sign, size in zip(item, sizes, strict=True)], looks) for item in signs]
        assert crossed.count(1) == crossed.count(-1)
        assert 0.5 * ALPHA < (crossed.count(1) + crossed.count(-1)) / 2**10 <= ALPHA


def test_scores_are_ranks_among_the_blocks_so_far_ties_share_theirs_and_zeros_have_none() -> None:
    shares = [1 / 2, 1 / 3, 2 / 4, 0, 4.5 / 6]
    assert _scores(np.array([3.0, 1.0, 2.0, 0.0, 3.0])).tolist() == [round(share * _SCORE_MOST) for share in shares]


def test_nothing_is_decided_before_the_first_look_or_while_too_few_pairs_can_decide() -> None:
    all_worse = [5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0]
    assert [crossing(all_worse[:pairs], Looks(8, 9)) for pairs in (7, 8, 9)] == [0, 1, 1]
    # 5 % x 6/16 is less than the 2/64 that six pairs can show at best, 5 % x 7/16 is more than the 2/128 of seven.
    assert LOOKS.first_deciding() == 7
    assert [crossing(all_worse[:pairs], LOOKS) for pairs in (6, 7)] == [0, 1]
    assert sequential_interval(all_worse[:6], LOOKS) == NOTHING_KNOWN
    assert sequential_interval(all_worse[:7], LOOKS).low > 0


def test_so_few_blocks_that_they_never_decide_are_known_beforehand() -> None:
    assert Looks(3, 5).first_deciding() is None
    assert Looks(3, 6).first_deciding() == 6
    assert Looks(3, 6).first_deciding(ALPHA / 2) is None


@given(series, st.integers(1, 20))
def test_decisions_go_by_the_first_blocks_whatever_comes_later(values: list[float], count: int) -> None:
    early = crossing(values[:count], LOOKS)
    assert crossing(values, LOOKS) == early or early == 0


@given(st.integers(0, 10**6), st.floats(-2, 2))
def test_intervals_never_get_wider_where_no_two_blocks_are_alike(seed: int, shift: float) -> None:
    values = noise(16, seed, shift)
    intervals = [sequential_interval(values[:count], LOOKS) for count in range(1, len(values) + 1)]
    assert all(before.low <= after.low <= after.high <= before.high for before, after in itertools.pairwise(intervals))


@given(series)
def test_pairs_after_the_last_look_count_for_nothing(values: list[float]) -> None:
    assert sequential_interval(values, LOOKS) == sequential_interval(values[: LOOKS.last], LOOKS)
    assert sequential_p(values, LOOKS) == sequential_p(values[: LOOKS.last], LOOKS)


@given(series)
def test_interval_p_and_test_say_the_same(values: list[float]) -> None:
    interval, p, shown = sequential_interval(values, LOOKS), sequential_p(values, LOOKS), crossing(values, LOOKS)
    assert (p <= ALPHA) == (shown != 0)
    if shown != 0:
        assert interval.low >= 0 if shown > 0 else interval.high <= 0
    if interval.excludes_zero():
        assert shown == (1 if interval.low > 0 else -1)


@given(series, quarters)
def test_shifting_all_pairs_shifts_the_interval(values: list[float], by: float) -> None:
    before, after = (sequential_interval(item, LOOKS) for item in (values, [value + by for value in values]))
    assert (after.low, after.high) == (before.low + by, before.high + by)


@given(series, st.sampled_from([0.25, 2.0, 64.0]))
def test_the_unit_of_differences_does_not_matter(values: list[float], factor: float) -> None:
    scaled = [value * factor for value in values]
    before, after = sequential_interval(values, LOOKS), sequential_interval(scaled, LOOKS)
    assert sequential_p(scaled, LOOKS) == sequential_p(values, LOOKS)
    assert (after.low, after.high) == (before.low * factor, before.high * factor)


@given(series)
def test_better_and_worse_are_mirror_images(values: list[float]) -> None:
    mirrored = [-value for value in values]
    before, after = sequential_interval(values, LOOKS), sequential_interval(mirrored, LOOKS)
    assert crossing(mirrored, LOOKS) == -crossing(values, LOOKS)
    assert (after.low, after.high) == (-before.high, -before.low)


@given(series)
def test_a_smaller_error_rate_never_gives_a_narrower_interval(values: list[float]) -> None:
    wide, narrow = sequential_interval(values, LOOKS, ALPHA / 4), sequential_interval(values, LOOKS)
    assert wide.low <= narrow.low <= narrow.high <= wide.high


def test_looking_costs_little_width_at_the_last_block() -> None:
    ratios = []
    for seed in range(40):
        values = noise(24, seed)
        looked, planned = sequential_interval(values, Looks(8, 24)), signed_rank_interval(values)
        assert looked.confidence == 1 - ALPHA
        ratios.append((looked.high - looked.low) / (planned.high - planned.low))
    assert 1.0 < sum(ratios) / len(ratios) < 1.35


def test_arms_that_do_not_differ_are_told_apart_in_one_experiment_of_twenty() -> None:
    looks = Looks(6, 14)
    wrong = sum(crossing(noise(14, seed), looks) != 0 for seed in range(2000))
    assert 0.03 < wrong / 2000 < 0.065  # 5 %, give or take three standard errors


def test_a_clear_shift_ends_at_the_first_look_that_can_show_it() -> None:
    looks, values = Looks(8, 24), noise(24, seed=3, shift=6)
    assert crossing(values[:8], looks) == 1
    interval = sequential_interval(values, looks)
    assert interval.low < hodges_lehmann(values) < interval.high


def test_nothing_but_zeros_shows_that_nothing_changed() -> None:
    interval = sequential_interval([0.0] * 9, Looks(8, 24))
    assert (interval.low, interval.high) == (0, 0)
    assert sequential_p([0.0] * 9, Looks(8, 24)) == 1


def test_looks_must_go_up() -> None:
    for first, last in ((0, 5), (6, 5)):
        with pytest.raises(ValueError, match="go up"):
            Looks(first, last)
