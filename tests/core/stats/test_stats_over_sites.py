"""Rules of resampling over sites, and of regret."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.stats import RESAMPLES, regrets, resampled_median, resampled_regrets, resamples

changes = st.lists(st.floats(-100, 100), min_size=6, max_size=40)


@given(changes, st.integers(0, 1000))
def test_the_interval_is_that_of_the_medians_of_drawn_samples(values: list[float], seed: int) -> None:
    drawn = np.median(np.array(sorted(values))[resamples(len(values), seed)], axis=1)
    interval = resampled_median(values, seed)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))


@given(changes, st.randoms(use_true_random=False))
def test_the_order_of_sites_does_not_matter(values: list[float], rng: random.Random) -> None:
    assert resampled_median(rng.sample(values, len(values)), 1) == resampled_median(values, 1)


def test_five_sites_cannot_be_sure_enough_of_their_median() -> None:
    assert resampled_median([1.0, 2.0, 3.0, 4.0, 5.0], 1) is None


def test_the_interval_holds_the_true_median_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    intervals = [resampled_median(rng.normal(0, 1, 25).tolist(), 1) for _ in range(400)]
    held = sum(item is not None and item.low <= 0 <= item.high for item in intervals) / len(intervals)
    assert held == pytest.approx(0.95, abs=0.04)


def test_regret_is_the_distance_to_the_best_of_each_place() -> None:
    found = regrets(np.array([[1.0, 3.0, math.nan], [5.0, 4.0, 4.0]]))
    assert found[0].tolist()[:2] == [0, 2]
    assert math.isnan(found[0, 2])
    assert found[1].tolist() == [1, 0, 0]


def test_drawn_sites_bring_all_their_places_along() -> None:
    by_site = [np.array([[0.0], [0.0], [0.0]]), np.array([[8.0]])]
    drawn = np.array([[0, 1], [1, 1], [0, 0]])
    assert resampled_regrets(by_site, drawn).ravel().tolist() == [2.0, 8.0, 0.0]
    assert resampled_regrets(by_site, drawn, worst=True).ravel().tolist() == [8.0, 8.0, 0.0]


def test_resamples_are_seeded() -> None:
    assert resamples(7, 3).shape == (RESAMPLES, 7)
    assert (resamples(7, 3) == resamples(7, 3)).all()
    assert (resamples(7, 3) != resamples(7, 4)).any()
