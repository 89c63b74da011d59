"""Whether a claim of a paper holds, by the rule of docs/reproductions.md. Pure."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from mixedsched.core.stats import CONFIDENCE, resamples

SITES_LEAST = 8
NEAR_ZERO_PCT = 1.0  # medians of relative changes that do not matter
NEAR_ZERO_POINTS = 5.0  # shares of sites, in percentage points
NEAR_ZERO_CORRELATION = 0.1
TOLERANCE_POINTS = 15.0  # shares of sites, in percentage points
TOLERANCE_RATIO = 1 / 3  # of any other published number
_SEED = 2022


class ClaimVerdict(StrEnum):
    """The verdict on a statement or a claim."""

    HOLDS = "holds"
    IN_PART = "in part"
    FAILS = "does not hold"
    OPEN = "not decidable here"


@dataclass(frozen=True, slots=True)
class Finding:
    """A number over sites (or over the blocks of one), with its interval of 95 %."""

    value: float
    low: float
    high: float
    units: int  # sites, or blocks
    least: int = SITES_LEAST  # units without which nothing is decided

    @property
    def is_enough(self) -> bool:
        return self.units >= self.least and all(map(math.isfinite, (self.value, self.low, self.high)))


def over_sites(
    values: Mapping[str, float],
    statistic: Callable[..., np.ndarray] = np.median,
    twin_of: Callable[[str], str] = lambda site: site,
) -> Finding:
    """A statistic of one value a site. Sites of the same name by `twin_of` count once, with their mean; NaN is left out.

    statistic: takes an array and an axis, as np.median and np.mean do.
    """
    twins: dict[str, list[float]] = {}
    for site in sorted(values):
        if not math.isnan(values[site]):
            twins.setdefault(twin_of(site), []).append(values[site])
    if not twins:
        return Finding(math.nan, math.nan, math.nan, 0)
    sample = np.array([np.mean(group) for group in twins.values()])
    drawn = statistic(sample[resamples(len(sample), _SEED)], axis=1)
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Finding(float(statistic(sample, axis=0)), float(low), float(high), len(sample))


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that a claim says in numbers, and what was found, by collection of pages.

    Either a direction (`published` is None) or a number.
    """

    text: str  # what the number is
    findings: Mapping[str, Finding]
    sign: int = 1  # of a direction: +1 if the number is claimed to be above zero, -1 if below
    near_zero: float = NEAR_ZERO_PCT  # of a direction
    published: float | None = None
    tolerance: float | None = None  # of a number; by default TOLERANCE_RATIO of what is published
    unit: str = "%"
    counted: str = "sites"  # what its findings are made of

    def verdict_of(self, finding: Finding) -> ClaimVerdict:
        """What one collection of pages says."""
        if not finding.is_enough:
            return ClaimVerdict.OPEN
        if self.published is not None:
            allowed = abs(self.published) * TOLERANCE_RATIO if self.tolerance is None else self.tolerance
            if not finding.low <= self.published <= finding.high:
                return ClaimVerdict.FAILS
            is_sharp = max(finding.high - finding.value, finding.value - finding.low) <= allowed
            return ClaimVerdict.HOLDS if is_sharp else ClaimVerdict.OPEN
        low, high = sorted((self.sign * finding.low, self.sign * finding.high))
        if high < 0 or (low >= -self.near_zero and high <= self.near_zero):
            return ClaimVerdict.FAILS
        return ClaimVerdict.HOLDS if low > 0 else ClaimVerdict.OPEN

    @property
    def verdict(self) -> ClaimVerdict:
        """What all collections say together: those that decide nothing do not count."""
        decided = {self.verdict_of(item) for item in self.findings.values()} - {ClaimVerdict.OPEN}
        if not decided:
            return ClaimVerdict.OPEN
        return decided.pop() if len(decided) == 1 else ClaimVerdict.IN_PART


@dataclass(frozen=True, slots=True)
class PaperClaim:
    """A claim of a paper with all that decides on it."""

    key: str  # "F5-1"
    text: str
    published: str  # the paper's numbers, in its words
    statements: Sequence[Statement]
    is_first_guess: bool = False  # simulated where only a browser can say
    is_partial: bool = False  # blocks are missing
    differs: str = ""  # in what sender, link, browser or pages are not the paper's, where that could matter
    is_mechanism: bool = False  # whether that difference concerns the mechanism by which the paper explains the claim
    remark: str = ""
    readings: Mapping[str, Sequence[Statement]] = field(default_factory=dict)  # other readings of the paper

    @property
    def verdict(self) -> ClaimVerdict:
        """By its statements, under the default reading; it fails only where it fails under all readings."""
        found = _together([item.verdict for item in self.statements])
        if found is not ClaimVerdict.FAILS:
            return found
        if any(_together([item.verdict for item in group]) is not found for group in self.readings.values()):
            return ClaimVerdict.IN_PART
        return ClaimVerdict.OPEN if self.is_mechanism else found

    @property
    def words(self) -> str:
        """The verdict with all that it must not hide: "does not hold so far (first guess); pages differ"."""
        marks = [
            mark for mark, is_so in ((" so far", self.is_partial), (" (first guess)", self.is_first_guess)) if is_so
        ]
        said = self.verdict.value + ("" if self.verdict is ClaimVerdict.OPEN else "".join(marks))
        must_tell = self.differs and (self.verdict is ClaimVerdict.FAILS or self.is_mechanism)
        return f"{said}; {self.differs}" if must_tell else said


def _together(verdicts: Collection[ClaimVerdict]) -> ClaimVerdict:
    different = set(verdicts)
    if len(different) == 1:
        return next(iter(different))
    if not different & {ClaimVerdict.HOLDS, ClaimVerdict.IN_PART}:
        return ClaimVerdict.FAILS if different else ClaimVerdict.OPEN
    return ClaimVerdict.IN_PART
