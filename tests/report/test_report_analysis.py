"""Rules of the analysis: which blocks count, how effects and verdicts come about, what the JSON holds."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core import stats
from mixedsched.core.metrics import QUICK_METRICS
from mixedsched.errors import UsageError
from mixedsched.lab.analysis import analyse
from mixedsched.lab.comparison import Comparison, Effect, MetricFamily, Verdict
from mixedsched.lab.model import Arm, Plan, Run, RunStatus
from mixedsched.report._words import change_text
from mixedsched.report.compare._words import headline
from tests.examples import examples
from tests.report.made_up_runs import BASE_METRICS, MadeUp, made_up_plan


def measured(
    values: Sequence[tuple[float, float]], metric: str = "lcp_ms", primary: tuple[str, ...] = ("lcp_ms",)
) -> tuple[Plan, list[Run]]:
    """Blocks 1, 2 ... with (baseline, arm) values of one metric; every other metric is the same in both arms."""
    plan = made_up_plan(len(values), ("base", "new"), primary=primary)
    maker = MadeUp(plan)
    runs = [
        maker.run(label, {**BASE_METRICS, metric: value}, block=index)
        for index, pair in enumerate(values, start=1)
        for label, value in zip(("base", "new"), pair, strict=True)
    ]
    return plan, runs


def effect_of(values: Sequence[tuple[float, float]], metric: str = "lcp_ms") -> Effect:
    plan, runs = measured(values, metric, (metric,))
    return analyse(plan, runs).effect("new", metric)


def around(factor: float, blocks: int = 12, noise: float = 0.004) -> list[tuple[float, float]]:
    rng = random.Random(blocks)
    return [(2000.0, 2000.0 * factor * math.exp(rng.gauss(0, noise))) for _ in range(blocks)]


# --- verdicts


def test_a_clear_fall_is_better_and_a_clear_rise_is_worse() -> None:
    assert effect_of(around(0.9)).verdict is Verdict.BETTER
    assert effect_of(around(1.1)).verdict is Verdict.WORSE


def test_an_interval_within_the_margin_is_equivalent() -> None:
    effect = effect_of([(2000.0, 2000.0 + step) for step in (-9, 8, -7, 6, -5, 4, -3, 2, -1, 10)])
    assert effect.verdict is Verdict.EQUIVALENT
    assert effect.more_blocks is None


def test_a_metric_that_is_often_zero_is_equivalent_only_if_nine_of_ten_blocks_are() -> None:
    calm = [(100.0, 100.0)] * 18
    nearly_all = effect_of([*calm, (100.0, 190.0), (190.0, 100.0)], "tbt_ms")
    assert nearly_all.verdict is Verdict.EQUIVALENT
    scattered = effect_of([*calm, *[(100.0, 190.0), (190.0, 100.0)] * 2], "tbt_ms")
    assert scattered.verdict is Verdict.UNDECIDED
    assert scattered.note == "the typical difference is within ±10 ms, but 4 of 22 blocks differ by more"
    assert scattered.more_blocks is None  # they would not lessen the scatter


def test_a_wide_interval_is_undecided_and_says_how_many_more_blocks() -> None:
    effect = effect_of([(2000.0, 2000.0 * factor) for factor in (0.7, 1.3, 0.8, 1.2, 0.85, 1.1, 0.9, 1.15)])
    assert effect.verdict is Verdict.UNDECIDED
    assert effect.more_blocks is not None
    assert effect.more_blocks > 8


def test_five_blocks_decide_nothing_however_clear_and_say_so() -> None:
    effect = effect_of(around(0.5, blocks=5))
    assert effect.verdict is Verdict.UNDECIDED
    assert effect.confidence == 1 - 2 / 2**5
    assert "5 blocks cannot decide anything" in effect.note
    assert effect.more_blocks == 1


def test_six_blocks_decide_one_question_but_not_two() -> None:
    values = around(0.5, blocks=6)
    assert effect_of(values).verdict is Verdict.BETTER
    plan, runs = measured(values, primary=("lcp_ms", "si_ms"))
    comparison = analyse(plan, runs)
    assert comparison.effect("new", "lcp_ms").verdict is Verdict.UNDECIDED
    assert "2 comparisons need at least 7" in comparison.note


def test_a_real_but_tiny_change_is_told_with_the_remark_that_it_does_not_matter() -> None:
    effect = effect_of(around(0.995, blocks=20, noise=0.0005))
    assert effect.verdict is Verdict.BETTER
    assert "within the ±2.0 % that make no difference" in effect.note


def test_holm_spans_metrics_and_arms_of_the_primary_family_only() -> None:
    plan = made_up_plan(10, ("base", "one", "two"), primary=("lcp_ms", "si_ms"))
    comparison = analyse(plan, MadeUp(plan, factors={"one": 0.9}).runs())
    primary = [effect for effect in comparison.effects if effect.family is MetricFamily.PRIMARY]
    assert {(effect.arm, effect.metric.key) for effect in primary} == {
        (arm, metric) for arm in ("one", "two") for metric in ("lcp_ms", "si_ms")
    }
    smallest = min(primary, key=lambda effect: effect.p)
    assert smallest.p_adjusted == pytest.approx(min(1.0, 4 * smallest.p))
    exploratory = [effect for effect in comparison.effects if effect.family is MetricFamily.EXPLORATORY]
    assert len(exploratory) == 10
    assert min(exploratory, key=lambda effect: effect.p).p_adjusted == pytest.approx(10 * min(e.p for e in exploratory))


def test_eight_blocks_can_decide_all_metrics_of_two_arms() -> None:
    """One of them primary: the other six are Holm's second family."""
    plan = made_up_plan(8, ("base", "new"), primary=("lcp_ms",))
    comparison = analyse(plan, MadeUp(plan, factors={"new": 3.0}, noise=0.0).runs())
    assert [effect.metric.key for effect in comparison.effects][-1] == "hol_bytes"
    assert stats.smallest_deciding_pairs(len(comparison.effects) - 1) == 8
    assert all(effect.verdict is Verdict.WORSE for effect in comparison.effects if effect.metric.scale == "ratio")


