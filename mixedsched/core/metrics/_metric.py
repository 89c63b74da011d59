"""What a browser metric is: its key in results, how to compare it, how to say it to people."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

from mixedsched.units import format_bytes, format_ms

Scale = Literal["ratio", "difference"]
Source = Literal["page", "run"]


class Rating(StrEnum):
    """Lighthouse's three bands: green, amber, red."""

    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """In the metric's unit: up to `good` a value is good, above `poor` it is poor."""

    good: float
    poor: float

    def __post_init__(self) -> None:
        if not 0 < self.good < self.poor:
            raise ValueError(f"thresholds must satisfy 0 < good < poor, got {self.good} and {self.poor}")


@dataclass(frozen=True, slots=True)
class Metric:
    """One number that a page load leaves behind; lower is better for all of them. By default it is a time."""

    key: str
    """Its name in results, unit suffix included."""
    title: str
    short: str
    event: str
    """Begins a sentence that `less` or `more` ends: "the main content appeared" + "sooner" or "later"."""
    explanation: str
    unit: str = "ms"
    """ "ms", "bytes", or "" for plain scores."""
    scale: Scale = "ratio"
    """`ratio` compares by log ratios (changes in per cent); `difference` by plain differences, for what is often zero."""
    margin: float = 0.02
    """The largest change that does not matter in practice, a ratio (0.02 = ±2 %) or in the unit."""
    less: str = "sooner"
    more: str = "later"
    audit: str = ""
    """Lighthouse's audit whose value it is; "" if it is not one of Lighthouse's."""
    thresholds: Mapping[str, Thresholds] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    """By form factor."""
    source: Source = "page"
    """Who measures it: Lighthouse on the page, or we ourselves on the run's connections. Then `Run` has it as an attribute with
    the name of the key."""

    def __post_init__(self) -> None:
        if self.margin <= 0:
            raise ValueError(f"margin of {self.key} must be positive, got {self.margin}")

    @property
    def change_unit(self) -> str:
        """The unit in which changes of this metric are told: "%" for ratios, else its own."""
        return "%" if self.scale == "ratio" else self.unit

    @property
    def change_margin(self) -> float:
        """The margin in `change_unit`."""
        return self.margin * 100 if self.scale == "ratio" else self.margin

    def is_within_margin(self, low: float | None, high: float | None) -> bool:
        """Whether no change between two makes a difference in practice; not if an end is missing."""
        return low is not None and high is not None and -self.change_margin <= low and high <= self.change_margin

    @property
    def margin_step(self) -> float:
        """The margin on the scale that is tested."""
        return math.log1p(self.margin) if self.scale == "ratio" else self.margin

    def step(self, change: float) -> float:
        """A change, given in `change_unit`, on the scale that is tested: a log ratio, or the difference itself."""
        return math.log1p(change / 100) if self.scale == "ratio" else change

    def change(self, step: float) -> float:
        """The reverse of `step`."""
        return math.expm1(step) * 100 if self.scale == "ratio" else step

    def rating(self, value: float, form_factor: str) -> Rating | None:
        """The band of a value; None where the form factor has no thresholds."""
        limits = self.thresholds.get(form_factor)
        if limits is None:
            return None
        if value <= limits.good:
            return Rating.GOOD
        return Rating.FAIR if value <= limits.poor else Rating.POOR

    def format(self, value: float | None) -> str:
        """A value for people: "1.23 s", "12.3 kB", "0.084"; an en dash where there is none."""
        return "–" if value is None else self._in_unit(value)

    def _in_unit(self, value: float) -> str:
        match self.unit:
            case "ms":
                return format_ms(value)
            case "bytes":
                return format_bytes(value)
            case _:
                return f"{value:.3f}"

    def format_change(self, change: float, *, signed: bool = True) -> str:
        """A change, given in `change_unit`, for people: "−12.3 %", "+14 ms", "−0.012". A change of nothing has no sign."""
        size = f"{abs(change):.1f} %" if self.change_unit == "%" else self._in_unit(abs(change))
        is_nothing = not any(digit in size for digit in "123456789")
        if not signed or is_nothing:
            return size
        return f"−{size}" if change < 0 else f"+{size}"

    def format_range(self, low: float | None, high: float | None) -> str:
        """For example "−16.4 % to −8.1 %"; "" if an end is missing."""
        return "" if low is None or high is None else f"{self.format_change(low)} to {self.format_change(high)}"
