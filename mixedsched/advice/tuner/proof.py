"""What the measured loads of the proof allow to say: is the tuned delivery better than all that there was, and harmless? Pure.

The family is declared before the first load: on every network, the winner against the best baseline and against every other
baseline of the proof (all must be beaten: an intersection-union test, its p is the largest), then the headers, then the
lines of HTML against the best baseline. On each network these questions stand in this order, each asked only if those before
it are answered (a fixed sequence), and p is multiplied by the number of networks. So one false claim in the whole proof stays
as rare as in one test. That something became worse is taken without any of this: a warning needs less proof than a promise.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mixedsched.advice.tuner.result import Contender, Role
from mixedsched.core import stats
from mixedsched.core.metrics import Metric, metric_named
from mixedsched.lab.comparison import ArmSummary, Comparison, Effect, Family, Verdict

GUARDED = ("fcp_ms", "lcp_ms")  # metrics that must not be worse than under sequential delivery
GUARD_PCT = 2.0
RESAMPLED = 2000  # times, for the interval of what remains
SEQUENTIAL = "sequential"
_ORDER = (Role.TUNED, Role.HEADERS, Role.HTML, Role.LINE)  # in which the questions are asked

WEIGHTED = Metric(
    key="objective",
    title="Objective",
    short="objective",
    unit="",
    scale="ratio",
    margin=0.02,
    event="the page was there",
    less="sooner",
    more="later",
    explanation="The weighted geometric mean of the times that the objective names.",
    order=0,
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """is_confirmed: better than all baselines on a network, worse on none, and harmless. effects: by network, see
    NetworkProof.effects. harm: what speaks against it, a sentence, or ""."""

    is_confirmed: bool
    effects: Mapping[str, tuple[Effect, ...]]
    harm: str


def decision_metric(weights: Mapping[str, float]) -> Metric:
    """What is decided on: the objective's metric, or all of them weighted."""
    return metric_named(next(iter(weights))) if len(weights) == 1 else WEIGHTED


