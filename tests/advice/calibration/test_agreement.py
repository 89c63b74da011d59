"""Rank agreement, ties, and whether there is a ranking to agree with."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.calibration.agreement import Noise, pooled_noise, rank_agreement, ranking_of, tied

MEASURED = {"a": 1000.0, "b": 1200.0, "c": 1500.0, "d": 1900.0}
positive = st.floats(1.0, 1e5, allow_nan=False)


def test_the_same_order_agrees_fully_whatever_the_sizes() -> None:
    assert rank_agreement(MEASURED, {"a": 1.0, "b": 2.0, "c": 2.5, "d": 90.0}) == pytest.approx(1.0)


def test_the_opposite_order_disagrees_fully() -> None:
    assert rank_agreement(MEASURED, {name: -value for name, value in MEASURED.items()}) == pytest.approx(-1.0)


def test_equal_values_share_the_middle_of_their_ranks() -> None:
    # ranks 1 2 3 4 against 1 2.5 2.5 4: covariance 4.5, variances 5 and 4.5
    found = rank_agreement(MEASURED, {"a": 1.0, "b": 2.0, "c": 2.0, "d": 3.0})
    assert found == pytest.approx(4.5 / math.sqrt(5 * 4.5))


def test_only_schemes_that_both_have_count() -> None:
    assert rank_agreement({**MEASURED, "e": 1.0}, {**MEASURED, "f": 9.0}) == pytest.approx(1.0)


@pytest.mark.parametrize("simulated", [{"a": 5.0, "b": 5.0, "c": 5.0, "d": 5.0}, {"a": 1.0, "b": 2.0}])
def test_without_an_order_there_is_no_agreement_and_none_is_made_up(simulated: dict[str, float]) -> None:
    assert rank_agreement(MEASURED, simulated) is None


def test_near_values_count_as_equal_where_ties_are_allowed() -> None:
    near = {"a": 100.0, "b": 100.4, "c": 200.0}
    swapped = {"a": 100.4, "b": 100.0, "c": 200.0}
    assert rank_agreement(near, swapped) == pytest.approx(0.5)
    assert rank_agreement(near, swapped, 0.005) == pytest.approx(1.0)


def test_chains_of_near_values_are_no_single_group() -> None:
    assert tied([1000.0, 1004.0, 1008.0, 1013.0], 0.005) == [1000.0, 1000.0, 1008.0, 1008.0]


@given(st.lists(positive, max_size=12), st.floats(0.0, 0.1))
def test_ties_keep_the_order_and_move_nothing_by_more_than_the_ratio(values: list[float], ratio: float) -> None:
    grouped = tied(values, ratio)
    assert sorted(grouped) == [pair[1] for pair in sorted(zip(values, grouped, strict=True))]
    assert all(low <= value <= low * (1 + ratio) for value, low in zip(values, grouped, strict=True))


@given(st.dictionaries(st.sampled_from("abcdefgh"), positive, min_size=3), st.floats(0.1, 10.0))
def test_agreement_knows_ranks_only(values: dict[str, float], factor: float) -> None:
    other = {name: factor * value for name, value in values.items()}
    found = rank_agreement(values, other)
    assert found is None if len(set(values.values())) < 2 else found == pytest.approx(1.0, abs=0.1)


def noisy(levels: dict[str, float], noise: float, blocks: int, seed: int) -> dict[str, list[tuple[str, float]]]:
    rng = random.Random(seed)
    shifts = [math.exp(rng.gauss(0, 0.2)) for _ in range(blocks)]
    return {
        name: [(f"{block}", level * shifts[block] * math.exp(rng.gauss(0, noise))) for block in range(blocks)]
        for name, level in levels.items()
    }


def test_schemes_that_differ_by_more_than_noise_have_a_ranking() -> None:
    ranking = ranking_of(noisy(MEASURED, 0.02, 4, 1))
    assert ranking.has_ranking
    assert ranking.noise_ratio == pytest.approx(0.02, rel=0.5)
    assert ranking.reliability is not None
    assert ranking.reliability > 0.9


def test_what_a_block_does_to_all_is_no_noise_of_schemes() -> None:
    values = {name: [("1", level), ("2", level * 3), ("3", level * 0.5)] for name, level in MEASURED.items()}
    ranking = ranking_of(values)
    assert ranking.has_ranking
    assert ranking.noise_ratio == pytest.approx(0.0, abs=1e-9)


def test_schemes_that_are_all_the_same_have_a_ranking_as_seldom_as_the_test_allows() -> None:
    same = dict.fromkeys(MEASURED, 1000.0)
    found = sum(ranking_of(noisy(same, 0.05, 3, seed)).has_ranking for seed in range(60))
    assert 1 <= found <= 9  # of 60 at 5 %: 3 are expected, more than 9 come with a chance of 1 in 1000


def test_gaps_in_blocks_are_borne() -> None:
    values = noisy(MEASURED, 0.01, 4, 1)
    values["a"] = values["a"][1:]
    values["d"] = values["d"][:3]
    assert ranking_of(values).has_ranking


def test_a_single_load_each_tells_of_no_ranking() -> None:
    ranking = ranking_of({name: [("1", level)] for name, level in MEASURED.items()})
    assert (ranking.p, ranking.has_ranking, ranking.reliability) == (None, False, None)
    assert ranking.spread_ratio == pytest.approx(0.9)


def test_without_repeats_the_noise_of_other_sites_decides() -> None:
    single = {name: [("1", level)] for name, level in MEASURED.items()}
    repeated = noisy(MEASURED, 0.02, 4, 1)
    noise = pooled_noise([single, repeated])
    assert noise == pooled_noise([repeated])
    assert ranking_of(single, noise).has_ranking
    near = {name: [("1", 1000 + level / 100)] for name, level in MEASURED.items()}
    assert not ranking_of(near, noise).has_ranking
    assert ranking_of(repeated, Noise(9.0, 9)) == ranking_of(repeated)  # its own, where it has some
