"""One page over weeks: how an arm compares with the baseline that was loaded beside it, result by result.

The baseline is the canary: machine, browser and network change over weeks, and with them every number of milliseconds, but they
change for both arms of a block alike.
"""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mixedsched.report.svg import Scale, drawing, element, line, text, tooltip
from mixedsched.report.view._words import day_text
from mixedsched.report.view.folders import Folder
from mixedsched.report.view.summary import EffectLine, ResultKind
from mixedsched.units import counted

_KINDS = (ResultKind.COMPARE, ResultKind.STUDY)
_WIDTH, _HEIGHT = 760.0, 230.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 16.0, 14.0, 34.0
_POINTS_MOST = 400
_CHANGE_MOST = 1e6  # what is beyond is no measurement


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """An effect, and the result that showed it."""

    folder: Folder
    effect: EffectLine


@dataclass(frozen=True, slots=True)
class Series:
    """The same question, asked several times."""

    arm: str
    baseline: str
    metric: str  # as people say
    points: tuple[HistoryPoint, ...]  # oldest first

    @property
    def picture(self) -> Markup:
        return _picture(self)


@dataclass(frozen=True, slots=True)
class PageHistory:
    """All that was measured of a page over a network."""

    site: str
    link: str
    series: tuple[Series, ...]

    @property
    def id(self) -> str:
        return hashlib.sha256(f"{self.site}\0{self.link}".encode(errors="surrogateescape")).hexdigest()[:16]

    @property
    def results(self) -> int:
        return len({point.folder.id for item in self.series for point in item.points})

    @property
    def latest_s(self) -> float:
        return max(point.folder.when_s for item in self.series for point in item.points)


def histories(folders: Iterable[Folder]) -> list[PageHistory]:
    """By page and network, those with the latest news first. Only what a browser has loaded changes with time."""
    found: dict[tuple[str, str], dict[tuple[str, str, str], list[HistoryPoint]]] = {}
    for folder in sorted(folders, key=lambda item: item.when_s):
        summary = folder.summary
        if summary is None or summary.kind not in _KINDS or summary.rung != "browser":
            continue
        for effect in summary.effects:
            if effect.is_primary and effect.site and _is_drawn(effect.change):
                series = found.setdefault((effect.site, effect.link), {})
                series.setdefault((effect.arm, effect.baseline, effect.name), []).append(HistoryPoint(folder, effect))
    pages = [
        PageHistory(site, link, tuple(Series(*names, tuple(points)) for names, points in series.items()))
        for (site, link), series in found.items()
    ]
    return sorted(pages, key=lambda item: (-item.latest_s, item.site, item.link))


def _picture(series: Series) -> Markup:
    """Changes with their intervals over time; below nought is better."""
    points = series.points[-_POINTS_MOST:]
    values = [
        value
        for point in points
        for value in (point.effect.change, point.effect.low, point.effect.high)
        if value is not None and _is_drawn(value)
    ]
    low, high = min([0.0, *values]), max([0.0, *values])
    metric = points[0].effect.of
    room = (high - low) * 0.08 or (1.0 if metric is None else metric.change_margin)
    across = Scale(low - room, high + room, _HEIGHT - _BOTTOM, _TOP)
    times = [point.folder.when_s for point in points]
    along = Scale(min(times), max(times), _LEFT + 12, _WIDTH - _RIGHT - 12)
    shapes = [line(_LEFT, across(0), _WIDTH - _RIGHT, across(0), "zero")]
    for value, told in across.labelled_ticks(5, "{:g}".format if metric is None else metric.format_change):
        if value:  # nought has a line of its own
            shapes.append(line(_LEFT, across(value), _WIDTH - _RIGHT, across(value), "grid"))
            shapes.append(text(_LEFT - 6, across(value) + 4, told, "end", "faint"))
    shapes += _dates(times, along)
    shapes += [_mark(point, along(point.folder.when_s), across) for point in points]
    label = (
        f"{series.metric} of {series.arm} against {series.baseline}: {counted(len(points), 'result')}, "
        f"the latest {points[-1].effect.change_text}; the table says the same"
    )
    return drawing(_WIDTH, _HEIGHT, label, *shapes)


def _mark(point: HistoryPoint, x: float, across: Scale) -> Markup:
    effect = point.effect
    interval = effect.interval_text or "no interval"
    hint = tooltip(f"{day_text(point.folder.when_s)}: {effect.change_text} ({interval}), {effect.verdict}")
    shapes = [element("circle", hint, cx=x, cy=across(effect.change or 0.0), r=4.5, class_="effect-dot")]
    if effect.low is not None and effect.high is not None and _is_drawn(effect.low) and _is_drawn(effect.high):
        shapes.insert(0, line(x, across(effect.low), x, across(effect.high), "effect"))
    return element("g", *shapes, class_=effect.verdict if effect.verdict.isalpha() else None)


def _is_drawn(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and abs(value) <= _CHANGE_MOST


def _dates(times: Sequence[float], along: Scale) -> list[Markup]:
    """The first and the last day, and some between."""
    first, last = min(times), max(times)
    moments = [first] if last - first < 1 else [first + (last - first) * part / 4 for part in range(5)]
    shown: list[Markup] = []
    for number, moment in enumerate(moments):
        anchor = "start" if number == 0 and len(moments) > 1 else "end" if number == 4 else "middle"
        shown.append(text(along(moment), _HEIGHT - 12, day_text(moment), anchor, "faint"))
    return shown
