"""What people may ask for, and what a candidate's paints are worth then."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.objective import Scorer, parse_objective, score
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.errors import MixedschedError, UsageError
from tests.advice.tuner.pages import shop

REFERENCE = PaintEstimate(1000.0, 2000.0, 1500.0)

paints = st.builds(PaintEstimate, st.floats(1, 1e5), st.floats(1, 1e5), st.floats(1, 1e5))


def test_a_metric_alone_has_all_the_weight() -> None:
    assert parse_objective("lcp", "mobile").weights == {"lcp_ms": 1.0}
    assert parse_objective("FCP", "mobile").primary == "fcp_ms"


def test_the_score_is_understood_in_any_spelling_as_metrics_are() -> None:
    assert parse_objective("Score", "mobile") == parse_objective("score", "mobile")


def test_own_weights_become_one_together() -> None:
    objective = parse_objective("fcp=1, lcp=3", "mobile")
    assert objective.weights == {"fcp_ms": 0.25, "lcp_ms": 0.75}
    assert objective.primary == "lcp_ms"


@pytest.mark.parametrize("text", ["tbt", "cls", "tti", "lcp,tbt"])
def test_what_simulation_cannot_know_is_refused_with_what_it_can(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_objective(text, "mobile")
    assert "fcp, lcp, si" in str(refused.value)


@pytest.mark.parametrize(
    "text", ["", ",", "speed", "lcp=0", "lcp=-1", "lcp=nan", "lcp=inf", "lcp=x", "lcp=1,lcp=2", "score,lcp"]
)
def test_what_is_no_objective_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_objective(text, "mobile")


def test_the_score_goes_through_lighthouses_control_points() -> None:
    assert score(2500, 2500, 4000) == pytest.approx(0.9, abs=1e-6)
    assert score(4000, 2500, 4000) == pytest.approx(0.5, abs=1e-6)
    assert score(0, 2500, 4000) == 1


@given(paints)
def test_the_reference_is_worth_nothing_and_twice_as_long_is_the_logarithm_of_two(item: PaintEstimate) -> None:
    objective = parse_objective("lcp", "mobile")
    assert objective.value(item, item) == 0
    later = PaintEstimate(item.fcp_ms, 2 * item.lcp_ms, item.si_ms)
    assert objective.value(later, item) == pytest.approx(math.log(2))


@given(
    paints,
    st.sampled_from(["fcp_ms", "lcp_ms", "si_ms"]),
    st.floats(1.01, 5),
    st.sampled_from(["lcp", "score", "fcp=1,si=2"]),
)
def test_later_is_never_better(item: PaintEstimate, key: str, factor: float, text: str) -> None:
    objective = parse_objective(text, "desktop")
    later = PaintEstimate(**{**item.to_dict(), key: item.to_dict()[key] * factor})
    assert objective.value(later, REFERENCE) >= objective.value(item, REFERENCE)
    assert objective.guard(later, REFERENCE) >= objective.guard(item, REFERENCE)


def test_a_gain_in_largest_paint_may_not_be_paid_with_the_first() -> None:
    objective = parse_objective("lcp", "mobile")
    paid = PaintEstimate(1200.0, 1900.0, 1500.0)
    assert objective.value(paid, REFERENCE) < 0
    assert objective.value(paid, REFERENCE) + objective.guard(paid, REFERENCE) > 0


def scorer(baselines: dict[str, tuple[PaintEstimate | None, ...]], text: str = "lcp") -> Scorer:
    by_label = {label: (paints,) for label, paints in baselines.items()}
    return Scorer.of(parse_objective(text, "mobile"), (shop(),), 0.002, ("slow",), by_label)


def test_the_best_baseline_is_the_reference_and_sequential_the_guard() -> None:
    best = PaintEstimate(1500.0, 1800.0, 1600.0)
    found = scorer({"sequential": (PaintEstimate(1000.0, 2500.0, 2000.0),), "eps": (best,)})
    assert found.references == ((best,),)
    assert found.limits[0][0].fcp_ms == 1000.0


def test_each_seed_is_compared_with_itself() -> None:
    seeds = (PaintEstimate(100.0, 200.0, 150.0), PaintEstimate(1000.0, 2000.0, 1500.0))
    halves = tuple(PaintEstimate(item.fcp_ms, item.lcp_ms / 2, item.si_ms) for item in seeds)
    assert scorer({"eps": seeds}).value((halves,)) == pytest.approx(math.log(0.5))


def test_a_load_that_never_ends_leaves_no_score() -> None:
    found = scorer({"eps": (REFERENCE,), "stock": (None,)})
    assert found.scored(Candidate("stock"), ((None,),)) is None


def test_a_network_on_which_nothing_ends_is_told() -> None:
    with pytest.raises(MixedschedError, match="no load of the page ever ends over slow"):
        scorer({"eps": (None,), "stock": (None,)})


def test_departures_cost_the_penalty() -> None:
    scored = scorer({"eps": (REFERENCE,)}).scored(Candidate("sequential"), ((REFERENCE,),))
    assert scored is not None
    assert scored.penalty == pytest.approx(0.004)
    assert scored.score == pytest.approx(scored.penalty)
