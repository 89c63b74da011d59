"""The results of the proof: is the tuned delivery better than all baselines, and harmless; what do headers and HTML keep?

The family is declared before the first load: on every network, the winner against the best baseline and against every other
baseline of the proof (all must be beaten: an intersection-union test, its p is the largest), then the headers, then the
lines of HTML against the best baseline. On each network these questions stand in this order, each asked only if those before
it are answered (a fixed sequence), and p is multiplied by the number of networks. So one false claim in the whole proof stays
as rare as in one test. A deterioration counts without any of this: a warning needs less proof than a promise. Pure.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mixedsched.advice.tuner.objective import GUARDED, SEQUENTIAL
from mixedsched.advice.tuner.result import Contender, HtmlLine, Role
from mixedsched.core import stats
from mixedsched.core.metrics import Metric, metric_named
from mixedsched.lab.analysis import in_family, paired_effect
from mixedsched.lab.comparison import ArmSummary, Comparison, Effect, Verdict

GUARD_PCT = 2.0  # that a guarded metric may be worse than under sequential delivery
RESAMPLED = 2000  # times, for the interval of what remains
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
)


def decision_metric(weights: Mapping[str, float]) -> Metric:
    """The metric of the decision: the objective's own, or all of them weighted."""
    return metric_named(next(iter(weights))) if len(weights) == 1 else WEIGHTED


