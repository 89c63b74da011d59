"""Machines as a factor of a study: whether they agree, and when one must not go on measuring. Pure."""

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mixedsched.core import stats

AGREE_ALPHA = 0.01  # machines are said to disagree below this
PAIRS_AT_ENTRY = 3
PAIRS_KEPT = 6  # the latest ones, by which drift is judged
SHIFT_MOST = 0.10  # of one arm against itself, as a ratio, in the median of a few pairs
LEVEL_MOST = 0.20  # change of the arm's own values since the machine joined
SPREADS_MOST = 4.0  # a noisy machine may differ from itself by so many of its own spreads
VOID_MOST = 0.5  # share of the latest blocks that failed
BLOCKS_JUDGED = 10

Studied = tuple[str, str]  # site, link
MachineBlock = tuple[
    str, Sequence[float]
]  # machine, and the log ratio of each arm to the baseline; NaN where there is none


@dataclass(frozen=True, slots=True)
class MachineShift:
    """How the effects that one machine measured differ from those of all, over all places and arms."""

    machine: str
    blocks: int  # that it contributed, of places where others measured, too
    shift_pct: float
    low_pct: float | None
    high_pct: float | None

    def to_dict(self) -> dict[str, object]:
        return {
            "machine": self.machine,
            "blocks": self.blocks,
            "shift_pct": self.shift_pct,
            "ci_low_pct": self.low_pct,
            "ci_high_pct": self.high_pct,
        }


@dataclass(frozen=True, slots=True)
class MachineFactor:
    """The machines of a study, and whether they measured the same effects."""

    machines: tuple[MachineShift, ...]  # by name
    p: float | None  # Kruskal-Wallis; None for a single machine, or too few blocks

    @property
    def agree(self) -> bool:
        return self.p is None or self.p >= AGREE_ALPHA

    def to_dict(self) -> dict[str, object]:
        return {"machines": [item.to_dict() for item in self.machines], "p": self.p, "agree": self.agree}


def machine_factor(places: Mapping[Studied, Sequence[MachineBlock]]) -> MachineFactor:
    """Compare machines by what they measured at the same places.

    What the machines share at a place, the effects themselves, is taken out of its blocks; what remains is compared between
    machines. A block is one value, the mean of its arms: they share the load of the baseline, and as values of their own
    they would seem to be more evidence than there is.
    """
    residuals: dict[str, list[float]] = {}
    for blocks in places.values():
        own = {machine: residuals.setdefault(machine, []) for machine, _ in blocks}
        if len(own) > 1:  # else it tells nothing apart
            for (machine, _), residual in zip(blocks, _residuals([steps for _, steps in blocks]), strict=True):
                own[machine].extend(residual)
    compared = {machine: values for machine, values in sorted(residuals.items()) if values}
    return MachineFactor(tuple(_shift(machine, residuals[machine]) for machine in sorted(residuals)), _p(compared))


def _residuals(blocks: Sequence[Sequence[float]]) -> Iterator[list[float]]:
    """By block: how far its arms are from their medians over all blocks, in the mean; nothing where it has no value."""
    known = [[step for step in arm if not math.isnan(step)] for arm in zip(*blocks, strict=True)]
    middles = [statistics.median(steps) if steps else math.nan for steps in known]
    for block in blocks:
        left = [step - middle for step, middle in zip(block, middles, strict=True) if not math.isnan(step)]
        yield [statistics.fmean(left)] if left else []


def _shift(machine: str, residuals: Sequence[float]) -> MachineShift:
    if not residuals:
        return MachineShift(machine, 0, 0.0, None, None)
    interval = stats.signed_rank_interval(residuals)
    known = interval.confidence >= stats.CONFIDENCE
    low, high = (_pct(interval.low), _pct(interval.high)) if known else (None, None)
    return MachineShift(machine, len(residuals), _pct(stats.hodges_lehmann(residuals)), low, high)


def _p(residuals: Mapping[str, Sequence[float]]) -> float | None:
    groups = [values for values in residuals.values() if len(values) > 1]
    if len(groups) < 2 or len({value for values in groups for value in values}) < 2:
        return None
    from scipy.stats import kruskal  # here, because it takes half a second to load

    return float(kruskal(*groups).pvalue)


def _pct(step: float) -> float:
    return math.expm1(step) * 100


@dataclass(frozen=True, slots=True)
class SelfPair:
    """One arm loaded twice in a row by one machine: its values of one metric."""

    first: float
    second: float

    @property
    def step(self) -> float:
        """The log ratio; 0 where there is no difference."""
        return math.log(self.second / self.first) if self.first > 0 and self.second > 0 else 0.0

    @property
    def level(self) -> float:
        """Their geometric mean, as a logarithm."""
        return (math.log(max(self.first, 1e-9)) + math.log(max(self.second, 1e-9))) / 2


def why_quarantine(entry: Sequence[SelfPair], latest: Sequence[SelfPair], blocks_ok: Iterable[bool]) -> str:
    """Why a machine must not go on measuring; empty if it may.

    entry: pairs of one arm with itself, made when the machine joined. latest: those made since then; the last ones count.
    blocks_ok: whether its latest blocks counted. The bounds are wide: pairing takes care of machines that are slow, and this
    finds those that are broken, throttled or busy with something else.
    """
    ends = list(blocks_ok)[-BLOCKS_JUDGED:]
    if len(ends) == BLOCKS_JUDGED and ends.count(False) > VOID_MOST * len(ends):
        return f"{ends.count(False)} of its last {len(ends)} blocks failed"
    pairs = [*entry, *latest][-PAIRS_KEPT:]
    if len(pairs) >= PAIRS_AT_ENTRY:
        shift = statistics.median(pair.step for pair in pairs)
        spread = statistics.median(abs(pair.step - shift) for pair in pairs)
        if abs(shift) > math.log1p(SHIFT_MOST) and abs(shift) > SPREADS_MOST * spread / math.sqrt(len(pairs)):
            return f"the same scheme differs from itself by {_pct(shift):+.1f} % in the median of {len(pairs)} pairs"
    if len(entry) >= PAIRS_AT_ENTRY and len(latest) >= PAIRS_AT_ENTRY:
        before = [pair.level for pair in entry]
        change = statistics.median(pair.level for pair in latest[-PAIRS_KEPT:]) - statistics.median(before)
        spread = statistics.median(abs(level - statistics.median(before)) for level in before)
        if abs(change) > max(math.log1p(LEVEL_MOST), SPREADS_MOST * spread):
            return f"its loads have become {abs(_pct(change)):.1f} % {'slower' if change > 0 else 'faster'} since it joined"
    return ""
