"""Rules of Holm's correction, paired dominance, and the estimates of how many blocks it takes."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core import stats
from mixedsched.core.stats import (
    holm,
    minimum_detectable_effect,
    more_pairs_needed,
    paired_shift,
    smallest_deciding_pairs,
    spread,
    wilcoxon_p,
)

chances = st.lists(st.floats(0, 1), max_size=12)


def noise(pairs: int, shift: float, deviation: float, seed: int) -> list[float]:
    rng = random.Random(seed)
    return [rng.gauss(shift, deviation) for _ in range(pairs)]


def test_holm_worked_by_hand() -> None:
    # 0.01 x 4, 0.02 x 3, then 0.03 x 2 is no less than the one before, then 0.04 x 1 rises to it
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_holm_of_one_question_changes_nothing() -> None:
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


@given(chances)
def test_holm_never_lowers_a_p_value_nor_passes_one(values: list[float]) -> None:
    assert all(raw <= adjusted <= 1 for raw, adjusted in zip(values, holm(values), strict=True))


@given(chances)
def test_holm_keeps_the_order_of_p_values(values: list[float]) -> None:
    adjusted = [after for _, after in sorted(zip(values, holm(values), strict=True))]
    assert adjusted == sorted(adjusted)


@given(chances)
def test_holm_is_no_stricter_than_bonferroni(values: list[float]) -> None:
    assert all(
        after <= min(1, before * len(values)) + 1e-12 for before, after in zip(values, holm(values), strict=True)
    )


@given(st.permutations([0.001, 0.01, 0.02, 0.2, 0.9]))
def test_holm_answers_in_the_order_asked(values: list[float]) -> None:
    expected = {0.001: 0.005, 0.01: 0.04, 0.02: 0.06, 0.2: 0.4, 0.9: 0.9}
    assert holm(values) == pytest.approx([expected[value] for value in values])


def test_holm_refuses_what_is_no_probability() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, 1.5])


@pytest.mark.parametrize(("comparisons", "pairs"), [(1, 6), (2, 7), (3, 7), (4, 8), (6, 8), (7, 9), (12, 9)])
def test_smallest_number_of_pairs_with_which_a_family_can_decide(comparisons: int, pairs: int) -> None:
    assert smallest_deciding_pairs(comparisons) == pairs
    one_sided = list(range(1, pairs + 1))
    assert holm([wilcoxon_p(one_sided), *[1.0] * (comparisons - 1)])[0] < stats.ALPHA
    assert holm([wilcoxon_p(one_sided[1:]), *[1.0] * (comparisons - 1)])[0] >= stats.ALPHA


def test_spread_of_normal_noise_is_its_standard_deviation() -> None:
    assert spread(paired_shift(noise(150, 0, 0.05, seed=2))) == pytest.approx(0.05, rel=0.15)
    assert spread(paired_shift([0.3])) == 0


def test_four_times_the_blocks_halve_what_can_be_detected() -> None:
    few, many = (minimum_detectable_effect(paired_shift(noise(pairs, 0, 1, 5))) for pairs in (30, 120))
    assert few is not None
    assert many is not None
    assert many == pytest.approx(few / 2, rel=0.2)


def test_the_detectable_effect_is_found_in_four_of_five_experiments() -> None:
    detectable = minimum_detectable_effect(paired_shift(noise(20, 0, 1, seed=11)))
    assert detectable is not None
    exact = (1.96 + 0.8416) / (20 * 0.955) ** 0.5  # for a standard deviation of exactly 1
    found = sum(wilcoxon_p(noise(20, exact, 1, seed)) < stats.ALPHA for seed in range(400))
    assert found / 400 == pytest.approx(stats.POWER, abs=0.06)
    assert detectable == pytest.approx(exact, rel=0.35)  # 20 pairs know their own noise only so well


def test_too_few_pairs_can_detect_nothing() -> None:
    assert minimum_detectable_effect(paired_shift([1, 2, 3, 4, 5])) is None
    assert minimum_detectable_effect(paired_shift([1, 2, 3, 4, 5, 6]), comparisons=2) is None


def test_a_clear_shift_needs_only_the_least_number_of_pairs() -> None:
    assert (
        more_pairs_needed(paired_shift([-0.5, -0.51, -0.49, -0.5]), margin=0.02) == 2
    )  # 4 of the 6 that one question needs
    assert more_pairs_needed(paired_shift([-0.5, -0.51, -0.49, -0.5]), margin=0.02, comparisons=6) == 4


def test_equal_arms_need_blocks_until_the_interval_fits_the_margin() -> None:
    values = paired_shift(noise(10, 0, 0.03, seed=4))
    wide, narrow = more_pairs_needed(values, margin=0.04), more_pairs_needed(values, margin=0.015)
    assert wide is not None
    assert narrow is not None
    assert wide < narrow


def test_a_shift_on_the_margins_edge_is_decided_by_the_test_and_not_by_the_margin() -> None:
    assert more_pairs_needed(paired_shift([0.9, 1.1, 1.0, 0.95, 1.05]), margin=1.0) == 1


def test_one_pair_says_nothing_of_the_noise() -> None:
    assert more_pairs_needed(paired_shift([0.1]), margin=0.02) is None
    assert more_pairs_needed(paired_shift([]), margin=0.02) is None


@given(st.lists(st.integers(-50, 50).map(float), min_size=2, max_size=30), st.integers(1, 12))
def test_more_blocks_is_a_positive_number_if_it_is_known(values: list[float], comparisons: int) -> None:
    needed = more_pairs_needed(paired_shift(values), margin=5.0, comparisons=comparisons)
    assert needed is None or needed >= 1


def test_estimates_are_rounded_up_to_two_digits() -> None:
    needed = more_pairs_needed(paired_shift(noise(12, 0.002, 0.2, seed=1)), margin=0.001)
    assert needed is not None
    assert needed > 100
    assert len(str(needed).rstrip("0")) <= 2
