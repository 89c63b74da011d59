"""Gates: conditions on effects that must not hold, and how long an experiment goes on to decide them. Pure."""

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mixedsched.core import stats
from mixedsched.core.metrics import Metric, metric_named
from mixedsched.errors import UsageError
from mixedsched.lab.analysis import analyse
from mixedsched.lab.comparison import Comparison, Effect, MetricFamily, Verdict, finite_or_none
from mixedsched.lab.model import Block, Plan, Run

_CONDITION = re.compile(r"\s*(\w+)\s*([<>])\s*([+-]?\d+(?:\.\d+)?)\s*(%|[a-z]*)\s*", re.IGNORECASE)
UNTIL_DECIDED = "decided"
MAX_BLOCKS_FACTOR = 3  # of the least number of blocks, by default
_EXAMPLE = "write it like 'lcp > +2%' or 'cls > +0.05'"


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition on the change of a metric. Where it is shown to hold, the gate has failed."""

    condition: str  # as people wrote it
    metric: Metric
    is_above: bool  # whether it is about changes above the bound, or below
    bound: float  # in the metric's change unit

    @classmethod
    def parse(cls, condition: str) -> "Gate":
        """Read "lcp > +2%". Metrics that compare by ratios take per cent, others their own unit. Raises UsageError."""
        match = _CONDITION.fullmatch(condition.replace("−", "-"))
        if match is None:
            raise UsageError(f"the gate '{condition}' cannot be read", fix=_EXAMPLE)
        name, sign, number, unit = match.groups()
        metric = metric_named(name)
        known = {metric.change_unit} if metric.scale == "ratio" else {metric.change_unit, ""}
        if unit.lower() not in known:
            wanted = f"in {metric.change_unit}" if metric.change_unit else "without a unit"
            raise UsageError(
                f"the gate '{condition}' has the wrong unit", why=f"{metric.short} changes {wanted}", fix=_EXAMPLE
            )
        return cls(condition.strip(), metric, sign == ">", float(number))


class GateVerdict(StrEnum):
    MET = "met"  # the opposite of the condition is shown
    FAILED = "failed"  # the condition is shown
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class GateResult:
    """What an effect says of a gate. Changes are in the metric's change unit."""

    gate: Gate
    effect: Effect
    low: float | None  # of the interval; those of all gates hold together
    high: float | None
    place: tuple[str, str] | None = None  # site and link, where there are several

    @property
    def verdict(self) -> GateVerdict:
        """Decided where the whole interval is on one side of the bound."""
        if self.low is None or self.high is None:
            return GateVerdict.UNDECIDED
        bound, is_above = self.gate.bound, self.gate.is_above
        if (self.low > bound) if is_above else (self.high < bound):
            return GateVerdict.FAILED
        is_opposite_shown = self.high <= bound if is_above else self.low >= bound
        return GateVerdict.MET if is_opposite_shown else GateVerdict.UNDECIDED

    def to_dict(self) -> dict[str, Any]:
        place = {} if self.place is None else {"site": self.place[0], "link": self.place[1]}
        low_pct, high_pct = (self._in_pct(value) for value in (self.low, self.high))
        return {
            **place,
            "condition": self.gate.condition,
            "scheme": self.effect.scheme,
            "baseline": self.effect.baseline_scheme,
            "metric": self.gate.metric.key,
            "verdict": self.verdict.value,
            "ci_low_pct": low_pct,
            "ci_high_pct": high_pct,
            "arm": self.effect.arm,
            "baseline_arm": self.effect.baseline,
            "unit": self.gate.metric.change_unit,
            "bound": self.gate.bound,
            "ci_low": finite_or_none(self.low),
            "ci_high": finite_or_none(self.high),
            "blocks": self.effect.blocks,
        }

    def _in_pct(self, change: float | None) -> float | None:
        """A change relative to the baseline; None where that cannot be told."""
        if change is None or self.gate.metric.scale == "ratio":
            return finite_or_none(change)
        effect = self.effect
        known = ((effect.change, effect.change_pct), (effect.low, effect.low_pct), (effect.high, effect.high_pct))
        rates = [pct / part for part, pct in known if part and pct is not None]
        return finite_or_none(change * rates[0]) if rates else (0.0 if effect.change_pct == 0 == change else None)


