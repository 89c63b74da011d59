"""The axis of changes: logarithmic for per cent, so that twice and half are equally far from nothing, else linear."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mixedsched.core.metrics import Metric
from mixedsched.lab.comparison import Effect
from mixedsched.report.svg import Scale, line, rectangle, text

# The most wanted first.
_TICKS_PCT = (0, 100, -50, 300, -75, 20, -20, 50, -33, 40, -30, 10, -10, 900, -90, 5, -5, 2, -2, 1, -1)
_LABEL_WIDTH = 46.0
_LONGEST_INTERVAL = 1.6  # as a multiple of the largest change; longer ones run out of the picture


@dataclass(frozen=True, slots=True)
class ChangeAxis:
    """Where changes of a metric, in its change unit, are drawn."""

    metric: Metric
    scale: Scale

    @classmethod
    def of(cls, metric: Metric, effects: Iterable[Effect], start: float, end: float) -> ChangeAxis:
        """Wide enough for all changes, zero and the margin, and most of the intervals."""
        known = [effect for effect in effects if effect.change is not None]
        intervals = [value for effect in known for value in (effect.low, effect.high) if value is not None]
        return cls.over(metric, [effect.change or 0.0 for effect in known], intervals, start, end)

    @classmethod
    def over(
        cls, metric: Metric, told: Iterable[float], intervals: Iterable[float], start: float, end: float
    ) -> ChangeAxis:
        """The same, of changes and ends of intervals; those without bounds are drawn at the end of the axis."""
        changes = [_position(metric, change) for change in told if math.isfinite(change)]
        ends = [_position(metric, value) for value in intervals]
        margin = 1.5 * max(_position(metric, metric.change_margin), -_position(metric, -metric.change_margin))
        most = max([margin, *map(abs, changes)]) * _LONGEST_INTERVAL
        low = min([-margin, *changes, *(max(value, -most) for value in ends)])
        high = max([margin, *changes, *(min(value, most) for value in ends)])
        room = (high - low) * 0.04
        return cls(metric, Scale(low - room, high + room, start, end))

    def __call__(self, change: float) -> float:
        return self.scale(_position(self.metric, change))

    def within(self, change: float) -> float:
        """The same, but not beyond the ends."""
        return min(max(self(change), self.scale.start), self.scale.end)

    def ticks(self) -> list[tuple[float, str]]:
        """(position, label), far enough apart for their labels."""
        if self.metric.scale == "difference":
            return [
                (self.scale(value), label) for value, label in self.scale.labelled_ticks(4, self.metric.format_change)
            ]
        found: list[tuple[float, str]] = []
        for pct in _TICKS_PCT:
            x = self(pct)
            if self.scale.start <= x <= self.scale.end and all(abs(x - other) >= _LABEL_WIDTH for other, _ in found):
                found.append((x, f"{pct:+d} %".replace("-", "−") if pct else "0"))
        return sorted(found)

    def background(self, top: float, bottom: float, label_y: Sequence[float]) -> list[Markup]:
        """Band of the margin, grid and zero; labels at these heights."""
        margin = self.metric.change_margin
        shapes = [rectangle(self(-margin), top, self(margin) - self(-margin), bottom - top, "margin")]
        for x, label in self.ticks():
            shapes.append(line(x, top, x, bottom, "grid"))
            half = len(label) * 3.1
            at = min(max(x, self.scale.start - 8 + half), self.scale.end + 8 - half)
            shapes += [text(at, y, label, "middle", "faint") for y in label_y]
        return [*shapes, line(self(0.0), top, self(0.0), bottom, "zero")]


def _position(metric: Metric, change: float) -> float:
    return math.log1p(max(change, -99.9) / 100) if metric.scale == "ratio" else change
