"""From a table of values to effects: paired changes with intervals, Holm's families, verdicts. Pure."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mixedsched.core import stats
from mixedsched.core.metrics import Metric
from mixedsched.core.stats import Interval, Looks, PairedShift
from mixedsched.lab.comparison import ArmSummary, Effect, MetricFamily, Verdict
from mixedsched.lab.model import Arm
from mixedsched.units import counted

# Of the blocks, how many must lie within the margin themselves for `equivalent`, where zeros may hide the others.
EQUIVALENT_BLOCKS_RATIO = 0.9
LEFT_OUT = "lack a usable value and were left out"
EXACT_NOTE = "nothing is random here, so one load of each arm is the whole truth"

Row = NDArray[np.float64]
Told = tuple[float | None, float | None, float | None]  # change, and the ends of its interval


@dataclass(frozen=True, slots=True, eq=False)
class BlockValues:
    """The values of all complete blocks."""

    arms: Sequence[Arm]  # baseline first
    metrics: Sequence[Metric]  # the primary ones first
    primary: int  # how many of them
    blocks: Sequence[int]  # their numbers
    values: NDArray[np.float64]  # arms x metrics x blocks; NaN where a value is missing


def effects_of(
    table: BlockValues, *, is_exact: bool = False, keep_blocks: bool = True, looks: Looks | None = None, places: int = 1
) -> tuple[Effect, ...]:
    """Every arm against the first one in every metric: by arm, then metric.

    is_exact: nothing is random, so that a single block is no sample. keep_blocks: give effects the changes of single blocks,
    which take most of their memory. looks: blocks are looked at as they come in, in the order of the table; then so
    many places share the error rate.
    """
    looks = None if is_exact else looks
    families = (
        (MetricFamily.PRIMARY, range(table.primary)),
        (MetricFamily.EXPLORATORY, range(table.primary, len(table.metrics))),
    )
    effects: list[tuple[int, Effect]] = []
    all_steps = _steps(table)
    for family, metrics in families:
        questions = [(arm, metric) for arm in range(1, len(table.arms)) for metric in metrics]
        family_size = len(questions) * (1 if looks is None else places)
        steps = all_steps[[arm - 1 for arm, _ in questions], [metric for _, metric in questions]]
        shifts = stats.paired_shifts(steps)
        adjusted = stats.holm([item.p for item in shifts])
        for (arm, metric), row, shift, p_adjusted in zip(questions, steps, shifts, adjusted, strict=True):
            kept = slice(None) if shift.pairs == len(row) else ~np.isnan(row)
            pairs = Pairs(shift, row[kept], table.values[0, metric][kept], len(row) - shift.pairs)
            shown = Shown(shift.interval, shift.p, p_adjusted)
            if looks is not None:
                shown = _shown_by(looks, pairs, family_size)
            judged = Judged(table.metrics[metric], family, family_size, pairs, shown, looks, is_exact)
            blocks = np.asarray(table.blocks)[kept].tolist() if keep_blocks else []
            effects.append((arm, judged.effect(table.arms[0], table.arms[arm], blocks)))
    effects.sort(key=lambda item: item[0])  # stable: primary metrics stay first
    return tuple(effect for _, effect in effects)


def _steps(table: BlockValues) -> NDArray[np.float64]:
    """By arm but the first, metric and block: the difference on the scale that is tested; NaN where a value is missing."""
    before, after = table.values[:1], table.values[1:]
    steps: NDArray[np.float64] = after - before
    for number, metric in enumerate(table.metrics):
        if metric.scale == "ratio":
            ratios = np.full_like(steps[:, number], np.nan)  # both must be above zero for the logarithm
            usable = (before[:, number] > 0) & (after[:, number] > 0)
            np.divide(after[:, number], before[:, number], out=ratios, where=usable)
            steps[:, number] = np.log(ratios)
    return steps


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The blocks in which both arms have a metric."""

    shift: PairedShift
    steps: Row  # differences on the scale that is tested
    baseline: Row
    dropped: int  # blocks without a usable value