def judge(
    gates: Sequence[Gate], effects: Iterable[Effect], looks: stats.Looks | None, questions: int | None = None
) -> tuple[GateResult, ...]:
    """The answers to all gates, by gate, then effect.

    looks: as in the plan. By them intervals hold together already; else each gated effect gets its share of the error rate.
    questions: how many effects share it; by default those that are given.
    """
    asked = [effect for effect in effects if any(gate.metric is effect.metric for gate in gates)]

    def answer(gate: Gate, effect: Effect) -> GateResult:
        low, high = effect.low, effect.high
        if looks is None and not effect.is_exact:
            low, high = _interval(effect, 1 - stats.ALPHA / (questions or len(asked)))
        elif effect.is_exact:
            low = high = effect.change
        return GateResult(gate, effect, low, high)

    return tuple(answer(gate, effect) for gate in gates for effect in asked if effect.metric is gate.metric)


def _interval(effect: Effect, confidence: float) -> tuple[float | None, float | None]:
    """Of the change, in its unit; no ends where blocks are too few for this confidence."""
    if not effect.differences:
        return None, None
    interval = stats.signed_rank_interval(effect.steps, confidence)
    if interval.confidence < confidence:
        return None, None
    return effect.metric.change(interval.low), effect.metric.change(interval.high)


def looks_of(until: str | None, blocks: int, max_blocks: int | None, questions: int) -> stats.Looks | None:
    """After which blocks to look: None to make all of them first.

    until: "decided", or None. blocks: the least number. max_blocks: three times as many by default. questions: arms beside the
    baseline, times primary metrics; none where nothing is random. Raises UsageError for anything else, and where so few blocks
    cannot decide.
    """
    if until is None:
        if max_blocks is not None:
            raise UsageError("--max-blocks goes with --until decided", fix="--blocks alone says how many are made")
        return None
    if until != UNTIL_DECIDED:
        raise UsageError(f"an experiment cannot continue until '{until}'", fix=f"there is only --until {UNTIL_DECIDED}")
    most = MAX_BLOCKS_FACTOR * blocks if max_blocks is None else max_blocks
    if not 1 <= blocks <= most:
        raise UsageError(
            f"there cannot be at least {blocks} and at most {most} blocks",
            fix="--max-blocks must not be less than --blocks",
        )
    looks = stats.Looks(blocks, most)
    if questions and looks.first_deciding(stats.ALPHA / questions) is None:
        needed = next(
            count for count in itertools.count(most) if stats.Looks(1, count).first_deciding(stats.ALPHA / questions)
        )
        raise UsageError(
            f"{most} blocks can never decide",
            why=f"{questions} question{'s' if questions > 1 else ''} need{'' if questions > 1 else 's'} {needed} at least",
            fix=f"--max-blocks {3 * needed} leaves room for noise",
        )
    return looks


def note_on_gates(gates: Sequence[Gate], blocks: int, arms: int, places: int = 1) -> str:
    """Why gates for which all blocks are made first can never be decided, so few are they; "" where they can.

    arms: the baseline among them. places: that share the error rate.
    """
    questions = len({gate.metric.key for gate in gates}) * (arms - 1) * places
    needed = next(count for count in itertools.count(1) if stats.smallest_p(count) * questions <= stats.ALPHA)
    if not questions or blocks >= needed:
        return ""
    asked = f"{questions} questions of gates" if questions > 1 else "a gate"
    return f"{blocks} block{'s' if blocks > 1 else ''} can never decide {asked}: {needed} at least are needed"


def is_decided(comparison: Comparison, gates: Sequence[Gate]) -> bool:
    """Whether all gates are; without any, whether each primary effect is better, worse or equivalent."""
    if gates:
        results = judge(gates, comparison.effects, comparison.plan.looks)
        return all(item.verdict is not GateVerdict.UNDECIDED for item in results)
    primary = [effect for effect in comparison.effects if effect.family is MetricFamily.PRIMARY]
    return all(effect.verdict is not Verdict.UNDECIDED for effect in primary)


def until_decided(plan: Plan, gates: Sequence[Gate]) -> Callable[[Block, Sequence[Run]], bool]:
    """Whether an analysed block is worth making, given the runs so far.

    Blocks are looked at in the order of their numbers: one that was given up stays out once a later one is complete.
    """

    known: dict[int, tuple[int, bool]] = {}  # by number of runs: the last complete block, and whether that is enough

    def is_wanted(block: Block, runs: Sequence[Run]) -> bool:
        if len(runs) not in known:
            comparison = analyse(plan, runs)
            known[len(runs)] = max(comparison.block_indices, default=0), is_decided(comparison, gates)
        last, is_enough = known[len(runs)]
        return block.index > last and not is_enough

    return is_wanted
