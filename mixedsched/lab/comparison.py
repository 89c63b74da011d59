"""The results of an analysis: per arm, per effect, and which blocks to look at. Plain values with a JSON form."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from mixedsched.core.metrics import METRICS, Metric, metric_named
from mixedsched.lab.model import Plan, Run

SCORE = "score"  # Lighthouse's overall one among an arm's values: for orientation, nothing is decided by it


class Verdict(StrEnum):
    """What interval and test say of an arm; lower values are better."""

    BETTER = "better"
    WORSE = "worse"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


class MetricFamily(StrEnum):
    """Metrics whose p values are adjusted together."""

    PRIMARY = "primary"  # declared before the first run
    EXPLORATORY = "exploratory"  # all others: they give hints, not results


@dataclass(frozen=True, slots=True)
class Failure:
    """A run without a result, or an invalid one, and why."""

    block: int
    attempt: int
    arm: str
    status: str
    reason: str
    warm_up: bool


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """One arm over all complete blocks."""

    label: str
    scheme: str
    mapping: str | None
    runs: int  # those that count
    attempted: int  # all that were started, warm-up included
    failed: int  # failed and invalid ones among those
    # By metric, and SCORE; one a complete block; None where it is missing or was not asked for.
    values: Mapping[str, tuple[float | None, ...]]
    median: Mapping[str, float | None]  # of these


@dataclass(frozen=True, slots=True)
class Effect:
    """One arm against the baseline in one metric.

    Changes are in the metric's change unit: per cent for ratio metrics, else the metric's own unit. They are None if no
    block has the metric in both arms.
    """

    arm: str
    scheme: str
    baseline: str
    baseline_scheme: str
    metric: Metric
    family: MetricFamily
    blocks: int  # that have the metric in both arms
    # (index of a block, its change); a study of many places does not keep them.
    differences: tuple[tuple[int, float], ...]
    change: float | None
    low: float | None  # of the interval; None also with a single block
    high: float | None
    confidence: float  # of the interval, as really achieved
    change_pct: float | None  # relative to the baseline; None where its median is 0 and not everything is
    low_pct: float | None
    high_pct: float | None
    p: float  # signed rank test, raw
    p_adjusted: float  # Holm within the family
    dominance: float  # share of blocks with a rise minus share with a fall
    detectable: float | None  # minimum detectable effect
    verdict: Verdict
    more_blocks: int | None  # about so many more would decide; None where decided, or where nothing can be said
    note: str
    # Nothing is random, so that one block is the whole truth: no interval, and no meaningful p.
    is_exact: bool = False

    @property
    def steps(self) -> list[float]:
        """The changes of single blocks on the scale that is tested."""
        return [self.metric.step(change) for _, change in self.differences]

    def to_dict(self) -> dict[str, Any]:
        return {
            "scheme": self.scheme,
            "baseline": self.baseline_scheme,
            "metric": self.metric.key,
            "change_pct": finite_or_none(self.change_pct),
            "ci_low_pct": finite_or_none(self.low_pct),
            "ci_high_pct": finite_or_none(self.high_pct),
            "p": self.p,
            "verdict": self.verdict.value,
            "arm": self.arm,
            "baseline_arm": self.baseline,
            "family": self.family.value,
            "unit": self.metric.change_unit,
            "change": finite_or_none(self.change),
            "ci_low": finite_or_none(self.low),
            "ci_high": finite_or_none(self.high),
            "confidence": self.confidence,
            "margin": self.metric.change_margin,
            "p_adjusted": self.p_adjusted,
            "dominance": self.dominance,
            "minimum_detectable": finite_or_none(self.detectable),
            "blocks": self.blocks,
            "more_blocks": self.more_blocks,
            "exact": self.is_exact,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class BlockChoice:
    """A block worth looking at, and the attempt that counted."""

    block: int
    attempt: int

    def runs_by_arm(self, runs: Iterable[Run]) -> dict[str, Run]:
        """The runs of this block among others, by arm label."""
        return {run.arm: run for run in runs if (run.block, run.attempt) == (self.block, self.attempt)}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The results of an experiment, finished or not."""

    plan: Plan
    arms: tuple[ArmSummary, ...]  # baseline first, then as planned
    effects: tuple[Effect, ...]  # by arm, then metric
    block_indices: tuple[int, ...]  # of the complete blocks, in the order of the plan
    planned_blocks: int  # without warm-up
    failures: tuple[Failure, ...]
    # The block nearest to the estimate in the first primary metric, and the one least in favour of the arms; None without a
    # complete block.
    median_block: BlockChoice | None
    worst_block: BlockChoice | None
    note: str

    @property
    def complete_blocks(self) -> int:
        return len(self.block_indices)

    @property
    def looks_made(self) -> int:
        """How often the blocks were checked for a decision; 0 if all blocks are made first."""
        return 0 if self.plan.looks is None else max(0, self.complete_blocks - self.plan.looks.first + 1)

    @property
    def headline_metric(self) -> Metric:
        """The first primary metric: what the experiment was made for."""
        return metric_named(self.plan.primary[0]) if self.plan.primary else METRICS[0]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics compared: the primary ones in declared order, then the others."""
        return tuple(dict.fromkeys(effect.metric for effect in self.effects))

    def arm(self, label: str) -> ArmSummary:
        """The arm with this label; there must be one."""
        return next(item for item in self.arms if item.label == label)

    def effect(self, arm: str, metric: str) -> Effect:
        """The effect of an arm (label) on a metric (key). Raises KeyError."""
        for item in self.effects:
            if (item.arm, item.metric.key) == (arm, metric):
                return item
        raise KeyError((arm, metric))

    def to_dict(self, report: str | None = None) -> dict[str, Any]:
        """The JSON contract of `compare --json`; report: path of the HTML report. Contains no NaN and no infinity."""
        return {
            "site": self.plan.site,
            "link": self.plan.link,
            "arms": [
                {
                    "scheme": arm.scheme,
                    "runs": arm.runs,
                    "failed": arm.failed,
                    "median": {key: finite_or_none(value) for key, value in arm.median.items()},
                    "arm": arm.label,
                    "mapping": arm.mapping,
                    "attempted": arm.attempted,
                }
                for arm in self.arms
            ],
            "effects": [effect.to_dict() for effect in self.effects],
            "report": report,
            "experiment": self.plan.digest,
            "form_factor": self.plan.form_factor,
            "primary": list(self.plan.primary),
            **asdict(self.plan.conditions),
            "blocks": {"complete": self.complete_blocks, "planned": self.planned_blocks},
            "note": self.note,
        }


def finite_or_none(value: float | None) -> float | None:
    """JSON has no NaN and no infinity: both become null."""
    return value if value is not None and math.isfinite(value) else None
