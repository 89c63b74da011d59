"""Rules of the signed-rank test, the Hodges-Lehmann estimate and its interval."""

from __future__ import annotations

import itertools
import math
import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import PermutationMethod, wilcoxon

from mixedsched.core.stats import (
    EXACT_PAIRS_MAX,
    Interval,
    _walsh,
    hodges_lehmann,
    signed_rank_interval,
    smallest_p,
    walsh_averages,
    wilcoxon_p,
)

# Quarters keep sums and halves exact, so that properties may compare without tolerance.
quarters = st.integers(-4000, 4000).map(lambda number: number / 4)
samples = st.lists(quarters, min_size=1, max_size=25)


def normal(pairs: int, seed: int, shift: float = 0.0) -> list[float]:
    rng = random.Random(seed)
    return [rng.gauss(shift, 1) for _ in range(pairs)]


def test_estimate_worked_by_hand() -> None:
    # Walsh averages of 1, 2, 6: 1, 1.5, 2, 3.5, 4, 6
    assert walsh_averages([6, 1, 2]).tolist() == [1, 1.5, 2, 3.5, 4, 6]
    assert hodges_lehmann([6, 1, 2]) == 2.75


@given(st.one_of(samples, st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=12)))
def test_averages_that_are_counted_are_those_that_are_held(values: list[float]) -> None:
    held = walsh_averages(values).tolist()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_walsh, "HELD_MOST", 0)
        assert _walsh.ranked_averages(values, range(len(held))) == held


def test_of_very_many_pairs_not_all_averages_are_held() -> None:
    values = normal(20_000, seed=6, shift=0.1)
    tracemalloc.start()
    estimate, interval = hodges_lehmann(values), signed_rank_interval(values)
    most_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most_bytes < 20e6
    assert (interval.low, estimate, interval.high) == pytest.approx((0.086, 0.1, 0.114), abs=0.02)


def test_one_wild_block_hardly_moves_the_estimate() -> None:
    calm = [-0.1, -0.12, -0.09, -0.11, -0.1, -0.08, -0.13, -0.1, -0.11]
    assert hodges_lehmann([*calm, 50.0]) == pytest.approx(hodges_lehmann(calm), abs=0.01)


def test_six_pairs_reach_95_per_cent_with_their_whole_range() -> None:
    interval = signed_rank_interval([3, 1, 2, 5, 8, 13])
    assert (interval.low, interval.high) == (1, 13)
    assert interval.confidence == 1 - 2 / 2**6


@pytest.mark.parametrize("pairs", [1, 2, 3, 4, 5])
def test_fewer_than_six_pairs_say_the_lower_confidence_they_have(pairs: int) -> None:
    interval = signed_rank_interval(list(range(pairs)))
    assert (interval.low, interval.high) == (0, pairs - 1)
    assert interval.confidence == 1 - 2 / 2**pairs


def test_ten_pairs_leave_out_eight_walsh_averages_at_either_end() -> None:
    # Tables of the signed-rank statistic: for n = 10 the two-sided 5 % critical value is 8, P(T <= 8) = 25/1024.
    values = normal(10, seed=3)
    averages = walsh_averages(values)
    interval = signed_rank_interval(values)
    assert (interval.low, interval.high) == (averages[8], averages[-9])
    assert interval.confidence == pytest.approx(1 - 50 / 1024)


def test_p_worked_by_hand() -> None:
    assert wilcoxon_p([1, 2, 3]) == 2 / 8
    assert wilcoxon_p([-1, 2, 3]) == 4 / 8  # T- = 1: two of eight outcomes at either end
    assert wilcoxon_p([1, 2, 3, 4, 5, 6]) == 2 / 64


def test_nothing_changed_means_p_is_one() -> None:
    assert wilcoxon_p([0, 0, 0, 0, 0, 0, 0, 0]) == 1
    assert wilcoxon_p([]) == 1


def test_zeros_count_half_to_either_side() -> None:
    # zeros take ranks 1 and 2, the rest 3..5: only these move, so eight outcomes
    assert wilcoxon_p([0, 0, 4, 5, 6]) == 2 / 8


@pytest.mark.parametrize("pairs", [4, 7, 12, 30, 50])
def test_p_without_ties_is_that_of_scipy(pairs: int) -> None:
    for seed in range(5):
        values = normal(pairs, seed, shift=0.3)
        assert wilcoxon_p(values) == pytest.approx(wilcoxon(values, method="exact").pvalue, rel=1e-9)


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=8).filter(any))
def test_p_with_ties_and_zeros_is_that_of_scipys_permutations(values: list[int]) -> None:
    every_sign = PermutationMethod(n_resamples=2**8 + 1)
    expected = wilcoxon(values, zero_method="zsplit", method=every_sign).pvalue
    assert wilcoxon_p(values) == pytest.approx(float(expected), rel=1e-9)