@dataclass(frozen=True, slots=True)
class Shown:
    """What the blocks show of one question."""

    interval: Interval  # of shifts, on the scale that is tested; without ends where nothing can be said yet
    p: float
    p_adjusted: float  # for the size of the family


def _shown_by(looks: Looks, pairs: Pairs, family_size: int) -> Shown:
    """By all looks so far. The error rate is divided among the family, so that all its intervals hold together."""
    steps = pairs.steps.tolist()
    interval = stats.sequential_interval(steps, looks, stats.ALPHA / family_size)
    p = stats.sequential_p(steps, looks)
    return Shown(interval, p, min(1.0, p * family_size))


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """One question of a family, with all that its answer takes."""

    metric: Metric
    family: MetricFamily
    family_size: int
    pairs: Pairs
    shown: Shown
    looks: Looks | None = None
    is_exact: bool = False

    def effect(self, baseline: Arm | ArmSummary, arm: Arm | ArmSummary, blocks: Sequence[int]) -> Effect:
        """The answer. blocks: numbers of the pairs; none to leave the changes of single blocks out."""
        metric, shift = self.metric, self.pairs.shift
        told, verdict = self._told(), self._verdict()
        change_pct, low_pct, high_pct = told if metric.scale == "ratio" else _relative(told, self.pairs)
        detectable = stats.minimum_detectable_effect(shift, self.family_size)
        is_open = verdict is Verdict.UNDECIDED
        return Effect(
            arm=arm.label,
            scheme=arm.scheme,
            baseline=baseline.label,
            baseline_scheme=baseline.scheme,
            metric=metric,
            family=self.family,
            blocks=shift.pairs,
            differences=tuple(
                (block, metric.change(step)) for block, step in zip(blocks, self.pairs.steps.tolist(), strict=False)
            ),
            change=told[0],
            low=told[1],
            high=told[2],
            confidence=self.shown.interval.confidence,
            change_pct=change_pct,
            low_pct=low_pct,
            high_pct=high_pct,
            p=self.shown.p,
            p_adjusted=self.shown.p_adjusted,
            dominance=shift.dominance,
            detectable=metric.change(detectable) if detectable is not None else None,
            verdict=verdict,
            more_blocks=self._more_blocks() if is_open and not self.is_exact else None,
            note=self._note(verdict, told),
            is_exact=self.is_exact and shift.pairs > 0,
        )

    def _told(self) -> Told:
        shift, interval = self.pairs.shift, self.shown.interval
        if not shift.pairs:
            return None, None, None
        if shift.pairs == 1 or math.isinf(interval.low):  # nothing is known of the scatter, or no look can tell yet
            return self.metric.change(shift.shift), None, None
        # Looks may have excluded before what is the best guess now.
        change = min(max(shift.shift, interval.low), interval.high)
        return (self.metric.change(change), self.metric.change(interval.low), self.metric.change(interval.high))

    def _verdict(self) -> Verdict:
        """Better or worse where test and interval agree; else equivalent where the whole interval is within the margin.

        Of a metric that is often zero nearly all blocks must be, too: its interval may be narrow while single blocks are far
        off. Where nothing is random the change alone decides, by the margin.
        """
        interval, metric = self.shown.interval, self.metric
        if self.is_exact and self.pairs.shift.pairs:
            change = metric.change(self.pairs.shift.shift)
            if abs(change) <= metric.change_margin:
                return Verdict.EQUIVALENT
            return Verdict.BETTER if change < 0 else Verdict.WORSE
        if interval.confidence < stats.CONFIDENCE:
            return Verdict.UNDECIDED
        is_significant = self.looks is not None or self.shown.p_adjusted < stats.ALPHA  # by looks, the interval says so
        if is_significant and interval.excludes_zero():
            return Verdict.BETTER if interval.high < 0 else Verdict.WORSE
        low, high = metric.change(interval.low), metric.change(interval.high)
        within = metric.is_within_margin(low, high) and not self._is_scattered()
        return Verdict.EQUIVALENT if within else Verdict.UNDECIDED

    def _blocks_beyond_margin(self) -> int:
        """Of a difference metric."""
        return int(np.count_nonzero(np.abs(self.pairs.steps) > self.metric.margin))

    def _is_scattered(self) -> bool:
        """Whether too many blocks of a difference metric are beyond the margin for `equivalent`."""
        if self.metric.scale == "ratio":
            return False
        pairs = self.pairs.shift.pairs
        return pairs - self._blocks_beyond_margin() < EQUIVALENT_BLOCKS_RATIO * pairs - 1e-9

    def _more_blocks(self) -> int | None:
        """About how many more blocks would decide; None where scatter, which more blocks do not lessen, is in the way."""
        shift, metric = self.pairs.shift, self.metric
        if shift.pairs > 1 and self._is_scattered() and abs(shift.shift) <= metric.margin:
            return None
        return stats.more_pairs_needed(shift, metric.margin_step, self.family_size)

    def _note(self, verdict: Verdict, told: Told) -> str:
        notes, pairs, dropped = [], self.pairs.shift.pairs, self.pairs.dropped
        if dropped:
            notes.append(f"{dropped} of {dropped + pairs} blocks {LEFT_OUT}")
        if self.is_exact and pairs:
            return "; ".join([*notes, EXACT_NOTE])
        if verdict is Verdict.UNDECIDED:
            notes += [text] if (text := note_on_blocks(pairs, self.family_size, self.looks)) else []
        _, low, high = told
        if self.metric.is_within_margin(low, high):
            margin = self.metric.format_change(self.metric.change_margin, signed=False)
            if verdict in (Verdict.BETTER, Verdict.WORSE):
                notes.append(f"the change is real, but within the ±{margin} that make no difference in practice")
            elif pairs >= _blocks_for_interval() and self._is_scattered():
                beyond = f"{self._blocks_beyond_margin()} of {pairs} blocks"
                notes.append(f"the typical difference is within ±{margin}, but {beyond} differ by more")
        return "; ".join(notes)


