"""Stacked bars, a bar a site: how many of which kind, or which share of them."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mixedsched.report.papers.figures import INNER, begun, filed
from mixedsched.report.svg import Scale, line, rectangle, text, y_grid

_HEIGHT = 190.0


@dataclass(frozen=True, slots=True)
class BarsPanel:
    """One plot. parts: by label of a kind, its amount at each site."""

    title: str
    parts: Mapping[str, Sequence[float]]
    unit: str = ""


def bars_figure(title: str, words: Sequence[str], sites: Sequence[str], panels: Sequence[BarsPanel]) -> str:
    """Panels below each other, sites from left to right as they are given."""
    labels = list(dict.fromkeys(label for panel in panels for label in panel.parts))
    stack = begun(title, words, labels)
    for panel in panels:
        stack.put(_HEIGHT + 26, *_bars(panel, sites, labels))
    return filed(title, stack)


def _bars(panel: BarsPanel, sites: Sequence[str], labels: Sequence[str]) -> list[Markup]:
    totals = [sum(amounts[place] for amounts in panel.parts.values()) for place in range(len(sites))]
    x, y = Scale(-0.5, len(sites) - 0.5, 54, INNER - 4), Scale(0, max(totals, default=0) or 1, _HEIGHT - 20, 24)
    shapes = [text(54, 14, panel.title, class_="heading")]
    shapes += y_grid(y, x.start, x.end, lambda tick: f"{tick:g} {panel.unit}".rstrip(), about=4, label_look="faint")
    half = 0.34 * (x(1) - x(0))
    for place, site in enumerate(sites):
        tops = list(itertools.accumulate((amounts[place] for amounts in panel.parts.values()), initial=0.0))
        for label, (low, high) in zip(panel.parts, itertools.pairwise(tops), strict=True):
            hint = f"{site}, {label}: {high - low:g} {panel.unit}".rstrip()
            look = f"bar c{labels.index(label) % 6}"
            shapes.append(rectangle(x(place) - half, y(high), 2 * half, y(low) - y(high), look, hint))
        shapes.append(text(x(place), _HEIGHT - 4, site, "middle"))
    shapes.append(line(x.start, y(0), x.end, y(0), "axis"))
    return shapes
