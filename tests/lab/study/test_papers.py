"""The papers' figures: medians of unpaired loads, a rank test at their level, sites beyond their bounds, Spearman per site."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, spearmanr

from mixedsched.lab.study.papers import MedianDifference, PaperFigures, SitesCurve, paper_figures
from mixedsched.lab.study.results import StudyResult
from tests.lab.study.made_up_study import ARMS, MadeUpStudy, load, made_up_definition

SITES = ("shop", "blog", "news", "wiki")
FACTORS = {"mixed": 0.8, ("wiki", "mixed"): 1.4, ("news", "mixed"): 0.97}


def result_of(values: Mapping[tuple[str, str], Sequence[float]], other: Sequence[float] = ()) -> StudyResult:
    """Of one link. values: SI by site and arm, one a block. other: HOL bytes of all of them."""
    sites = list(dict.fromkeys(site for site, _ in values))
    made = MadeUpStudy(made_up_definition(primary=["si"], arms=["sequential", "mixed"]), sites)
    return made.result(
        load(place, block, arm, {"si_ms": value, **({"hol_bytes": other[block - 1]} if other else {})})
        for place in made.places
        for arm in ("sequential", "mixed")
        for block, value in enumerate(values[place.site, arm], start=1)
    )


def only(figures: PaperFigures) -> MedianDifference:
    (found,) = figures.differences
    return found


def test_a_difference_is_that_of_the_medians_in_per_cent_of_the_baselines() -> None:
    found = only(paper_figures(result_of({("shop", "sequential"): [100, 200, 900], ("shop", "mixed"): [150, 10, 400]})))
    assert (found.baseline_median, found.median, found.change_pct) == (200, 150, pytest.approx(-25))
    assert (found.loads, found.baseline_loads) == (3, 3)


@pytest.mark.parametrize(("baseline", "mixed", "change"), [(0, 0, 0.0), (0, 5, math.inf), (5, 0, -100.0)])
def test_a_median_of_nothing_against_nothing_is_no_change(baseline: float, mixed: float, change: float) -> None:
    figures = paper_figures(result_of({("shop", "sequential"): [baseline] * 3, ("shop", "mixed"): [mixed] * 3}))
    assert only(figures).change_pct == change
    json.dumps(figures.to_dict(), allow_nan=False)


@given(
    st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=12), min_size=1, max_size=5).map(
        lambda rows: [row + row[::-1] for row in rows]
    )
)
def test_each_p_is_that_of_scipy_for_that_site_alone(rows: list[list[int]]) -> None:
    half = {n: len(row) // 2 for n, row in enumerate(rows)}
    values = {(f"s{n}", arm): row[: half[n]] if arm == "sequential" else [3 * x - 20 for x in row[half[n] :]]
              for n, row in enumerate(rows) for arm in ("sequential", "mixed")}  # fmt: skip
    for found in paper_figures(result_of(values)).differences:
        alone = mannwhitneyu(values[found.site, "mixed"], values[found.site, "sequential"]).pvalue
        assert found.p == pytest.approx(1.0 if math.isnan(alone) else alone)


def test_significance_is_by_the_level_alone() -> None:
    result = result_of({("shop", "sequential"): [1, 2, 3, 4, 5], ("shop", "mixed"): [6, 7, 8, 9, 10]})
    assert only(paper_figures(result)).p == pytest.approx(2 / 252)
    assert not only(paper_figures(result)).is_significant
    assert only(paper_figures(result, level=0.01)).is_significant


def test_sites_are_counted_beyond_the_bounds_and_those_beyond_chance_apart() -> None:
    figures = paper_figures(MadeUpStudy(made_up_definition(), SITES, factors=FACTORS).result())
    curve = figures.curve("lcp_ms", "4g", "mixed")
    assert curve is not None
    assert (curve.better(5.0), curve.worse(5.0), curve.worse(25.0), curve.better(25.0)) == (2, 1, 1, 0)
    assert curve.better(0.0) >= curve.better(0.0, significant=True)
    told = curve.to_dict((5.0, 25.0))
    assert [item["bound_pct"] for item in told["beyond"]] == [5.0, 25.0]
    assert (told["beyond"][0]["better"], told["beyond"][1]["worse"]) == (2, 1)


def test_the_curve_rises_from_the_best_site_to_all_of_them() -> None:
    curve = paper_figures(MadeUpStudy(made_up_definition(), SITES, factors=FACTORS).result()).curves[0]
    changes, shares, _ = zip(*curve.points, strict=True)
    assert list(changes) == sorted(changes)
    assert list(shares) == [0.25, 0.5, 0.75, 1.0]


def test_another_arm_may_be_the_baseline() -> None:
    figures = paper_figures(MadeUpStudy(made_up_definition(), SITES).result(), baseline="eps")
    assert {item.scheme for item in figures.curves} == set(ARMS) - {"eps"}


def test_correlations_are_within_a_site_over_all_schemes_but_the_baseline() -> None:
    made = MadeUpStudy(made_up_definition(), SITES, ("4g", "dsl"), factors=FACTORS)
    result = made.result()
    figures = paper_figures(result, ["lcp_ms"], by_scheme=True)
    assert len(figures.correlations) == len(SITES) * 2 * 3  # together, and each of the two others
    assert {item.keys for item in figures.correlations} == {("lcp_ms", "hol_bytes")}  # there is no loss rate
    found = figures.correlations[0]
    place = result.places[0]
    lcp, hol = ([*place.row(1, key), *place.row(2, key)] for key in ("lcp_ms", "hol_bytes"))
    assert (found.site, found.scheme, found.loads) == ("shop", None, 20)
    assert found.rho == pytest.approx(spearmanr(lcp, hol).statistic)


def test_what_never_changes_correlates_with_nothing() -> None:
    result = result_of({("shop", "sequential"): [1, 2, 3], ("shop", "mixed"): [4, 5, 6]}, other=[7, 7, 7])
    assert [item.rho for item in paper_figures(result).correlations] == [None]


def test_a_study_without_loads_has_no_figures_and_a_value_that_does_not_exist_is_refused() -> None:
    result = MadeUpStudy(made_up_definition()).result([])
    figures = paper_figures(result)
    assert (figures.differences, figures.curves, figures.correlations) == ((), (), ())
    with pytest.raises(ValueError, match="no value 'speed'"):
        paper_figures(result, ["speed"])


def test_an_infinite_change_lies_beyond_every_bound() -> None:
    worse = MedianDifference("shop", "4g", "mixed", "sequential", "cls", 3, 3, 0.1, 0.0, 0.01, 0.005)
    assert SitesCurve("4g", "mixed", "cls", (worse,)).worse(25.0) == 1