def decided_value(metrics: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The weighted logarithm of a load's times: lower is better. weights: by metric key, they add up to 1."""
    return sum(weight * math.log(max(metrics[key], 1e-3)) for key, weight in weights.items())


# The winner


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of the proof."""

    is_confirmed: bool  # better than all baselines on a network, worse on none, and harmless
    effects: Mapping[str, tuple[Effect, ...]]  # by network, see NetworkProof.effects
    harm: str  # the harm that it does, a sentence without a stop, or ""
    unbeaten: Mapping[str, str]  # by network: the baseline that alone keeps a gain over the best one from counting


@dataclass(frozen=True, slots=True)
class Remains:
    """The part of the gain that headers and HTML keep alone; all by role, as in Tuning."""

    kept_pct: Mapping[Role, Mapping[str, float]] = field(default_factory=dict)
    kept_range_pct: Mapping[Role, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    withheld: Mapping[Role, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proof:
    """The loads of a proof, and what they are to decide."""

    comparisons: Mapping[str, Comparison]  # by network
    contenders: Sequence[Contender]
    best: str  # label of the best baseline
    weights: Mapping[str, float]  # by metric key

    @property
    def winner(self) -> Contender:
        return next(item for item in self.contenders if item.role is Role.TUNED)

    def judged(self) -> Judgement:
        """Whether the winner is better, and harmless."""
        winner = self.winner.label
        asked = sorted(
            (item for item in self.contenders if item.role in _ORDER), key=lambda item: _ORDER.index(item.role)
        )
        baselines = [item.label for item in self.contenders if item.role is Role.BASELINE]
        effects: dict[str, tuple[Effect, ...]] = {}
        unbeaten: dict[str, str] = {}
        for network, comparison in self.comparisons.items():
            against_all = [effect_between(comparison, winner, label, self.weights) for label in baselines]
            hardest = max(against_all, key=lambda item: ((item.change or 0.0) >= 0, item.p))
            so_far, is_asked = max(item.p for item in against_all), (hardest.change or 0.0) < 0
            judged: list[Effect] = []
            for contender in asked:
                effect = effect_between(comparison, contender.label, self.best, self.weights)
                so_far = max(so_far, effect.p)
                p_adjusted = min(1.0, so_far * len(self.comparisons))
                is_shown = effect.verdict is not Verdict.BETTER or (is_asked and p_adjusted < stats.ALPHA)
                judged.append(in_family(effect, p_adjusted, len(self.comparisons), is_shown=is_shown))
                is_asked = judged[-1].verdict is Verdict.BETTER
            effects[network] = tuple(judged)
            alone = effect_between(comparison, winner, self.best, self.weights)
            beats_best = alone.verdict is Verdict.BETTER and alone.p * len(self.comparisons) < stats.ALPHA
            if beats_best and judged[0].verdict is not Verdict.BETTER:
                unbeaten[network] = hardest.baseline
        harm = self._harm(winner, {name: items[0] for name, items in effects.items()})
        better = any(items[0].verdict is Verdict.BETTER for items in effects.values())
        return Judgement(better and not harm, effects, harm, unbeaten)

    def _effects_of(self, label: str) -> dict[str, Effect]:
        """The effects of an arm against the best baseline, by network."""
        return {name: effect_between(item, label, self.best, self.weights) for name, item in self.comparisons.items()}

    def _harm(self, arm: str, effects: Mapping[str, Effect]) -> str:
        """Worse than the best baseline on a network, or a first or largest paint that is worse than under sequential, or than
        the best baseline's where sequential was not loaded, as on a server that one keeps: a sentence without a stop, or "".

        effects: of the arm against the best baseline, by network.
        """
        for network, effect in effects.items():
            if effect.verdict is Verdict.WORSE:
                return f"on {network} it is {effect.change:.1f} % slower than {effect.baseline}"
        for network, comparison in self.comparisons.items():
            is_there = SEQUENTIAL in {item.label for item in comparison.arms}
            guard, under = (SEQUENTIAL, "under sequential delivery") if is_there else (self.best, f"with {self.best}")
            for key in GUARDED:
                effect = effect_between(comparison, arm, guard, {key: 1.0})
                if effect.verdict is Verdict.WORSE and (effect.change or 0.0) > GUARD_PCT:
                    return f"on {network} its {effect.metric.short} is {effect.change:.1f} % later than {under}"
        return ""

    # Headers and lines of HTML by themselves

    def remains(self, judgement: Judgement, seed: int) -> Remains:
        """seed: of the intervals' resampling."""
        better = [name for name, effects in judgement.effects.items() if effects[0].verdict is Verdict.BETTER]
        shares: dict[Role, dict[str, float]] = {}
        ranges: dict[Role, dict[str, tuple[float, float]]] = {}
        withheld: dict[Role, str] = {}
        if self.winner.is_by_headers and better:
            shares[Role.HEADERS] = dict.fromkeys(better, 100.0)
        for item in self.contenders:
            if item.role not in {Role.HEADERS, Role.HTML}:
                continue
            for name in better:
                found = self.kept(name, item.label, seed)
                if found is not None:
                    shares.setdefault(item.role, {})[name] = found[0]
                    ranges.setdefault(item.role, {})[name] = found[1:]
            # On a server that one keeps, what was proved is shipped whole: its parts are loaded to show what each does.
            if not item.on and (why := self._why_not_to_ship(item.label)):
                withheld[item.role] = why
        return Remains(shares, ranges, withheld)

    def kept(self, network: str, label: str, seed: int) -> tuple[float, float, float] | None:
        """How much of the winner's gain over the best baseline an arm has, in per cent, with a 95 % interval: blocks drawn
        again and again, seeded. None where the winner gains nothing, or there is only one block."""
        comparison = self.comparisons[network]
        baseline = comparison.arm(self.best)
        gains = _steps(comparison, baseline, comparison.arm(self.winner.label), self.weights)
        theirs = _steps(comparison, baseline, comparison.arm(label), self.weights)
        pairs = [(gains[block], theirs[block]) for block in gains if block in theirs]
        if len(pairs) < 2 or stats.hodges_lehmann([gain for gain, _ in pairs]) >= 0:
            return None
        rng = random.Random(f"{seed}/kept/{label}")
        shares = (_share(rng.choices(pairs, k=len(pairs))) for _ in range(RESAMPLED))
        drawn = sorted(share for share in shares if share is not None)
        share = _share(pairs)
        if share is None or len(drawn) < RESAMPLED * 0.9:
            return None
        cut = len(drawn) // 40
        return share, drawn[cut], drawn[-1 - cut]

    def measured(self, lines: Sequence[HtmlLine]) -> tuple[HtmlLine, ...]:
        """The lines with the results of their own arms of the proof, where they have one."""
        arms = {item.changes: item.label for item in self.contenders if item.role in {Role.HTML, Role.LINE}}
        measured = []
        for line in lines:
            label = arms.get((line.change,))
            if label is not None:
                intervals = {
                    name: (item.change, item.low, item.high)
                    for name, item in self._effects_of(label).items()
                    if item.change is not None and item.low is not None and item.high is not None
                }
                line = replace(line, measured=label, measured_pct=intervals)
            measured.append(line)
        return tuple(measured)

    def _why_not_to_ship(self, label: str) -> str:
        """A sentence without a stop; "" if it may be shipped: nothing is worse with it, and something is better."""
        effects = self._effects_of(label)
        if why := self._harm(label, effects):
            return why
        changes = [effect.change for effect in effects.values() if effect.change is not None]
        if changes and min(changes) >= 0:
            name, effect = min(effects.items(), key=lambda item: item[1].change or 0.0)
            change = f"{effect.metric.short} is {effect.change:+.1f} % against {self.best} over {name}"
            return f"measured, it gains nothing: {change}"
        return ""


# Single effects


def effect_between(comparison: Comparison, arm: str, against: str, weights: Mapping[str, float]) -> Effect:
    """One arm against another over the complete blocks, in one metric or several weighted ones; p is not adjusted."""
    first, second = comparison.arm(against), comparison.arm(arm)
    return paired_effect(first, second, decision_metric(weights), _steps(comparison, first, second, weights))


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


def _share(pairs: Sequence[tuple[float, float]]) -> float | None:
    """The second's share of the first's gain, in per cent; None where there is no gain to share."""
    gain = sum(first for first, _ in pairs)
    return sum(second for _, second in pairs) / gain * 100 if gain < 0 else None
