"""Figures as papers draw them, as SVG files: distributions over sites, values site by site, ours beside theirs."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mixedsched.report.papers.verdicts import Finding
from mixedsched.report.svg import (
    Scale,
    Stack,
    element,
    line,
    moved,
    rectangle,
    style_sheet,
    svg_file,
    text,
    tooltip,
    x_grid,
    y_grid,
)

WIDTH, MARGIN = 1000.0, 20.0
INNER = WIDTH - 2 * MARGIN
_COLOURS = 6
_ROW = 18.0
_CHARACTERS = 160  # of a line of words


@dataclass(frozen=True, slots=True)
class Curve:
    """A distribution over sites: (value, share of sites up to it, whether its test calls it significant), smallest first."""

    label: str
    points: Sequence[tuple[float, float, bool]]


@dataclass(frozen=True, slots=True)
class CurvesPanel:
    """One plot of curves."""

    title: str
    curves: Sequence[Curve]
    note: str = ""  # below the title: how much there is


def curves_figure(
    title: str,
    words: Sequence[str],
    rows: Sequence[Sequence[CurvesPanel]],
    *,
    x_label: str,
    span: tuple[float, float] = (-50.0, 50.0),
    bounds: Sequence[float] = (-5.0, 5.0),
) -> str:
    """Cumulative distributions, thin where a site is not significant.

    span: of all axes; values beyond are drawn at its end. bounds: where vertical lines stand, beyond which sites are counted.
    """
    labels = list(dict.fromkeys(curve.label for row in rows for panel in row for curve in panel.curves))
    stack = begun(title, [*words, f"Across: {x_label}. Upwards: share of sites."], labels)
    for row in rows:
        width = (INNER - 16 * (len(row) - 1)) / max(1, len(row))
        shapes = [
            moved((width + 16) * place, 0, *_curves(panel, labels, width, span, bounds))
            for place, panel in enumerate(row)
        ]
        stack.put(236, *shapes)
    return filed(title, stack)


def _curves(
    panel: CurvesPanel, labels: Sequence[str], width: float, span: tuple[float, float], bounds: Sequence[float]
) -> list[Markup]:
    x, y = Scale(*span, 34, width - 4), Scale(0, 1, 196, 36)
    shapes = [text(34, 13, panel.title, class_="heading"), text(34, 28, panel.note, class_="faint")]
    shapes.append(rectangle(x.start, y.end, x.end - x.start, y.start - y.end, "plot"))
    shapes += x_grid(x, y.end, y.start, y.start + 14, lambda tick: f"{tick:g} %", about=4)
    shapes += y_grid(y, x.start, x.end, lambda share: f"{share:g}", about=4, label_look="faint")
    shapes += [line(x(bound), y.end, x(bound), y.start, "axis") for bound in bounds]
    shapes.append(line(x(0), y.end, x(0), y.start, "zero"))
    for curve in panel.curves:
        shapes += _steps(curve, f"c{labels.index(curve.label) % _COLOURS}", x, y)
    return shapes


def _steps(curve: Curve, colour: str, x: Scale, y: Scale) -> list[Markup]:
    """Each site's step as a path of its own kind, thin or not; neighbours of one kind are one path."""
    shapes, share = [], 0.0
    end = (x.start, y(0.0))
    for is_strong, group in itertools.groupby(curve.points, key=lambda point: point[2]):
        path = [f"M{end[0]:.1f} {end[1]:.1f}"]
        for value, share, _ in group:
            at = x(min(max(value, x.low), x.high))
            path.append(f"H{at:.1f}V{y(share):.1f}")
            end = (at, y(share))
        shapes.append(
            element(
                "path", tooltip(curve.label), d="".join(path), class_=f"line {colour}{'' if is_strong else ' thin'}"
            )
        )
    if curve.points:
        shapes.append(element("path", d=f"M{end[0]:.1f} {end[1]:.1f}H{x.end:.1f}", class_=f"line {colour} thin"))
    return shapes


@dataclass(frozen=True, slots=True)
class DotsPanel:
    """One plot of values site by site."""

    title: str
    values: Sequence[tuple[str, Sequence[float]]]  # by label of a series: one value a site, NaN where there is none


