"""From runs to verdicts: which blocks count, paired effects, Holm's families, and the blocks worth looking at. Pure."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mixedsched.core import stats
from mixedsched.core.metrics import METRICS, Metric, metric_named
from mixedsched.lab._effects import LEFT_OUT, BlockValues, Judged, Pairs, Shown, effects_of, note_on_blocks
from mixedsched.lab.comparison import (
    SCORE,
    ArmSummary,
    BlockChoice,
    Comparison,
    Effect,
    Failure,
    MetricFamily,
    Verdict,
    finite_or_none,
)
from mixedsched.lab.model import Arm, Plan, Run, RunStatus

__all__ = ["analyse", "in_family", "paired_effect"]

# A block that counts: its runs by arm label.
CompleteBlocks = Mapping[int, Mapping[str, Run]]


def analyse(plan: Plan, runs: Sequence[Run]) -> Comparison:
    """Say what the runs of a plan show so far; any order, any number of attempts, any gaps.

    A block counts when one attempt has an ok run of every arm; the last such attempt is taken. Warm-up blocks never count,
    though their failures are reported. Raises UsageError for an unknown primary metric, ValueError for an unknown baseline.
    """
    primary = tuple(metric_named(name) for name in plan.primary) or METRICS[:1]
    arms = _baseline_first(plan)
    warm_up = frozenset(block.index for block in plan.blocks if block.warm_up)
    counted = [block.index for block in plan.blocks if not block.warm_up]
    complete = _complete_blocks(counted, [arm.label for arm in arms], runs)
    table = _table(plan, arms, primary, complete)
    effects = effects_of(table, looks=plan.looks)
    family_size = len(primary) * max(1, len(arms) - 1)
    headline = [effect for effect in effects if effect.metric is primary[0]]
    return Comparison(
        plan=plan,
        arms=tuple(_summary(plan, arm, complete, runs) for arm in arms),
        effects=effects,
        block_indices=tuple(complete),
        planned_blocks=len(counted),
        failures=_failures(runs, warm_up),
        median_block=_choice(complete, _distances_from_estimate(headline), smallest=True),
        worst_block=_choice(complete, _least_favourable(headline), smallest=False),
        note=note_on_blocks(len(complete), family_size, plan.looks),
    )


def paired_effect(baseline: ArmSummary, arm: ArmSummary, metric: Metric, steps: Mapping[int, float]) -> Effect:
    """The effect of an arm in a ratio metric, as the only question that is asked. steps: logarithms of the ratios, by block."""
    values = np.array(list(steps.values()))
    pairs = Pairs(stats.paired_shift(values), values, np.empty(0), 0)
    shown = Shown(pairs.shift.interval, pairs.shift.p, pairs.shift.p)
    judged = Judged(metric, MetricFamily.PRIMARY, 1, pairs, shown)
    return replace(judged.effect(baseline, arm, list(steps)), note="")


def in_family(effect: Effect, p_adjusted: float, size: int, *, is_shown: bool) -> Effect:
    """The effect in a ratio metric as one of so many questions that share an error rate, with its p adjusted to all of them.

    is_shown: whether better or worse may still be said of it; else it is undecided, or equivalent.
    """
    verdict, metric, shift = effect.verdict, effect.metric, stats.paired_shift(effect.steps)
    if not is_shown and verdict in {Verdict.BETTER, Verdict.WORSE}:
        verdict = Verdict.EQUIVALENT if metric.is_within_margin(effect.low, effect.high) else Verdict.UNDECIDED
    detectable = stats.minimum_detectable_effect(shift, size)
    return replace(
        effect,
        p_adjusted=p_adjusted,
        detectable=metric.change(detectable) if detectable is not None else None,
        verdict=verdict,
        more_blocks=stats.more_pairs_needed(shift, metric.margin_step, size) if verdict is Verdict.UNDECIDED else None,
        note=_note_in_family(effect, verdict, size),
    )


def _note_in_family(effect: Effect, verdict: Verdict, size: int) -> str:
    """What still holds of the note: not that a change is real, and not always that so many blocks can decide."""
    if verdict is effect.verdict and verdict is not Verdict.UNDECIDED:
        return effect.note
    parts = effect.note.split("; ") if effect.note else []
    too_few = note_on_blocks(effect.blocks, size) if parts and verdict is Verdict.UNDECIDED else ""
    return "; ".join(filter(None, [*(part for part in parts if part.endswith(LEFT_OUT)), too_few]))


def _baseline_first(plan: Plan) -> list[Arm]:
    baseline = [arm for arm in plan.arms if arm.label == plan.baseline]
    if not baseline:
        raise ValueError(f"baseline {plan.baseline!r} is not an arm of the plan")
    return baseline + [arm for arm in plan.arms if arm.label != plan.baseline]


def _complete_blocks(counted: Sequence[int], labels: Sequence[str], runs: Sequence[Run]) -> CompleteBlocks:
    attempts: dict[tuple[int, int], dict[str, Run]] = {}
    for run in runs:
        if run.status is RunStatus.OK:
            attempts.setdefault((run.block, run.attempt), {})[run.arm] = run
    complete: dict[int, dict[str, Run]] = {}
    for (block, _attempt), by_arm in sorted(attempts.items()):  # a later attempt replaces an earlier one
        if all(label in by_arm for label in labels):
            complete[block] = by_arm
    return {block: complete[block] for block in counted if block in complete}


def _table(plan: Plan, arms: Sequence[Arm], primary: Sequence[Metric], complete: CompleteBlocks) -> BlockValues:
    """The primary metrics and all others asked for, but those of the run's connections only if a run has them: an earlier
    version kept none.
    """
    rest = [metric for metric in METRICS if metric not in primary and plan.asks_for(metric)]
    runs = [run for by_arm in complete.values() for run in by_arm.values()]
    metrics = [
        *primary,
        *(item for item in rest if item.source == "page" or not runs or any(_has(run, item) for run in runs)),
    ]
    values = [
        [[_value(by_arm[arm.label], metric) for by_arm in complete.values()] for metric in metrics] for arm in arms
    ]
    numbers = np.array(values, dtype=np.float64)  # None becomes NaN
    return BlockValues(arms, metrics, len(primary), tuple(complete), numbers)


def _has(run: Run, metric: Metric) -> bool:
    return _value(run, metric) is not None


def _value(run: Run, metric: Metric) -> float | None:
    """The metric of a run; None where it was not measured."""
    return finite_or_none(run.value(metric))


def _summary(plan: Plan, arm: Arm, complete: CompleteBlocks, runs: Sequence[Run]) -> ArmSummary:
    loads = [by_arm[arm.label] for by_arm in complete.values()]
    values = {
        item.key: tuple(_value(run, item) if plan.asks_for(item) else None for run in loads) for item in METRICS
    } | {SCORE: tuple(run.score for run in loads)}
    present = {key: [value for value in column if value is not None] for key, column in values.items()}
    mine = [run for run in runs if run.arm == arm.label]
    return ArmSummary(
        label=arm.label,
        scheme=arm.scheme,
        mapping=arm.mapping,
        runs=len(complete),
        attempted=len(mine),
        failed=sum(run.status is not RunStatus.OK for run in mine),
        values=values,
        median={key: statistics.median(column) if column else None for key, column in present.items()},
    )


def _failures(runs: Sequence[Run], warm_up: frozenset[int]) -> tuple[Failure, ...]:
    bad = [run for run in runs if run.status is not RunStatus.OK]
    return tuple(
        Failure(run.block, run.attempt, run.arm, run.status.value, run.reason, run.block in warm_up)
        for run in sorted(bad, key=lambda run: (run.block, run.attempt, run.position, run.arm))
    )


def _distances_from_estimate(headline: Sequence[Effect]) -> dict[int, float]:
    """By block: how far its changes are from the estimates, summed over the arms."""
    distances: dict[int, float] = {}
    for effect in headline:
        for block, change in effect.differences:
            distances[block] = distances.get(block, 0.0) + abs(change - (effect.change or 0.0))
    return distances


def _least_favourable(headline: Sequence[Effect]) -> dict[int, float]:
    """By block: the largest rise of the metric that any arm shows in it."""
    rises: dict[int, float] = {}
    for effect in headline:
        for block, change in effect.differences:
            rises[block] = max(rises.get(block, -math.inf), change)
    return rises


def _choice(complete: CompleteBlocks, scores: Mapping[int, float], *, smallest: bool) -> BlockChoice | None:
    """The block with the smallest or largest score; the earliest of equals. Without scores: the first complete block."""
    candidates = sorted(scores) or sorted(complete)
    if not candidates:
        return None
    sign = 1 if smallest else -1
    block = min(candidates, key=lambda index: (sign * scores.get(index, 0.0), index))
    return BlockChoice(block, next(iter(complete[block].values())).attempt)
