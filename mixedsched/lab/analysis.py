"""From runs to verdicts: which blocks count, paired effects, Holm's families, and the blocks worth looking at. Pure."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mixedsched.core import stats
from mixedsched.core.metrics import METRICS, Metric, metric_named
from mixedsched.lab.comparison import (
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

__all__ = ["analyse", "paired_effect"]

# Of the blocks, how many must lie within the margin themselves for `equivalent`, where zeros may hide the others.
EQUIVALENT_BLOCKS_RATIO = 0.9

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
    effects = _effects(arms, primary, _exploratory(primary, complete), complete)
    family_size = len(primary) * max(1, len(arms) - 1)
    headline = [effect for effect in effects if effect.metric is primary[0]]
    return Comparison(
        plan=plan,
        arms=tuple(_summary(arm, complete, runs) for arm in arms),
        effects=effects,
        block_indices=tuple(complete),
        planned_blocks=len(counted),
        failures=_failures(runs, warm_up),
        median_block=_choice(complete, _distances_from_estimate(headline), smallest=True),
        worst_block=_choice(complete, _least_favourable(headline), smallest=False),
        note=_note_on_blocks(len(complete), family_size),
    )


def paired_effect(baseline: ArmSummary, arm: ArmSummary, metric: Metric, steps: Mapping[int, float]) -> Effect:
    """The effect of an arm in a ratio metric, as the only question that is asked. steps: logarithms of the ratios, by block."""
    pairs = _Pairs(tuple(steps), (), (), tuple(steps.values()), 0)
    p = stats.wilcoxon_p(pairs.steps)
    return replace(_effect(baseline, arm, metric, MetricFamily.PRIMARY, 1, pairs, p, p), note="")


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


def _value(run: Run, metric: Metric) -> float | None:
    """The metric of a run; None where it was not measured."""
    return finite_or_none(run.value(metric))


def _summary(arm: Arm, complete: CompleteBlocks, runs: Sequence[Run]) -> ArmSummary:
    values = {item.key: tuple(_value(by_arm[arm.label], item) for by_arm in complete.values()) for item in METRICS}
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


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The blocks in which both arms have a metric. steps: paired differences on the scale that is tested."""

    blocks: tuple[int, ...]
    baseline: tuple[float, ...]
    arm: tuple[float, ...]
    steps: tuple[float, ...]
    dropped: int


def _pairs(baseline: str, arm: str, metric: Metric, complete: CompleteBlocks) -> _Pairs:
    rows = [(block, _value(runs[baseline], metric), _value(runs[arm], metric)) for block, runs in complete.items()]
    lowest = 0.0 if metric.scale == "ratio" else -math.inf  # the logarithm of a ratio needs both above zero
    kept = [
        (block, before, after)
        for block, before, after in rows
        if before is not None and after is not None and before > lowest and after > lowest
    ]
    return _Pairs(
        blocks=tuple(block for block, _, _ in kept),
        baseline=tuple(before for _, before, _ in kept),
        arm=tuple(after for _, _, after in kept),
        steps=tuple(
            math.log(after / before) if metric.scale == "ratio" else after - before for _, before, after in kept
        ),
        dropped=len(rows) - len(kept),
    )


def _exploratory(primary: Sequence[Metric], complete: CompleteBlocks) -> list[Metric]:
    """All other metrics; without those of the run's connections if no run has them, as in experiments of an earlier version."""
    runs = [run for by_arm in complete.values() for run in by_arm.values()]
    rest = [metric for metric in METRICS if metric not in primary]
    return [
        metric
        for metric in rest
        if metric.source == "page" or not runs or any(_value(run, metric) is not None for run in runs)
    ]


def _effects(
    arms: Sequence[Arm], primary: Sequence[Metric], exploratory: Sequence[Metric], complete: CompleteBlocks
) -> tuple[Effect, ...]:
    baseline = arms[0]
    effects: list[Effect] = []
    for family, metrics in ((MetricFamily.PRIMARY, primary), (MetricFamily.EXPLORATORY, exploratory)):
        questions = [(arm, metric) for arm in arms[1:] for metric in metrics]
        pairs = [_pairs(baseline.label, arm.label, metric, complete) for arm, metric in questions]
        raw = [stats.wilcoxon_p(item.steps) for item in pairs]
        adjusted = stats.holm(raw)
        effects += [
            _effect(baseline, *question, family, len(questions), item, p, p_adjusted)
            for question, item, p, p_adjusted in zip(questions, pairs, raw, adjusted, strict=True)
        ]
    position = {arm.label: index for index, arm in enumerate(arms)}
    return tuple(sorted(effects, key=lambda effect: position[effect.arm]))  # stable: primary metrics stay first


def _effect(
    baseline: Arm | ArmSummary,
    arm: Arm | ArmSummary,
    metric: Metric,
    family: MetricFamily,
    family_size: int,
    pairs: _Pairs,
    p: float,
    p_adjusted: float,
) -> Effect:
    told: tuple[float | None, ...] = (None, None, None)
    verdict, confidence, dominance = Verdict.UNDECIDED, 0.0, 0.0
    if pairs.steps:
        shift, interval = stats.hodges_lehmann(pairs.steps), stats.signed_rank_interval(pairs.steps)
        told = tuple(_told(step, metric) for step in (shift, interval.low, interval.high))
        if len(pairs.steps) == 1:  # nothing is known of the scatter
            told = (told[0], None, None)
        verdict = _verdict(pairs, interval, p_adjusted, metric)
        confidence, dominance = interval.confidence, stats.paired_dominance(pairs.steps)
    change_pct, low_pct, high_pct = told if metric.scale == "ratio" else _relative(told, pairs)
    detectable = stats.minimum_detectable_effect(pairs.steps, family_size) if pairs.steps else None
    return Effect(
        arm=arm.label,
        scheme=arm.scheme,
        baseline=baseline.label,
        baseline_scheme=baseline.scheme,
        metric=metric,
        family=family,
        differences=tuple((block, _told(step, metric)) for block, step in zip(pairs.blocks, pairs.steps, strict=True)),
        change=told[0],
        low=told[1],
        high=told[2],
        confidence=confidence,
        change_pct=change_pct,
        low_pct=low_pct,
        high_pct=high_pct,
        p=p,
        p_adjusted=p_adjusted,
        dominance=dominance,
        detectable=_told(detectable, metric) if detectable is not None else None,
        verdict=verdict,
        more_blocks=_more_blocks(pairs, metric, family_size) if verdict is Verdict.UNDECIDED else None,
        note=_note(pairs, verdict, told, metric, family_size),
    )