# --- HOL blocking, which the run measures


def with_hol(run: Run, *hol_bytes: int | None) -> Run:
    return replace(run, quic=tuple(replace(run.quic[0], hol_bytes=item) for item in hol_bytes))


def test_hol_is_added_up_over_the_connections_of_a_run_and_compared_by_difference() -> None:
    plan, runs = measured([(1.0, 1.0)] * 8, primary=("hol_bytes",))
    runs = [with_hol(run, 300_000, 7) if run.arm == "base" else with_hol(run, 100_000, run.block) for run in runs]
    effect = analyse(plan, runs).effect("new", "hol_bytes")
    assert (effect.family, effect.verdict) == (MetricFamily.PRIMARY, Verdict.BETTER)
    assert effect.change == pytest.approx(-200_000, abs=10)
    assert (effect.to_dict()["unit"], effect.to_dict()["margin"]) == ("bytes", 12_000)


def test_a_run_whose_log_cannot_tell_hol_leaves_its_block_out_of_that_metric() -> None:
    plan, runs = measured([(1.0, 1.0)] * 8, primary=("hol_bytes",))
    runs[3] = with_hol(runs[3], 5_000, None)
    effect = analyse(plan, runs).effect("new", "hol_bytes")
    assert effect.blocks == 7
    assert "1 of 8 blocks lack a usable value" in effect.note


def test_runs_of_a_version_that_kept_no_hol_are_not_asked_for_it() -> None:
    plan, runs = measured([(1.0, 2.0)] * 8)
    comparison = analyse(plan, [replace(run, quic=()) for run in runs])
    assert "hol_bytes" not in {effect.metric.key for effect in comparison.effects}
    assert comparison.arms[0].median["hol_bytes"] is None


# --- effects


def test_ratio_metrics_change_by_the_same_per_cent_at_any_size() -> None:
    effect = effect_of([(100.0 * size, 90.0 * size) for size in range(1, 9)])
    assert (effect.change_pct, effect.low_pct, effect.high_pct) == pytest.approx((-10.0, -10.0, -10.0))
    assert effect.dominance == -1


