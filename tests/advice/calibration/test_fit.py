"""The fit finds constants again, and what it says of sites that it has not seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mixedsched.advice.calibration._fit import Case, fitted, left_out, log_errors, loss, paints_of
from mixedsched.advice.calibration.session import START
from tests.advice.calibration.measured import PAGE, SCHEMES, TRUTH, case_of, smaller


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [
        case_of(PAGE, TRUTH),
        case_of(smaller(PAGE, 0.5, "half"), TRUTH),
        case_of(smaller(PAGE, 0.2, "fifth"), TRUTH),
    ]


def test_constants_are_found_again_from_paints_alone(cases: list[Case]) -> None:
    found = fitted(cases, START)
    assert found.script_ms_per_kb == pytest.approx(TRUTH.script_ms_per_kb, rel=0.1)
    assert loss(cases, found) < loss(cases, START) / 50
    assert loss(cases, TRUTH) == pytest.approx(0.0, abs=1e-12)


def test_limits_are_no_matter_of_the_fit(cases: list[Case]) -> None:
    found = fitted(cases, START)
    assert replace(found, **{name: getattr(START, name) for name in (
        "document_ms_per_kb", "style_ms_per_kb", "script_ms_per_kb", "decode_ms_per_kb", "paint_ms")}) == START  # fmt: skip


def test_one_paint_that_waits_for_something_else_moves_little(cases: list[Case]) -> None:
    odd = replace(cases[0], lcp_ms={**cases[0].lcp_ms, "eps": cases[0].lcp_ms["eps"] * 5})
    found = fitted([odd, *cases[1:]], START)
    assert found.script_ms_per_kb == pytest.approx(TRUTH.script_ms_per_kb, rel=0.4)


def test_each_site_is_judged_by_a_fit_to_the_others(cases: list[Case]) -> None:
    strange = case_of(smaller(PAGE, 0.4, "strange"), replace(TRUTH, script_ms_per_kb=0.0))
    models = left_out([*cases, strange], START)
    assert models[3] == fitted(cases, START)
    assert models[0] == fitted([*cases[1:], strange], START)


def test_a_single_site_has_no_others_to_be_fitted_to(cases: list[Case]) -> None:
    assert left_out(cases[:1], START) == [START]


def test_errors_are_relative_and_signed(cases: list[Case]) -> None:
    case = cases[0]
    twice = replace(case, lcp_ms={name: value / 2 for name, value in case.lcp_ms.items()})
    assert log_errors(twice, TRUTH) == pytest.approx([0.0, 0.6931471805599453] * len(SCHEMES), abs=1e-9)


def test_schemes_that_could_not_be_played_are_left_out(cases: list[Case]) -> None:
    case = replace(cases[0], times={**cases[0].times, "eps": []})
    assert "eps" not in paints_of(case, TRUTH)
    assert list(paints_of(case, TRUTH)) == [name for name in SCHEMES if name != "eps"]
