"""Why a tuning ends as it does: the number that was seen, and how much room the network leaves."""

from __future__ import annotations

import pytest

from mixedsched.advice.tuner._proof import Proof
from mixedsched.advice.tuner._reasons import (
    Room,
    confirmed_reason,
    nothing_reason,
    simulated_reason,
    unconfirmed_reason,
)
from mixedsched.advice.tuner._search import SearchResult
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.objective import parse_objective
from mixedsched.advice.tuner.result import Scored
from mixedsched.core.metrics.paint import PaintEstimate
from tests.advice.tuner.proofs import TUNED, compared, contenders

LCP = parse_objective("lcp", "mobile")
BOUNDS = {"slow": PaintEstimate(500, 2000, 900)}


def scored(lcp_ms: float) -> Scored:
    return Scored(Candidate("eps"), 0.0, 0.0, {"slow": PaintEstimate(500, lcp_ms, 900)})


def room(eps_ms: float) -> Room:
    return Room(LCP, "eps", scored(eps_ms), BOUNDS)


def reason(tuned: float, blocks: int = 6) -> str:
    comparisons = {"slow": compared({TUNED: {"lcp_ms": tuned}, "sequential": {}, "eps": {}}, blocks)}
    judged = Proof(comparisons, contenders(), "eps", LCP.weights).judged()
    if judged.is_confirmed:
        return confirmed_reason(judged, room(2400), scored(2040))
    return unconfirmed_reason(comparisons, judged, room(2400))


def test_a_gain_is_told_with_its_interval_and_with_what_the_network_leaves() -> None:
    told = reason(0.8)
    assert told.startswith(("LCP is 20", "LCP is 19"))
    assert "% lower than with eps over slow (9" in told
    assert (
        "6 blocks). In simulation, LCP with eps over slow is 2.40 s, 20 % above the earliest that this network allows"
        in told
    )
    assert told.endswith("(2.00 s), and 2 % once tuned.")


@pytest.mark.parametrize(
    ("tuned", "blocks", "why"),
    [(0.8, 5, "5 complete blocks prove nothing, at least 6 are needed"), (1.0, 8, "no difference"), (1.2, 8, "harm")],
)
def test_what_is_not_confirmed_says_why_and_how_much_room_there_was(tuned: float, blocks: int, why: str) -> None:
    told = reason(tuned, blocks)
    assert why in told
    assert told.endswith("20 % above the earliest that this network allows (2.00 s).")


def test_a_baseline_that_is_as_good_is_named_and_no_more_blocks_are_promised() -> None:
    comparisons = {"slow": compared({TUNED: {"lcp_ms": 0.8}, "sequential": {"lcp_ms": 0.8}, "eps": {}})}
    told = unconfirmed_reason(comparisons, Proof(comparisons, contenders(), "eps", LCP.weights).judged(), room(2400))
    assert "; but it is not shown to be better than sequential over slow." in told
    assert "chance" not in told


@pytest.mark.parametrize(("eps_ms", "is_near"), [(2000, True), (2090, True), (2200, False)])
def test_next_to_the_bound_there_is_nothing_to_gain(eps_ms: float, is_near: bool) -> None:
    assert room(eps_ms).is_used_up == is_near
    nothing = SearchResult(rungs=(), best=(), baselines={"eps": scored(eps_ms)}, best_baseline="eps")
    told = nothing_reason(nothing, room(eps_ms))
    assert told.startswith("No order can be better than eps by 0.5 %, so none was searched for.")


@pytest.mark.parametrize(("tuned_ms", "change"), [(2040, "−15.0"), (2448, "+2.0")])
def test_only_the_number_of_a_simulated_change_gets_a_minus_sign_and_names_stay_as_they_are(
    tuned_ms: float, change: str
) -> None:
    """Over one network of several a candidate may be worse."""
    times = {"slow-4g": PaintEstimate(500, 2400, 900)}
    baseline = Scored(Candidate("eps"), 0.0, 0.0, times)
    winner = Scored(Candidate("eps"), 0.0, 0.0, {"slow-4g": PaintEstimate(500, tuned_ms, 900)})
    told = simulated_reason(winner, Room(LCP, "zero-weight", baseline, {}))
    assert told.startswith(f"Simulated only: LCP {change} % against zero-weight over slow-4g.")