def test_swapping_arms_turns_a_ratio_into_its_inverse() -> None:
    values = around(0.8, noise=0.05)
    there, back = effect_of(values), effect_of([(after, before) for before, after in values])
    assert there.change is not None
    assert back.change is not None
    assert (1 + there.change / 100) * (1 + back.change / 100) == pytest.approx(1)
    assert there.p == pytest.approx(back.p)


def test_difference_metrics_change_in_their_unit_and_relative_to_the_baselines_median() -> None:
    effect = effect_of([(100.0 + place, 120.0 + place) for place in range(9)], "tbt_ms")
    assert (effect.change, effect.metric.change_unit) == (20.0, "ms")
    assert effect.change_pct == pytest.approx(20 / 104 * 100)


def test_a_metric_that_is_always_zero_is_equivalent_with_a_change_of_zero_per_cent() -> None:
    effect = effect_of([(0.0, 0.0)] * 8, "cls")
    assert (effect.verdict, effect.change_pct, effect.low_pct, effect.high_pct, effect.p) == (
        Verdict.EQUIVALENT,
        0,
        0,
        0,
        1,
    )


def test_a_rise_from_nothing_has_no_percentage() -> None:
    effect = effect_of([(0.0, 0.2)] * 8, "cls")
    assert (effect.verdict, effect.change, effect.change_pct) == (Verdict.WORSE, 0.2, None)


@pytest.mark.parametrize("missing", [None, math.nan, 0.0])
def test_blocks_without_a_usable_value_are_left_out_of_that_metric_and_counted(missing: float | None) -> None:
    plan, runs = measured(around(0.9, blocks=10))
    spoiled = {**runs[1].page_load, "metrics": {**runs[1].page_load["metrics"], "lcp_ms": missing}}
    comparison = analyse(plan, [runs[0], replace(runs[1], page_load=spoiled), *runs[2:]])
    effect = comparison.effect("new", "lcp_ms")
    assert (effect.blocks, comparison.complete_blocks) == (9, 10)
    assert "1 of 10 blocks lack a usable value" in effect.note
    assert comparison.effect("new", "si_ms").blocks == 10


# --- blocks


def with_status(run: Run, status: RunStatus, **changes: Any) -> Run:
    return replace(run, status=status, reason="page load timed out", page_load={}, **changes)


def test_a_failed_run_voids_its_attempt_and_the_redo_counts() -> None:
    plan, runs = measured([(100.0, 90.0)] * 7)
    redo = [replace(run, attempt=2) for run in runs[:2]]
    comparison = analyse(plan, [with_status(runs[0], RunStatus.FAILED), *runs[1:], *redo])
    assert comparison.complete_blocks == 7
    assert [(arm.runs, arm.attempted, arm.failed) for arm in comparison.arms] == [(7, 8, 1), (7, 8, 0)]


def test_half_an_attempt_is_not_completed_by_half_of_another() -> None:
    plan, runs = measured([(100.0, 90.0)] * 7)
    torn = [with_status(runs[0], RunStatus.INVALID), runs[1], replace(runs[0], attempt=2)]
    assert analyse(plan, [*torn, *runs[2:]]).complete_blocks == 6


def test_the_last_complete_attempt_counts() -> None:
    plan, runs = measured([(100.0, 90.0)] * 7)
    better = {**runs[1].page_load, "metrics": {**runs[1].page_load["metrics"], "lcp_ms": 50.0}}
    again = [replace(runs[0], attempt=2), replace(runs[1], attempt=2, page_load=better)]
    comparison = analyse(plan, [*again, *runs])
    assert comparison.effect("new", "lcp_ms").differences[0] == (1, pytest.approx(-50.0))


def test_warm_up_blocks_never_count_but_their_failures_do() -> None:
    plan = made_up_plan(7, ("base", "new"))
    runs = MadeUp(plan).runs()
    warm_up = next(run for run in runs if run.block == 0)
    comparison = analyse(plan, [*runs, with_status(warm_up, RunStatus.FAILED, attempt=2)])
    assert (comparison.complete_blocks, comparison.planned_blocks) == (7, 7)
    assert [(item.block, item.warm_up, item.reason) for item in comparison.failures] == [
        (0, True, "page load timed out")
    ]
    assert sum(arm.failed for arm in comparison.arms) == 1


