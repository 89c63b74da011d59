"""A row of a matrix gives what the functions of one sample give: shift, interval, p, dominance."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.stats import (
    EXACT_PAIRS_MAX,
    PairedShift,
    hodges_lehmann,
    paired_shift,
    paired_shifts,
    signed_rank_interval,
    walsh_averages,
    wilcoxon_p,
)
from tests.examples import examples

# Few different values, so that ties and zeros are common, and any values.
steps = st.one_of(st.integers(-3, 3).map(float), st.floats(-5, 5, allow_subnormal=False))
rows_with_gaps = st.integers(1, 12).flatmap(
    lambda pairs: st.lists(
        st.lists(st.one_of(steps, st.just(math.nan)), min_size=pairs, max_size=pairs), min_size=1, max_size=8
    )
)


def one_by_one(differences: list[float]) -> PairedShift:
    return PairedShift(
        len(differences),
        hodges_lehmann(differences),
        signed_rank_interval(differences),
        wilcoxon_p(differences),
        statistics.mean((value > 0) - (value < 0) for value in differences if math.isfinite(value)),
    )


def is_equal(found: PairedShift, expected: PairedShift) -> bool:
    return (found.pairs, found.shift, found.interval) == (expected.pairs, expected.shift, expected.interval) and (
        (found.p, found.dominance) == pytest.approx((expected.p, expected.dominance), rel=1e-9)
    )


@given(rows_with_gaps)
def test_each_row_gives_what_it_gives_alone(rows: list[list[float]]) -> None:
    for row, found in zip(rows, paired_shifts(np.array(rows)), strict=True):
        values = [value for value in row if not math.isnan(value)]
        assert is_equal(found, one_by_one(values)) if values else found.pairs == 0


@given(st.integers(EXACT_PAIRS_MAX - 2, EXACT_PAIRS_MAX + 3), st.integers(0, 2**32 - 1), st.booleans())
@examples(10)
def test_long_rows_too_where_the_exact_distribution_ends(pairs: int, seed: int, is_tied: bool) -> None:
    values = np.random.default_rng(seed).normal(0.1, 1, pairs)
    row = np.round(values) if is_tied else values
    assert is_equal(paired_shift(row), one_by_one(row.tolist()))


def test_rows_whose_averages_are_not_all_held_too() -> None:
    rows = np.random.default_rng(3).normal(0.1, 1, (2, 2001))
    for row, found in zip(rows, paired_shifts(rows), strict=True):
        assert is_equal(found, one_by_one(row.tolist()))
        assert found.shift == np.median(walsh_averages(row))


def test_rows_that_never_differ_decide_nothing() -> None:
    assert paired_shift([0.0] * 8).p == 1
    assert paired_shift([0.0] * (EXACT_PAIRS_MAX + 1)).p == 1


def test_without_pairs_nothing_is_known() -> None:
    nothing = paired_shift([])
    assert (nothing.pairs, nothing.p, nothing.interval.confidence) == (0, 1, 0)
    assert (nothing.interval.low, nothing.interval.high) == (-math.inf, math.inf)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_sample_must_be_finite(value: float) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        paired_shift([1.0, value])