def _told(step: float, metric: Metric) -> float:
    """A difference on the tested scale in the unit that people are told: per cent, or the metric's own."""
    return math.expm1(step) * 100 if metric.scale == "ratio" else step


def _relative(told: Sequence[float | None], pairs: _Pairs) -> tuple[float | None, ...]:
    """Differences relative to the baseline's median, in per cent; all 0 where nothing ever differed from zero."""
    middle = statistics.median(pairs.baseline) if pairs.baseline else 0.0
    if middle > 0:
        return tuple(value / middle * 100 if value is not None else None for value in told)
    everything_is_zero = pairs.baseline and not any(pairs.baseline) and not any(pairs.arm)
    return (0.0, 0.0, 0.0) if everything_is_zero else (None, None, None)


def _verdict(pairs: _Pairs, interval: stats.Interval, p_adjusted: float, metric: Metric) -> Verdict:
    """Better or worse where test and interval agree; else equivalent where the whole interval is within the margin.

    Of a metric that is often zero nearly all blocks must be, too: its interval may be narrow while single blocks are far off.
    """
    if interval.confidence < stats.CONFIDENCE:
        return Verdict.UNDECIDED
    if p_adjusted < stats.ALPHA and interval.excludes_zero():
        return Verdict.BETTER if interval.high < 0 else Verdict.WORSE
    low, high = _told(interval.low, metric), _told(interval.high, metric)
    within = _is_within_margin(low, high, metric) and not _is_scattered(pairs, metric)
    return Verdict.EQUIVALENT if within else Verdict.UNDECIDED


def _is_within_margin(low: float, high: float, metric: Metric) -> bool:
    return -metric.change_margin <= low and high <= metric.change_margin


def _blocks_beyond_margin(pairs: _Pairs, metric: Metric) -> int:
    return sum(abs(_told(step, metric)) > metric.change_margin for step in pairs.steps)


def _is_scattered(pairs: _Pairs, metric: Metric) -> bool:
    """Whether too many blocks of a difference metric are beyond the margin for `equivalent`."""
    within = len(pairs.steps) - _blocks_beyond_margin(pairs, metric)
    return metric.scale == "difference" and within < EQUIVALENT_BLOCKS_RATIO * len(pairs.steps) - 1e-9


def _more_blocks(pairs: _Pairs, metric: Metric, family_size: int) -> int | None:
    """About how many more blocks would decide; None where scatter, which more blocks do not lessen, is in the way."""
    if (
        len(pairs.steps) > 1
        and _is_scattered(pairs, metric)
        and abs(stats.hodges_lehmann(pairs.steps)) <= metric.margin
    ):
        return None
    margin_step = math.log1p(metric.margin) if metric.scale == "ratio" else metric.margin
    return stats.more_pairs_needed(pairs.steps, margin_step, family_size)


def _note(pairs: _Pairs, verdict: Verdict, told: Sequence[float | None], metric: Metric, family_size: int) -> str:
    notes = []
    if pairs.dropped:
        notes.append(
            f"{pairs.dropped} of {pairs.dropped + len(pairs.steps)} blocks lack a usable value and were left out"
        )
    if verdict is Verdict.UNDECIDED:
        notes += [text] if (text := _note_on_blocks(len(pairs.steps), family_size)) else []
    low, high = told[1], told[2]
    if low is not None and high is not None and _is_within_margin(low, high, metric):
        margin = metric.format_change(metric.change_margin, signed=False)
        if verdict in (Verdict.BETTER, Verdict.WORSE):
            notes.append(f"the change is real, but within the ±{margin} that make no difference in practice")
        elif len(pairs.steps) >= _blocks_for_interval() and _is_scattered(pairs, metric):
            beyond = f"{_blocks_beyond_margin(pairs, metric)} of {len(pairs.steps)} blocks"
            notes.append(f"the typical difference is within ±{margin}, but {beyond} differ by more")
    return "; ".join(notes)


def _blocks_for_interval() -> int:
    """With fewer no interval reaches its confidence."""
    return stats.smallest_deciding_pairs(1, 1 - stats.CONFIDENCE)


def _note_on_blocks(blocks: int, family_size: int) -> str:
    """Why so few blocks cannot decide; "" where they can."""
    if blocks == 0:
        return "no block is complete yet"
    for_interval = _blocks_for_interval()
    for_family = stats.smallest_deciding_pairs(family_size)
    counted = f"{blocks} block{'s' if blocks > 1 else ''}"
    if blocks < for_interval:
        return (
            f"{counted} cannot decide anything: a 95 % interval needs {for_interval}, better or worse {for_family} here"
        )
    if blocks < for_family:
        return f"{counted} cannot show better or worse here: {family_size} comparisons need at least {for_family}"
    return ""


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
