"""Intervals of one sample: they hold what they claim, and agree with published tables."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.stats import mean_interval, median_interval, share_interval


def test_a_share_agrees_with_the_tables_of_clopper_and_pearson() -> None:
    found = share_interval(4, 20)  # 5.7 % .. 43.7 %, in every textbook
    assert (found.low, found.high) == (pytest.approx(0.0573, abs=1e-4), pytest.approx(0.4366, abs=1e-4))


def test_no_hit_still_has_an_upper_end_the_rule_of_three() -> None:
    found = share_interval(0, 1000, confidence=0.90)
    assert (found.low, found.high) == (0.0, pytest.approx(3 / 1000, rel=0.01))


@pytest.mark.parametrize(("hits", "trials"), [(0, 0), (5, 5), (0, 5)])
def test_a_share_of_nothing_or_all_is_an_interval_too(hits: int, trials: int) -> None:
    found = share_interval(hits, trials)
    assert found.low == 0.0 if hits == 0 else found.low > 0.3
    assert found.high == 1.0 if hits == trials else found.high < 0.6


def test_hits_beyond_the_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="hits must be"):
        share_interval(3, 2)


@given(hits=st.integers(0, 400), more=st.integers(0, 400))
def test_a_share_lies_within_its_interval_and_more_confidence_is_wider(hits: int, more: int) -> None:
    narrow, wide = share_interval(hits, hits + more, 0.95), share_interval(hits, hits + more, 0.999)
    if hits + more:
        assert narrow.low <= hits / (hits + more) <= narrow.high
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


def test_a_median_is_held_by_the_order_statistics_of_the_binomial() -> None:
    found = median_interval(range(1, 21))  # of 20 values the 6th and the 15th: 95.86 %
    assert (found.low, found.high, round(found.confidence, 4)) == (6, 15, 0.9586)


def test_few_values_say_how_little_they_know() -> None:
    assert median_interval([3.0]).confidence == 0
    found = median_interval([1.0, 2.0, 9.0])
    assert (found.low, found.high, found.confidence) == (1.0, 9.0, pytest.approx(0.75))


def test_the_interval_of_a_median_holds_it_as_often_as_it_says() -> None:
    rng = random.Random(1)
    held = 0
    for _ in range(2000):
        found = median_interval([rng.expovariate(1.0) for _ in range(51)])
        held += found.low <= 0.693147 <= found.high
    assert 0.94 < held / 2000 < 0.985  # 95.1 % at least, as ranks are whole


def test_a_mean_is_held_after_student() -> None:
    found = mean_interval([9.0, 10.0, 11.0])  # t = 4.303, s = 1
    assert (found.low, found.high) == (pytest.approx(10 - 4.303 / 3**0.5, abs=1e-3), pytest.approx(12.484, abs=1e-3))
    with pytest.raises(ValueError, match="at least two"):
        mean_interval([1.0])