def test_order_of_runs_does_not_matter() -> None:
    plan = made_up_plan(9)
    runs = MadeUp(plan, factors={"mixed": 0.9}).runs()
    shuffled = random.Random(1).sample(runs, len(runs))
    assert analyse(plan, shuffled) == analyse(plan, runs)


def test_no_runs_at_all_give_an_empty_but_complete_answer() -> None:
    comparison = analyse(made_up_plan(5), [])
    assert {effect.verdict for effect in comparison.effects} == {Verdict.UNDECIDED}
    assert (comparison.median_block, comparison.worst_block) == (None, None)
    assert comparison.note == "no block is complete yet"
    assert set(comparison.arms[0].median.values()) == {None}


def test_median_block_is_nearest_to_the_estimate_and_worst_block_least_favourable() -> None:
    falls = (0.70, 0.80, 0.90, 0.905, 0.91, 1.00, 1.30)
    plan, runs = measured([(1000.0, 1000.0 * fall) for fall in falls])
    comparison = analyse(plan, runs)
    change = comparison.effect("new", "lcp_ms").change
    assert change is not None
    nearest = min(range(7), key=lambda place: abs((falls[place] - 1) * 100 - change)) + 1
    assert comparison.median_block is not None
    assert comparison.worst_block is not None
    assert (comparison.median_block.block, comparison.worst_block.block) == (nearest, 7)


def test_baseline_comes_first_whatever_the_plans_order() -> None:
    plan = replace(made_up_plan(6, ("a", "b", "c")), baseline="b")
    comparison = analyse(plan, MadeUp(plan).runs())
    assert [arm.label for arm in comparison.arms] == ["b", "a", "c"]
    assert {effect.baseline for effect in comparison.effects} == {"b"}


def test_unknown_baseline_and_unknown_metric_are_refused() -> None:
    plan = made_up_plan(2)
    with pytest.raises(ValueError, match="not an arm of the plan"):
        analyse(replace(plan, baseline="nobody"), [])
    with pytest.raises(UsageError, match="no metric 'lpc'"):
        analyse(replace(plan, primary=("lpc",)), [])


# --- the JSON contract


def json_of(comparison: Comparison) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(json.dumps(comparison.to_dict("out/report.html"), allow_nan=False))
    return decoded


def test_json_has_the_keys_of_the_contract() -> None:
    plan = replace(made_up_plan(8), arms=(Arm("round-robin", "rr"), Arm("mixed", "mixed:high_media=N", "gupta")))
    told = json_of(analyse(plan, MadeUp(plan, factors={"mixed": 0.9}).runs()))
    assert (told["site"], told["link"], told["report"]) == ("made-up shop", "sander-loss2", "out/report.html")
    assert {"scheme", "runs", "failed", "median"} <= set(told["arms"][0])
    assert set(told["arms"][0]["median"]) == {
        *("fcp_ms", "lcp_ms", "tbt_ms", "si_ms", "cls", "tti_ms"),
        "hol_bytes",
        "score",
    }
    contract = {"scheme", "baseline", "metric", "change_pct", "ci_low_pct", "ci_high_pct", "p", "verdict"}
    assert all(contract <= set(effect) for effect in told["effects"])
    assert [(arm["scheme"], arm["runs"], arm["failed"]) for arm in told["arms"]] == [
        ("rr", 8, 0),
        ("mixed:high_media=N", 8, 0),
    ]
    first = told["effects"][0]
    assert (first["scheme"], first["baseline"], first["metric"]) == ("mixed:high_media=N", "rr", "lcp_ms")
    assert first["ci_low_pct"] <= first["change_pct"] <= first["ci_high_pct"] < 0


def test_metrics_that_were_not_asked_for_are_null_and_have_no_effect() -> None:
    plan = replace(made_up_plan(8), metrics=QUICK_METRICS)
    told = json_of(analyse(plan, MadeUp(plan).runs()))
    assert [key for key, value in told["arms"][0]["median"].items() if value is None] == ["tti_ms", "score"]
    assert {effect["metric"] for effect in told["effects"]} == {*QUICK_METRICS, "hol_bytes"}


