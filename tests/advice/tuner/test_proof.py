"""The proof: better than every baseline and harmless, or not confirmed; with few false claims whatever is asked."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from mixedsched.advice.changes.change import Action, Change
from mixedsched.advice.tuner._proof import WEIGHTED, Judgement, Proof, Remains, decision_metric, effect_between
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.result import Contender, HtmlLine, Role
from mixedsched.lab.comparison import Comparison, Verdict
from tests.advice.tuner.proofs import HEADERS, TUNED, Times, compared, contenders

LCP = {"lcp_ms": 1.0}


def judge(comparisons: Mapping[str, Comparison], arms: Sequence[Contender], best: str) -> Judgement:
    return Proof(comparisons, arms, best, LCP).judged()


def test_six_blocks_confirm_a_clear_gain_over_all_baselines() -> None:
    found = judge({"slow": compared({TUNED: {"lcp_ms": 0.8}, "sequential": {}, "eps": {}})}, contenders(), "eps")
    assert found.is_confirmed
    (effect,) = found.effects["slow"]
    assert effect.verdict is Verdict.BETTER
    assert effect.change == pytest.approx(-20, abs=1)
    assert effect.low is not None
    assert effect.low < -19 < -15


def test_beating_the_best_baseline_of_the_race_is_not_enough_if_another_one_is_as_good() -> None:
    arms = {TUNED: {"lcp_ms": 0.8}, "sequential": {"lcp_ms": 0.8}, "eps": {}}
    assert not judge({"slow": compared(arms)}, contenders(), "eps").is_confirmed


def test_five_blocks_confirm_nothing() -> None:
    arms = {TUNED: {"lcp_ms": 0.5}, "sequential": {}, "eps": {}}
    assert not judge({"slow": compared(arms, blocks=5)}, contenders(), "eps").is_confirmed


def test_two_networks_need_a_block_more() -> None:
    arms = {TUNED: {"lcp_ms": 0.5}, "sequential": {}, "eps": {}}
    for blocks, is_confirmed in ((6, False), (7, True)):
        both = {"slow": compared(arms, blocks), "lossy": compared(arms, blocks, seed=2)}
        assert judge(both, contenders(), "eps").is_confirmed is is_confirmed


def test_blocks_that_would_decide_are_told_for_all_networks_together() -> None:
    arms = {TUNED: {"lcp_ms": 0.5}, "sequential": {}, "eps": {}}
    alone = judge({"slow": compared(arms, 5)}, contenders(), "eps").effects["slow"][0]
    both = {"slow": compared(arms, 5), "lossy": compared(arms, 5, seed=2)}
    assert alone.more_blocks == 1
    assert {effects[0].more_blocks for effects in judge(both, contenders(), "eps").effects.values()} == {2}


def test_a_gain_on_one_network_and_a_loss_on_another_is_not_confirmed() -> None:
    better = compared({TUNED: {"lcp_ms": 0.8}, "sequential": {}, "eps": {}}, 8)
    worse = compared({TUNED: {"lcp_ms": 1.1}, "sequential": {}, "eps": {}}, 8)
    found = judge({"slow": better, "lossy": worse}, contenders(), "eps")
    assert not found.is_confirmed
    assert re.match(r"on lossy it is (9|1[01])\.\d % slower than eps", found.harm)


def test_a_first_paint_that_is_later_than_under_sequential_delivery_forbids_it() -> None:
    arms = {TUNED: {"lcp_ms": 0.8, "fcp_ms": 1.05}, "sequential": {}, "eps": {"fcp_ms": 1.2}}
    found = judge({"slow": compared(arms)}, contenders(), "eps")
    assert not found.is_confirmed
    assert re.match(r"on slow its FCP is [456]\.\d % later", found.harm)
    nearly = compared({**arms, TUNED: {"lcp_ms": 0.8, "fcp_ms": 1.015}})
    assert judge({"slow": nearly}, contenders(), "eps").is_confirmed


def test_headers_are_asked_about_only_after_the_winner_is_confirmed() -> None:
    arms = {TUNED: {"lcp_ms": 0.8}, "sequential": {}, "eps": {}, HEADERS: {"lcp_ms": 0.85}}
    found = judge({"slow": compared(arms)}, contenders(HEADERS), "eps")
    assert [item.verdict for item in found.effects["slow"]] == [Verdict.BETTER, Verdict.BETTER]
    arms = {**arms, TUNED: {}}
    found = judge({"slow": compared(arms)}, contenders(HEADERS), "eps")
    assert Verdict.BETTER not in {item.verdict for item in found.effects["slow"]}


def test_headers_are_not_asked_about_where_another_baseline_is_better_than_the_winner() -> None:
    arms = {TUNED: {"lcp_ms": 0.9}, "sequential": {"lcp_ms": 0.8}, "eps": {}, HEADERS: {"lcp_ms": 0.85}}
    found = judge({"slow": compared(arms)}, contenders(HEADERS), "eps")
    assert Verdict.BETTER not in {item.verdict for item in found.effects["slow"]}
    assert found.unbeaten == {"slow": "sequential"}


OWN = (
    Contender(TUNED, Role.TUNED, Candidate("server-quic-go"), on="@caddy"),
    Contender("@caddy", Role.BASELINE, Candidate("server-quic-go"), on="@caddy"),
    Contender("html", Role.HTML, Candidate("server-quic-go"), on="@caddy"),
)


@pytest.mark.parametrize(("fcp", "is_confirmed"), [(1.05, False), (1.015, True)])
def test_on_a_server_that_one_keeps_the_first_paint_is_guarded_by_the_page_as_it_is(
    fcp: float, is_confirmed: bool
) -> None:
    comparison = compared({TUNED: {"lcp_ms": 0.8, "fcp_ms": fcp}, "@caddy": {}, "html": {}})
    found = judge({"slow": comparison}, OWN, "@caddy")
    assert found.is_confirmed == is_confirmed
    assert is_confirmed or re.match(r"on slow its FCP is [456]\.\d % later than with @caddy", found.harm)


def test_on_a_server_that_one_keeps_no_part_of_what_was_proved_is_withheld() -> None:
    proof = Proof(
        {"slow": compared({TUNED: {"lcp_ms": 0.8}, "@caddy": {}, "html": {"lcp_ms": 1.1}}, 8)}, OWN, "@caddy", LCP
    )
    left = proof.remains(proof.judged(), 1)
    assert left.withheld == {}
    assert left.kept_pct[Role.HTML]["slow"] < 0


def redrawn(comparison: Comparison, rng: random.Random) -> Comparison:
    """The same blocks with other times: of noise alone."""
    arms = [
        replace(
            arm,
            values={
                key: tuple(1000 * math.exp(rng.gauss(0, 0.2)) for _ in column) for key, column in arm.values.items()
            },
        )
        for arm in comparison.arms
    ]
    return replace(comparison, arms=tuple(arms))


def test_noise_is_rarely_confirmed() -> None:
    rng = random.Random(5)
    comparison = compared({TUNED: {}, "sequential": {}, HEADERS: {}}, 7)
    only = [item for item in contenders(HEADERS) if item.label != "eps"]
    confirmed = 0
    for _ in range(120):
        found = judge({"slow": redrawn(comparison, rng)}, only, "sequential")
        confirmed += any(item.verdict is Verdict.BETTER for item in found.effects["slow"])
    assert confirmed <= 8  # of 120 at 2.5 % at most; more have a chance below one in a hundred


def test_several_metrics_are_decided_on_by_their_weights() -> None:
    comparison = compared({TUNED: {"lcp_ms": 0.5, "fcp_ms": 2.0}, "sequential": {}})
    halves = effect_between(comparison, TUNED, "sequential", {"fcp_ms": 0.5, "lcp_ms": 0.5})
    assert halves.metric is WEIGHTED
    assert halves.change == pytest.approx(0, abs=2)
    mostly = effect_between(comparison, TUNED, "sequential", {"fcp_ms": 0.25, "lcp_ms": 0.75})
    assert mostly.change == pytest.approx((0.5**0.5 - 1) * 100, abs=2)
    assert decision_metric({"fcp_ms": 1.0}).key == "fcp_ms"


def test_one_metric_is_decided_on_as_the_comparison_does() -> None:
    comparison = compared({"sequential": {}, TUNED: {"lcp_ms": 0.9}}, 9, noise=0.04)
    ours, theirs = effect_between(comparison, TUNED, "sequential", LCP), comparison.effect(TUNED, "lcp_ms")
    assert (ours.change, ours.low, ours.high) == pytest.approx((theirs.change, theirs.low, theirs.high))
    assert (ours.p, ours.verdict, ours.confidence, ours.blocks) == (
        theirs.p,
        theirs.verdict,
        theirs.confidence,
        theirs.blocks,
    )


def test_what_remains_of_the_gain_is_told_with_an_interval() -> None:
    comparison = compared({TUNED: {"lcp_ms": 0.8}, "sequential": {}, HEADERS: {"lcp_ms": 0.9}}, 8)
    found = Proof({"slow": comparison}, contenders(HEADERS), "sequential", LCP).kept("slow", HEADERS, seed=1)
    assert found is not None
    share, low, high = found
    assert share == pytest.approx(47, abs=5)  # log 0.9 / log 0.8
    assert low < share < high
    assert high - low < 15


def test_nothing_remains_of_no_gain() -> None:
    comparison = compared({TUNED: {"lcp_ms": 1.1}, "sequential": {}, HEADERS: {"lcp_ms": 0.9}}, 8)
    assert Proof({"slow": comparison}, contenders(HEADERS), "sequential", LCP).kept("slow", HEADERS, seed=1) is None


# What loads say of headers and lines of HTML alone: what they keep of the gain, and that nothing harmful is shipped

HURRY = Change(Action.HEADER, ((0, "/hero.jpg"),), "the largest paint", "u=0, i=?0")
PRELOAD = Change(Action.PRELOAD, ((0, "/hero.jpg"),), "found late")


def found(finalists: tuple[Contender, ...], best: str = "eps", **arms: Times) -> Remains:
    comparisons = {"slow": compared({TUNED: {"lcp_ms": 0.8}, "sequential": {}, "eps": {}, **arms}, 8)}
    proof = Proof(comparisons, finalists, best, LCP)
    return proof.remains(proof.judged(), 1)


def test_headers_keep_a_share_of_the_gain() -> None:
    left = found(contenders(HEADERS), headers={"lcp_ms": 0.9})
    assert left.kept_pct[Role.HEADERS]["slow"] == pytest.approx(47, abs=5)
    low, high = left.kept_range_pct[Role.HEADERS]["slow"]
    assert low < left.kept_pct[Role.HEADERS]["slow"] < high
    assert left.withheld == {}


def test_headers_that_were_loaded_as_the_winner_keep_all_of_it() -> None:
    winner, *others = contenders()
    left = found((replace(winner, changes=(HURRY,)), *others))
    assert left.kept_pct == {Role.HEADERS: {"slow": 100.0}}
    assert (left.kept_range_pct, left.withheld) == ({}, {})


def test_headers_that_harm_are_withheld_although_simulation_likes_them() -> None:
    left = found(contenders(HEADERS), headers={"lcp_ms": 1.1})
    assert re.fullmatch(r"on slow it is (9|10)\.\d % slower than eps", left.withheld[Role.HEADERS])


def test_headers_that_gain_at_the_cost_of_the_first_paint_are_withheld() -> None:
    left = found(contenders(HEADERS), headers={"lcp_ms": 0.85, "fcp_ms": 1.1})
    assert "later than under sequential delivery" in left.withheld[Role.HEADERS]


def test_headers_that_gain_nothing_are_withheld() -> None:
    left = found(contenders(HEADERS), headers={"lcp_ms": 1.004})
    assert left.withheld[Role.HEADERS].startswith("measured, it gains nothing: LCP is +0.")


def test_lines_of_html_are_judged_alike() -> None:
    left = found(contenders(HEADERS, "html"), headers={"lcp_ms": 0.85}, html={"lcp_ms": 1.2})
    assert list(left.withheld) == [Role.HTML]


def test_each_line_is_told_with_what_its_own_arm_shows() -> None:
    finalists = tuple(
        replace(item, changes=(PRELOAD,)) if item.role is Role.HTML else item for item in contenders("html")
    )
    comparisons = {"slow": compared({TUNED: {"lcp_ms": 0.8}, "sequential": {}, "eps": {}, "html": {"lcp_ms": 0.9}}, 8)}
    lines = [HtmlLine(PRELOAD, {}), HtmlLine(HURRY, {})]
    alone, not_alone = Proof(comparisons, finalists, "eps", LCP).measured(lines)
    change, low, high = alone.measured_pct["slow"]
    assert low < change < high < 0
    assert change == pytest.approx(-10, abs=1)
    assert (alone.measured, not_alone.measured, not_alone.measured_pct) == ("html", None, {})
