"""The numbers behind a tuning's sentences: which arm is which, and its effects against any baseline."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from mixedsched.advice.tuner.result import NetworkProof, Role, Scored, Tuning
from mixedsched.core.metrics import METRICS, Metric, metric_named
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.analysis import analyse
from mixedsched.lab.comparison import Comparison, Effect
from mixedsched.report._effects import EffectView, effect_views

SEQUENTIAL = "sequential"
SIMULATED_METRICS = ("fcp_ms", "lcp_ms", "si_ms")


def primary_metric(tuning: Tuning) -> Metric:
    """The metric of most weight, the first of several: the one that values are given for."""
    return (
        metric_named(max(tuning.objective, key=lambda key: tuning.objective[key])) if tuning.objective else METRICS[0]
    )


def tuned_label(tuning: Tuning) -> str | None:
    """The arm of the tuned order; None if it was never made one."""
    return next((item.label for item in tuning.contenders if item.role is Role.TUNED), None)


def sequential_label(tuning: Tuning) -> str | None:
    """The arm of sequential delivery."""
    baselines = (item for item in tuning.contenders if item.role is Role.BASELINE)
    return next((item.label for item in baselines if item.candidate.scheme == SEQUENTIAL), None)


@dataclass(frozen=True)
class Evidence:
    """The proof on one network: what the browser measured, against any of its arms."""

    tuning: Tuning
    network: NetworkProof

    @cached_property
    def arms(self) -> tuple[str, ...]:
        """Labels of the proof's arms; none if no block of it is complete."""
        proof = self.network.proof
        return tuple(arm.label for arm in proof.arms) if proof is not None and proof.complete_blocks else ()

    @cached_property
    def _told(self) -> dict[str, Comparison]:
        return {}

    def against(self, baseline: str) -> Comparison | None:
        """The proof with another arm as baseline: the same loads, so the same blocks."""
        proof = self.network.proof
        if proof is None or baseline not in self.arms:
            return None
        for ready in (proof, self.network.sequential):
            if ready is not None and ready.plan.baseline == baseline:
                return ready
        if baseline not in self._told:
            self._told[baseline] = analyse(replace(proof.plan, baseline=baseline), self.network.runs)
        return self._told[baseline]

    def effect(self, arm: str | None, baseline: str | None, metric: str) -> Effect | None:
        """An arm against a baseline; the declared one, as the whole family allows, where there is one."""
        for item in self.network.effects:
            if (item.arm, item.baseline, item.metric.key) == (arm, baseline, metric):
                return item
        comparison = self.against(baseline) if baseline is not None else None
        if comparison is None or arm is None or arm == baseline:
            return None
        found = (item for item in comparison.effects if (item.arm, item.metric.key) == (arm, metric))
        return next(found, None)

    @property
    def other_baseline(self) -> str | None:
        """Sequential delivery, where it is measured and not the best baseline anyway."""
        label = sequential_label(self.tuning)
        return None if label == self.tuning.best_baseline else label

    def views(self, baseline: str | None) -> list[EffectView]:
        """The tuned order against a baseline, in what decides first, then in all that a browser measures of the page."""
        proof = self.network.proof
        if proof is None or not self.arms:
            return []
        ordered = [self.decision, primary_metric(self.tuning), *METRICS]
        metrics = dict.fromkeys(metric for metric in ordered if metric.source == "page")
        found = [self.effect(tuned_label(self.tuning), baseline, metric.key) for metric in metrics]
        return effect_views([effect for effect in found if effect is not None], proof.arms, self.is_declared)

    def view(self, arm: str) -> EffectView | None:
        """One arm against the best baseline, in the primary metric."""
        effect = self.effect(arm, self.tuning.best_baseline, primary_metric(self.tuning).key)
        arms = self.network.proof.arms if self.network.proof is not None else ()
        return effect_views([effect], arms, self.is_declared)[0] if effect is not None else None

    @cached_property
    def decision(self) -> Metric:
        """The metric that decides: that of the declared family, a weighted one where the objective has several."""
        declared = [item.metric for item in self.network.effects]
        primary = primary_metric(self.tuning)
        return declared[0] if declared and primary not in declared else primary

    def is_declared(self, effect: Effect) -> bool:
        """Whether it belongs to the family that was declared before the first load of the proof."""
        return effect in self.network.effects

    def medians(self, metric: str) -> dict[str, float]:
        """Measured medians by arm of the proof, where there is any."""
        proof = self.network.proof
        if proof is None or not self.arms:
            return {}
        found = {arm.label: arm.median.get(metric) for arm in proof.arms}
        return {label: value for label, value in found.items() if value is not None}


def value_of(estimates: PaintEstimate, metric: str) -> float | None:
    """A simulated metric by its key; None for what simulation cannot tell."""
    return getattr(estimates, metric) if metric in SIMULATED_METRICS else None


def simulated_change_pct(scored: Scored, baseline: Scored, network: str, metric: str) -> float | None:
    """The simulated change from one candidate to another; None if either has no estimate."""
    own, other = (item.by_network.get(network) for item in (scored, baseline))
    after = value_of(own, metric) if own is not None else None
    before = value_of(other, metric) if other is not None else None
    return (after / before - 1) * 100 if after is not None and before else None


def simulated_values(tuning: Tuning, network: str, metric: str) -> Mapping[str, float]:
    """Simulated values by label: all baselines, then the tuned order."""
    scored = dict(tuning.baselines)
    if tuning.winner is not None:
        scored["tuned"] = tuning.winner
    found = {}
    for label, item in scored.items():
        estimates = item.by_network.get(network)
        value = value_of(estimates, metric) if estimates is not None else None
        if value is not None:
            found[label] = value
    return found