def test_exact_and_approximate_p_and_intervals_meet() -> None:
    values = normal(EXACT_PAIRS_MAX + 1, seed=8, shift=0.1)
    for few, many in ((values[:-1], values), (normal(200, 4), [*normal(200, 4), 0.001])):
        assert wilcoxon_p(many) == pytest.approx(wilcoxon_p(few), rel=0.25, abs=0.01)
        assert signed_rank_interval(many).low == pytest.approx(signed_rank_interval(few).low, abs=0.03)
        assert signed_rank_interval(many).confidence == pytest.approx(0.95, abs=0.002)


@given(samples, quarters)
def test_shifting_all_pairs_shifts_estimate_and_interval(values: list[float], by: float) -> None:
    moved = [value + by for value in values]
    assert hodges_lehmann(moved) == hodges_lehmann(values) + by
    before, after = signed_rank_interval(values), signed_rank_interval(moved)
    assert (after.low, after.high) == (before.low + by, before.high + by)


@given(samples, st.sampled_from([-4.0, -1.0, 0.5, 2.0]))
def test_scaling_all_pairs_scales_estimate_and_interval(values: list[float], factor: float) -> None:
    scaled = [value * factor for value in values]
    assert hodges_lehmann(scaled) == hodges_lehmann(values) * factor
    before, after = signed_rank_interval(values), signed_rank_interval(scaled)
    assert [after.low, after.high] == sorted([before.low * factor, before.high * factor])
    assert wilcoxon_p(scaled) == pytest.approx(wilcoxon_p(values))


@given(samples, st.randoms(use_true_random=False))
def test_order_of_pairs_does_not_matter(values: list[float], rng: random.Random) -> None:
    mixed = rng.sample(values, len(values))
    assert hodges_lehmann(mixed) == hodges_lehmann(values)
    assert signed_rank_interval(mixed) == signed_rank_interval(values)
    assert wilcoxon_p(mixed) == pytest.approx(wilcoxon_p(values))


@given(samples)
def test_swapping_arms_leaves_p_and_mirrors_the_rest(values: list[float]) -> None:
    swapped = [-value for value in values]
    assert wilcoxon_p(swapped) == pytest.approx(wilcoxon_p(values))
    assert hodges_lehmann(swapped) == -hodges_lehmann(values)


@given(samples)
def test_interval_holds_the_estimate_and_lies_within_the_data(values: list[float]) -> None:
    interval = signed_rank_interval(values)
    assert min(values) <= interval.low <= hodges_lehmann(values) <= interval.high <= max(values)


@given(samples)
def test_more_confidence_means_a_wider_interval(values: list[float]) -> None:
    narrow, wide = signed_rank_interval(values, 0.8), signed_rank_interval(values, 0.99)
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert wide.confidence >= narrow.confidence


@given(st.lists(st.integers(-(10**6), 10**6).filter(bool), min_size=6, max_size=14, unique_by=abs))
def test_interval_leaves_out_zero_exactly_when_the_test_rejects(values: list[int]) -> None:
    rejects = wilcoxon_p(values) <= 1 - signed_rank_interval(values).confidence + 1e-12
    assert signed_rank_interval(values).excludes_zero() == rejects


@given(samples)
def test_p_is_never_below_what_so_many_pairs_can_give(values: list[float]) -> None:
    assert smallest_p(len(values)) - 1e-12 <= wilcoxon_p(values) <= 1


def test_p_counts_all_signs_by_brute_force() -> None:
    values = [0.5, -1.5, 2.0, 2.0, -3.0, 4.5]
    ranks = [1, 2, 3.5, 3.5, 5, 6]
    observed = abs(sum(math.copysign(rank, value) for rank, value in zip(ranks, values, strict=True)))
    outcomes = [
        abs(sum(sign * rank for sign, rank in zip(signs, ranks, strict=True)))
        for signs in itertools.product((-1, 1), repeat=6)
    ]
    assert wilcoxon_p(values) == sum(outcome >= observed for outcome in outcomes) / 64


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_no_numbers_are_refused(bad: float) -> None:
    for function in (wilcoxon_p, hodges_lehmann, signed_rank_interval):
        with pytest.raises(ValueError, match="finite"):
            function([1.0, bad])


def test_no_pairs_have_no_estimate() -> None:
    for function in (hodges_lehmann, signed_rank_interval):
        with pytest.raises(ValueError, match="at least one pair"):
            function([])


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5])
def test_confidence_must_be_a_probability(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        signed_rank_interval([1.0, 2.0], confidence)


def test_an_interval_must_not_end_before_it_starts() -> None:
    with pytest.raises(ValueError, match="must not end"):
        Interval(2.0, 1.0, 0.95)
