"""Rules of the ByteIndex: the area above the curve of completed bytes."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.metrics.byte_index import byte_index_ms

weights = st.integers(0, 10**9)
moments_ms = st.integers(0, 60_000_000).map(lambda us: us / 1000)
completions = st.lists(st.tuples(weights, moments_ms), min_size=1, max_size=30)
intervals_ms = st.integers(1, 1_000_000).map(lambda us: us / 1000)


def share_complete(pairs: list[tuple[int, float]], at_ms: float) -> float:
    return sum(weight for weight, done_ms in pairs if done_ms <= at_ms) / sum(weight for weight, _ in pairs)


def area_above(pairs: list[tuple[int, float]]) -> float:
    """The integral of 1 - x(t), step by step from one completion to the next."""
    edges = sorted({0.0, *(done_ms for _, done_ms in pairs)})
    return math.fsum((1 - share_complete(pairs, left)) * (right - left) for left, right in itertools.pairwise(edges))


@given(completions.filter(lambda pairs: any(weight for weight, _ in pairs)))
def test_it_is_the_area_above_the_curve(pairs: list[tuple[int, float]]) -> None:
    assert byte_index_ms(pairs) == pytest.approx(area_above(pairs), rel=1e-9, abs=1e-6)


@given(completions.filter(lambda pairs: any(weight for weight, _ in pairs)), st.integers(50, 5000))
def test_sampled_it_is_the_sum_over_samples(pairs: list[tuple[int, float]], sample_ms: int) -> None:
    last = math.ceil(max(done_ms for _, done_ms in pairs) / sample_ms)
    summed = math.fsum(sample_ms * (1 - share_complete(pairs, k * sample_ms)) for k in range(last + 1))
    assert byte_index_ms(pairs, sample_ms) == pytest.approx(summed, rel=1e-9, abs=1e-6)


@given(completions, intervals_ms)
def test_sampling_adds_less_than_one_interval(pairs: list[tuple[int, float]], sample_ms: float) -> None:
    added_ms = byte_index_ms(pairs, sample_ms) - byte_index_ms(pairs)
    assert -1e-6 <= added_ms < sample_ms + 1e-6


@given(completions, st.randoms(use_true_random=False))
def test_the_order_of_resources_does_not_matter(pairs: list[tuple[int, float]], chance: random.Random) -> None:
    shuffled = list(pairs)
    chance.shuffle(shuffled)
    assert byte_index_ms(shuffled) == byte_index_ms(pairs)


@given(completions)
def test_it_lies_between_the_first_and_the_last_completion(pairs: list[tuple[int, float]]) -> None:
    moments = [done_ms for _, done_ms in pairs]
    assert min(moments) - 1e-6 <= byte_index_ms(pairs) <= max(moments) + 1e-6


def test_two_resources_count_by_their_bytes() -> None:
    assert byte_index_ms([(3000, 100.0), (1000, 900.0)]) == 300.0


def test_equal_weights_give_the_mean_time_to_completion() -> None:
    assert byte_index_ms([(1, 100.0), (1, 200.0), (1, 600.0)]) == 300.0


def test_responses_without_bytes_weigh_nothing_beside_others() -> None:
    assert byte_index_ms([(1000, 100.0), (0, 9000.0)]) == 100.0


def test_where_nothing_has_bytes_each_resource_counts_the_same() -> None:
    assert byte_index_ms([(0, 100.0), (0, 300.0)]) == 200.0


def test_complete_at_the_moment_of_a_sample_counts_as_complete() -> None:
    assert byte_index_ms([(1, 300.0)], 100) == 300.0  # missing at 0, 100 and 200
    assert byte_index_ms([(1, 300.001)], 100) == 400.0
    assert byte_index_ms([(1, 0.0)], 100) == 0.0


def test_multiples_of_an_interval_are_met_although_floats_miss_them() -> None:
    for tenths in range(1, 200):
        for end_ms in (math.fsum([0.1] * tenths), tenths * 0.1):
            assert byte_index_ms([(1, end_ms)], 0.1) == pytest.approx(tenths / 10, abs=1e-9), tenths


def test_an_empty_set_has_no_index() -> None:
    with pytest.raises(ValueError, match="at least one resource"):
        byte_index_ms([])


@pytest.mark.parametrize("sample_ms", [0, -100, 1e-9])
def test_an_interval_of_nothing_is_refused(sample_ms: float) -> None:
    with pytest.raises(ValueError, match="sample interval"):
        byte_index_ms([(1, 1.0)], sample_ms)