def dots_figure(
    title: str,
    words: Sequence[str],
    sites: Sequence[str],
    panels: Sequence[DotsPanel],
    *,
    span: tuple[float, float] = (-1.0, 1.0),
) -> str:
    """Values of sites, from left to right as they are given, with a name for each as a tooltip."""
    labels = list(dict.fromkeys(label for panel in panels for label, _ in panel.values))
    stack = begun(title, words, labels)
    x = Scale(-0.5, max(1, len(sites)) - 0.5, 34, INNER - 4)
    for panel in panels:
        y = Scale(*span, 150, 24)
        shapes = [text(34, 14, panel.title, class_="heading")]
        shapes.append(rectangle(x.start, y.end, x.end - x.start, y.start - y.end, "plot"))
        shapes += y_grid(y, x.start, x.end, lambda tick: f"{tick:+g}", about=4, label_look="faint")
        shapes.append(line(x.start, y(0), x.end, y(0), "zero"))
        for label, values in panel.values:
            colour = f"c{labels.index(label) % _COLOURS}"
            for place, value in enumerate(values):
                if not math.isnan(value):
                    hint = tooltip(f"{sites[place]}, {label}: {value:+.2f}")
                    shapes.append(element("circle", hint, cx=x(place), cy=y(value), r=3.2, class_=f"dot {colour}"))
        stack.put(170, *shapes)
    return filed(title, stack)


@dataclass(frozen=True, slots=True)
class BesideRow:
    """What a paper says of something, and what we found of it."""

    label: str
    published: float | None
    found: Sequence[tuple[str, Finding]]  # by label of a series


def beside_figure(
    title: str,
    words: Sequence[str],
    rows: Sequence[BesideRow],
    *,
    unit: str = "%",
    span: tuple[float, float] | None = None,
) -> str:
    """A line a row: the paper's value as a cross, ours as dots on their intervals, hollow where they are too few."""
    labels = list(dict.fromkeys(label for row in rows for label, _ in row.found))
    crosses = ["Crosses: published."] if any(row.published is not None for row in rows) else []
    stack = begun(title, [*words, *crosses], labels)
    numbers = [value for row in rows for value in _numbers_of(row) if math.isfinite(value)] or [0.0]
    low, high = span or (min(0.0, *numbers), max(0.0, *numbers))
    room = (high - low) * 0.04 or 1.0
    x = Scale(low - room, high + room, 250, INNER - 8)
    heights = [max(1, len(row.found)) * 9 + _ROW - 6 for row in rows]
    bottom = sum(heights)
    shapes = [rectangle(x.start, 0, x.end - x.start, bottom, "plot")]
    shapes += x_grid(x, 0, bottom, bottom + 14, lambda tick: f"{tick:g} {unit}".rstrip(), about=8)
    shapes.append(line(x(0), 0, x(0), bottom, "zero"))
    for row, height, top in zip(rows, heights, itertools.accumulate(heights, initial=0.0), strict=False):
        shapes += [moved(0, top, *_beside(row, labels, x, height, unit))]
    stack.put(bottom + 24, *shapes)
    return filed(title, stack)


def _numbers_of(row: BesideRow) -> list[float]:
    return [
        *([] if row.published is None else [row.published]),
        *(n for _, f in row.found for n in (f.low, f.high, f.value)),
    ]


def _beside(row: BesideRow, labels: Sequence[str], x: Scale, height: float, unit: str) -> list[Markup]:
    middle = height / 2

    def at(value: float) -> float:
        return x(min(max(value, x.low), x.high))

    shapes = [text(x.start - 8, middle + 4, row.label, "end")]
    for place, (label, found) in enumerate(row.found):
        if not math.isfinite(found.value):
            continue
        y = middle + 9 * (place - (len(row.found) - 1) / 2)
        colour = f"c{labels.index(label) % _COLOURS}"
        hint = tooltip(
            f"{row.label}, {label}: {found.value:+.1f} {unit} ({found.low:+.1f} to {found.high:+.1f}), of {found.units}"
        )
        if math.isfinite(found.low) and math.isfinite(found.high):
            shapes.append(line(at(found.low), y, at(found.high), y, f"interval {colour}"))
        look = "dot" if found.is_enough else "dot hollow"
        shapes.append(element("circle", hint, cx=at(found.value), cy=y, r=3.6, class_=f"{look} {colour}"))
    if row.published is not None:
        hint = tooltip(f"published: {row.published:+g} {unit}")
        cross = element("path", hint, d="M-5 -5L5 5M-5 5L5 -5", class_="published")
        shapes.append(moved(at(row.published), middle, cross))
    return shapes


def begun(title: str, words: Sequence[str], labels: Sequence[str]) -> Stack:
    """Title, words and the key of colours."""
    stack = Stack(MARGIN, _CHARACTERS)
    stack.put(26, text(0, 14, title, class_="title"))
    for part in words:
        stack.words(part)
    shapes, x = [], 0.0
    for place, label in enumerate(labels):
        shapes += [line(x, 8, x + 22, 8, f"line c{place % _COLOURS}"), text(x + 27, 12, label)]
        x += 52 + 6.6 * len(label)
    if shapes:
        stack.put(26, *shapes)
    return stack


def filed(title: str, stack: Stack) -> str:
    return svg_file(title, "paperfig", style_sheet("papers.css"), WIDTH, stack.y + MARGIN / 2, *stack.shapes)