def decided_value(metrics: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The weighted logarithm of a load's times: lower is better. weights: by metric key, they add up to 1."""
    return sum(weight * math.log(max(metrics[key], 1e-3)) for key, weight in weights.items())


def judge(
    comparisons: Mapping[str, Comparison], contenders: Sequence[Contender], best: str, weights: Mapping[str, float]
) -> Judgement:
    """What the proof comes to. comparisons: by network. best: label of the best baseline."""
    winner = next(item.label for item in contenders if item.role is Role.TUNED)
    in_order = sorted((item for item in contenders if item.role in _ORDER), key=lambda item: _ORDER.index(item.role))
    baselines = [item.label for item in contenders if item.role is Role.BASELINE]
    effects: dict[str, tuple[Effect, ...]] = {}
    for network, comparison in comparisons.items():
        against_all = [effect_between(comparison, winner, label, weights) for label in baselines]
        so_far = max(item.p for item in against_all)
        judged = []
        for contender in in_order:
            effect = effect_between(comparison, contender.label, best, weights)
            so_far = max(so_far, effect.p)
            beats_all = contender.label != winner or all((item.change or 0.0) < 0 for item in against_all)
            judged.append(_judged(effect, min(1.0, so_far * len(comparisons)), beats_all=beats_all))
        effects[network] = tuple(judged)
    harmful = harm(comparisons, {name: items[0] for name, items in effects.items()}, winner)
    better = any(items[0].verdict is Verdict.BETTER for items in effects.values())
    return Judgement(better and not harmful, effects, harmful)


def effect_between(comparison: Comparison, arm: str, against: str, weights: Mapping[str, float]) -> Effect:
    """One arm against another over the complete blocks, in one metric or several weighted ones; p is not adjusted."""
    first, second = _arm(comparison, against), _arm(comparison, arm)
    metric = decision_metric(weights)
    steps = _steps(comparison, first, second, weights)
    values = list(steps.values())
    change, low, high, verdict, confidence, p = None, None, None, Verdict.UNDECIDED, 0.0, 1.0
    if values:
        interval, p = stats.signed_rank_interval(values), stats.wilcoxon_p(values)
        change, confidence = _pct(stats.hodges_lehmann(values)), interval.confidence
        low, high = (_pct(interval.low), _pct(interval.high)) if len(values) > 1 else (None, None)
        verdict = _verdict(low, high, p, confidence, metric)
    return Effect(
        arm=arm,
        scheme=second.scheme,
        baseline=against,
        baseline_scheme=first.scheme,
        metric=metric,
        family=Family.PRIMARY,
        differences=tuple((block, _pct(step)) for block, step in steps.items()),
        change=change,
        low=low,
        high=high,
        confidence=confidence,
        change_pct=change,
        low_pct=low,
        high_pct=high,
        p=p,
        p_adjusted=p,
        dominance=stats.paired_dominance(values) if values else 0.0,
        detectable=_told(stats.minimum_detectable_effect(values)) if values else None,
        verdict=verdict,
        more_blocks=_more(values, verdict, metric),
        note="",
    )


def kept(
    comparison: Comparison, winner: str, label: str, best: str, weights: Mapping[str, float], seed: int
) -> tuple[float, float, float] | None:
    """How much of the winner's gain over the best baseline an arm has, in per cent, with a 95 % interval: blocks drawn again
    and again, seeded. None where the winner gains nothing, or a block is all there is."""
    baseline = _arm(comparison, best)
    gains = _steps(comparison, baseline, _arm(comparison, winner), weights)
    theirs = _steps(comparison, baseline, _arm(comparison, label), weights)
    pairs = [(gains[block], theirs[block]) for block in gains if block in theirs]
    if len(pairs) < 2 or stats.hodges_lehmann([gain for gain, _ in pairs]) >= 0:
        return None
    rng = random.Random(f"{seed}/kept/{label}")
    drawn = sorted(share for _ in range(RESAMPLED) if (share := _share(rng.choices(pairs, k=len(pairs)))) is not None)
    share = _share(pairs)
    if share is None or len(drawn) < RESAMPLED * 0.9:
        return None
    cut = len(drawn) // 40
    return share, drawn[cut], drawn[-1 - cut]


def _share(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Of mean gains, in per cent; None where there is no gain to share."""
    gain = sum(first for first, _ in pairs)
    return sum(second for _, second in pairs) / gain * 100 if gain < 0 else None


def harm(comparisons: Mapping[str, Comparison], effects: Mapping[str, Effect], arm: str) -> str:
    """Worse than the best baseline on a network, or a first or largest paint that is worse than under sequential: a sentence
    without a stop, or "". effects: of the arm against the best baseline, by network."""
    for network, effect in effects.items():
        if effect.verdict is Verdict.WORSE:
            return f"on {network} it is {effect.change:.1f} % slower than {effect.baseline}"
    for network, comparison in comparisons.items():
        if SEQUENTIAL not in {item.label for item in comparison.arms}:
            continue
        for key in GUARDED:
            effect = effect_between(comparison, arm, SEQUENTIAL, {key: 1.0})
            if effect.verdict is Verdict.WORSE and (effect.change or 0.0) > GUARD_PCT:
                return f"on {network} its {effect.metric.short} is {effect.change:.1f} % later than under sequential delivery"
    return ""


def _judged(effect: Effect, p_adjusted: float, *, beats_all: bool) -> Effect:
    """With the p of the whole family: what it does not carry any more becomes undecided, or equivalent."""
    verdict = effect.verdict
    if verdict is Verdict.BETTER and (p_adjusted >= stats.ALPHA or not beats_all):
        within = effect.low is not None and effect.low >= -effect.metric.change_margin
        verdict = Verdict.EQUIVALENT if within else Verdict.UNDECIDED
    steps = [math.log1p(change / 100) for _, change in effect.differences]
    return replace(effect, p_adjusted=p_adjusted, verdict=verdict, more_blocks=_more(steps, verdict, effect.metric))


def _verdict(low: float | None, high: float | None, p: float, confidence: float, metric: Metric) -> Verdict:
    if low is None or high is None or confidence < stats.CONFIDENCE:
        return Verdict.UNDECIDED
    if p < stats.ALPHA and (low > 0 or high < 0):
        return Verdict.WORSE if low > 0 else Verdict.BETTER
    within = -metric.change_margin <= low and high <= metric.change_margin
    return Verdict.EQUIVALENT if within else Verdict.UNDECIDED


def _more(steps: Sequence[float], verdict: Verdict, metric: Metric) -> int | None:
    return stats.more_pairs_needed(steps, math.log1p(metric.margin)) if verdict is Verdict.UNDECIDED else None


def _arm(comparison: Comparison, label: str) -> ArmSummary:
    return next(item for item in comparison.arms if item.label == label)


def _steps(
    comparison: Comparison, first: ArmSummary, second: ArmSummary, weights: Mapping[str, float]
) -> dict[int, float]:
    """By block: the weighted logarithm of the second arm's times to the first's. Blocks without a value are left out."""
    steps: dict[int, float] = {}
    for place, block in enumerate(comparison.block_indices):
        before = {key: first.values[key][place] for key in weights}
        after = {key: second.values[key][place] for key in weights}
        if all(before.values()) and all(after.values()):
            steps[block] = decided_value(after, weights) - decided_value(before, weights)  # type: ignore[arg-type]
    return steps


def _pct(step: float) -> float:
    return math.expm1(step) * 100


def _told(step: float | None) -> float | None:
    return None if step is None else _pct(step)
