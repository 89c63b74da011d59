"""The rule of docs/reproductions.md."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.report.papers.markdown import number
from mixedsched.report.papers.verdicts import (
    NEAR_ZERO_POINTS,
    SITES_LEAST,
    TOLERANCE_POINTS,
    ClaimVerdict,
    Finding,
    PaperClaim,
    Statement,
    over_sites,
)

HOLDS, IN_PART, FAILS, OPEN = (ClaimVerdict.HOLDS, ClaimVerdict.IN_PART, ClaimVerdict.FAILS, ClaimVerdict.OPEN)


def found(low: float, high: float, sites: int = SITES_LEAST) -> Finding:
    return Finding((low + high) / 2, low, high, sites)


def direction(low: float, high: float, sign: int = 1, near_zero: float = 1.0, sites: int = SITES_LEAST) -> Statement:
    return Statement("change", {"pages": found(low, high, sites)}, sign, near_zero)


def claim(*statements: Statement, **more: object) -> PaperClaim:
    return PaperClaim("F0-0", "something", "-", statements, **more)  # type: ignore[arg-type]


YES, NO, PERHAPS = direction(1, 9), direction(-9, -1), direction(-9, 9)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.1, 9, HOLDS),
        (-9, -0.1, FAILS),
        (-0.9, 0.9, FAILS),  # surely too small to matter
        (0.2, 0.9, FAILS),  # though surely not zero
        (0, 0, FAILS),
        (-0.1, 9, OPEN),
        (-9, 0.1, OPEN),
        (-9, 9, OPEN),
        (math.nan, math.nan, OPEN),
        (-math.inf, math.inf, OPEN),
    ],
)
def test_a_direction_holds_where_its_whole_interval_is_on_the_claimed_side(
    low: float, high: float, verdict: ClaimVerdict
) -> None:
    assert direction(low, high).verdict is verdict
    assert direction(-high, -low, sign=-1).verdict is verdict


def test_a_share_of_sites_that_is_surely_below_five_points_does_not_matter() -> None:
    assert direction(1, NEAR_ZERO_POINTS, near_zero=NEAR_ZERO_POINTS).verdict is FAILS
    assert direction(1, NEAR_ZERO_POINTS + 1, near_zero=NEAR_ZERO_POINTS).verdict is HOLDS


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(20, 45, HOLDS), (31, 45, FAILS), (10, 29, FAILS), (5, 60, OPEN), (30, 30, HOLDS)]
)
def test_a_number_holds_if_it_lies_in_an_interval_that_is_narrow_enough(
    low: float, high: float, verdict: ClaimVerdict
) -> None:
    share = Statement("share", {"pages": found(low, high)}, published=30.0, tolerance=TOLERANCE_POINTS)
    assert share.verdict is verdict


def test_other_numbers_may_be_known_to_a_third_of_what_is_published() -> None:
    assert Statement("gain", {"pages": found(16, 34)}, published=27.0).verdict is HOLDS
    assert Statement("gain", {"pages": found(16, 35)}, published=27.0).verdict is OPEN


def test_too_few_sites_decide_nothing() -> None:
    assert direction(1, 9, sites=SITES_LEAST - 1).verdict is OPEN


def test_collections_of_pages_that_decide_nothing_do_not_count_and_those_that_contradict_each_other_are_in_part() -> (
    None
):
    def of(*intervals: tuple[float, float]) -> ClaimVerdict:
        return Statement("change", {str(number): found(*item) for number, item in enumerate(intervals)}).verdict

    assert of((1, 9), (-9, 9)) is HOLDS
    assert of((1, 9), (2, 3)) is HOLDS
    assert of((-9, -1), (-9, 9)) is FAILS
    assert of((1, 9), (-9, -1)) is IN_PART
    assert of((-9, 9), (-8, 8)) is OPEN
    assert of() is OPEN


@pytest.mark.parametrize(
    ("statements", "verdict"),
    [
        ([YES, YES], HOLDS),
        ([NO, NO], FAILS),
        ([NO, PERHAPS], FAILS),
        ([PERHAPS, PERHAPS], OPEN),
        ([YES, NO], IN_PART),
        ([YES, PERHAPS], IN_PART),
        ([], OPEN),
    ],
)
def test_a_claim_holds_if_all_that_it_says_holds_and_fails_if_nothing_does(
    statements: list[Statement], verdict: ClaimVerdict
) -> None:
    assert claim(*statements).verdict is verdict


def test_a_claim_fails_only_if_it_does_under_every_reading() -> None:
    assert claim(NO, readings={"other": [NO]}).verdict is FAILS
    assert claim(NO, readings={"other": [NO], "third": [PERHAPS]}).verdict is IN_PART
    assert claim(YES, readings={"other": [NO]}).verdict is HOLDS


def test_nothing_is_called_refuted_without_what_differs_from_the_paper() -> None:
    assert claim(NO, differs="the sender paces").words == "does not hold; the sender paces"
    assert claim(YES, differs="the sender paces").words == "holds"


def test_where_the_difference_is_the_papers_own_mechanism_nothing_is_refuted_at_all() -> None:
    assert claim(NO, differs="the sender paces", is_mechanism=True).words == "not decidable here; the sender paces"


def test_guesses_and_unfinished_studies_are_marked() -> None:
    assert claim(YES, is_first_guess=True, is_partial=True).words == "holds so far (first guess)"
    assert claim(PERHAPS, is_first_guess=True, is_partial=True).words == "not decidable here"


# numbers in tables


@pytest.mark.parametrize(
    ("value", "unit", "told"),
    [
        (4.16, "%", "+4.2 %"),
        (-31.4, "%", "-31 %"),
        (0.344, "", "+0.34"),
        (0.0, "%", "0.0 %"),
        (-0.04, "%", "0.0 %"),
        (0.04, "%", "0.0 %"),
        (-0.06, "%", "-0.1 %"),
        (-0.004, "", "0.00"),
        (math.nan, "%", "-"),
    ],
)
def test_numbers_have_a_sign_unless_they_are_rounded_to_nothing(value: float, unit: str, told: str) -> None:
    assert number(value, unit) == told


# over sites


def test_twins_count_once_with_their_mean() -> None:
    values = {f"site{number}": 1.0 for number in range(7)} | {"a-mobile": 2.0, "a-desktop": 4.0}
    finding = over_sites(values, np.mean, lambda site: site.partition("-")[0])
    assert finding.units == 8
    assert finding.value == pytest.approx((7 + 3) / 8)


def test_values_that_are_missing_are_left_out() -> None:
    assert over_sites({"a": math.nan, "b": 2.0}).units == 1
    assert over_sites({"a": math.nan}).units == 0


@given(st.dictionaries(st.text(max_size=3), st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_the_interval_holds_the_median_and_lies_within_the_values(values: dict[str, float]) -> None:
    finding = over_sites(values)
    assert min(values.values()) <= finding.low <= finding.high <= max(values.values())
    assert finding.low - 1e-9 <= finding.value <= finding.high + 1e-9
    assert over_sites(dict(reversed(values.items()))) == finding