def _relative(told: Told, pairs: Pairs) -> Told:
    """Differences relative to the baseline's median, in per cent; all 0 where nothing ever differed from zero."""
    if not len(pairs.baseline):
        return None, None, None
    middle = statistics.median(pairs.baseline.tolist())
    if middle > 0:
        change, low, high = (value / middle * 100 if value is not None else None for value in told)
        return change, low, high
    everything_is_zero = not pairs.baseline.any() and not pairs.steps.any()
    return (0.0, 0.0, 0.0) if everything_is_zero else (None, None, None)


def _blocks_for_interval() -> int:
    """With fewer no interval reaches its confidence."""
    return stats.smallest_deciding_pairs(1, 1 - stats.CONFIDENCE)


def note_on_blocks(blocks: int, family_size: int, looks: Looks | None = None) -> str:
    """Why so few blocks cannot decide; "" where they can."""
    if blocks == 0:
        return "no block is complete yet"
    if looks is not None:
        first = looks.first_deciding(stats.ALPHA / family_size)
        return (
            f"{counted(blocks, 'block')} cannot decide: {first or 'more'} are needed"
            if first is None or blocks < first
            else ""
        )
    for_interval = _blocks_for_interval()
    for_family = stats.smallest_deciding_pairs(family_size)
    if blocks < for_interval:
        needed = f"a 95 % interval needs {for_interval}, better or worse {for_family} here"
        return f"{counted(blocks, 'block')} cannot decide anything: {needed}"
    if blocks < for_family:
        needed = f"{family_size} comparisons need at least {for_family}"
        return f"{counted(blocks, 'block')} cannot show better or worse here: {needed}"
    return ""