def test_the_score_is_told_for_each_arm_and_null_for_runs_stored_without_it() -> None:
    plan = made_up_plan(8)
    runs = MadeUp(plan).runs()
    assert {arm["median"]["score"] for arm in json_of(analyse(plan, runs))["arms"]} == {None}
    scored = [replace(run, page_load={**run.page_load, "score": 80 + run.block}) for run in runs]
    assert [arm["median"]["score"] for arm in json_of(analyse(plan, scored))["arms"]] == [84.5, 84.5]


@pytest.mark.parametrize("spoil", [lambda runs: [], lambda runs: runs[:1], lambda runs: runs[:4]])
def test_json_never_holds_nan(spoil: Callable[[list[Run]], list[Run]]) -> None:
    plan, runs = measured([(0.0, 0.0)] * 4, "cls")
    json_of(analyse(plan, spoil(runs)))


def test_a_single_block_has_a_change_but_no_interval() -> None:
    effect = effect_of([(1000.0, 1187.0)])
    assert effect.change == pytest.approx(18.7)
    assert (effect.low, effect.high, effect.low_pct, effect.high_pct) == (None, None, None, None)
    assert effect.verdict is Verdict.UNDECIDED
    assert change_text(effect) == "+18.7 % (no interval)"
    assert "best guess 18.7 % later" in headline(effect)


def test_an_interval_below_95_percent_says_so() -> None:
    effect = effect_of([(1000.0, 1100.0), (1000.0, 1120.0), (1000.0, 1150.0)])
    assert "(75 %: +10.0 % to +15.0 %)" in change_text(effect)


positive: st.SearchStrategy[float] = st.floats(1.0, 1e5)
# Of values without any order hardly a comparison is decided: others differ by a factor, nearly.
anyhow = st.lists(st.tuples(positive, positive), min_size=2, max_size=12)
alike = st.lists(st.tuples(positive, st.floats(0.995, 1.005)), min_size=8, max_size=12)
by_a_factor = st.builds(
    lambda pairs, factor: [(value, value * nearly * factor) for value, nearly in pairs],
    alike,
    st.sampled_from([0.5, 1.0, 2.0]),
)


@examples(40)
@given(anyhow | by_a_factor)
def test_interval_holds_the_change_and_the_verdict_agrees_with_it(values: list[tuple[float, float]]) -> None:
    effect = effect_of(values)
    assert effect.low is not None
    assert effect.change is not None
    assert effect.high is not None
    assert effect.low <= effect.change <= effect.high
    match effect.verdict:
        case Verdict.BETTER:
            assert effect.high < 0
        case Verdict.WORSE:
            assert effect.low > 0
        case Verdict.EQUIVALENT:
            assert max(-effect.low, effect.high) <= effect.metric.change_margin
        case Verdict.UNDECIDED:
            assert effect.low <= 0 <= effect.high or effect.blocks < 6 or effect.p_adjusted >= 0.05


def bare_runs(plan: Plan, metrics_of: Callable[[random.Random], Mapping[str, float]], seed: int) -> list[Run]:
    """Runs with metrics only, quick enough for hundreds of experiments."""
    rng = random.Random(seed)
    return [
        Run(block.index, 1, label, place, RunStatus.OK, page_load={"metrics": metrics_of(rng)})
        for block in plan.blocks
        for place, label in enumerate(block.order)
    ]


def test_an_arm_compared_with_itself_is_hardly_ever_better_or_worse() -> None:
    plan = made_up_plan(14, ("same", "same again", "and again"), primary=("lcp_ms", "si_ms"))

    def noisy(rng: random.Random) -> dict[str, float]:
        return {key: base * math.exp(rng.gauss(0, 0.05)) for key, base in BASE_METRICS.items()}

    false_alarms = 0
    for seed in range(200):
        effects = analyse(plan, bare_runs(plan, noisy, seed)).effects
        primary = [effect for effect in effects if effect.family is MetricFamily.PRIMARY]
        false_alarms += any(effect.verdict in (Verdict.BETTER, Verdict.WORSE) for effect in primary)
    # Holm promises at most 5 % of experiments; 200 of them stay below 8 % nearly always.
    assert false_alarms <= 16
