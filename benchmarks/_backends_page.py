"""Table and figure of docs/networks.md about pages over several back ends, out of what `benchmarks.backends` has stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from markupsafe import Markup

from benchmarks._networks_figures import WIDTH, document
from benchmarks._networks_page import replace_between
from mixedsched.core.stats import median_interval
from mixedsched.report.svg import Scale, element, line, text, tooltip
from mixedsched.units import format_bytes, format_ms

BEGIN, END = "<!-- pages: begin -->", "<!-- pages: end -->"
PLACES = ("relay", "vm", "netns", "stack")
_PLACE_NAMES = {"relay": "relay", "vm": "router VM", "netns": "namespaces", "stack": "rung stack, no browser"}


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is compared. key: of a row."""

    key: str
    title: str

    def format(self, value: float) -> str:
        return format_bytes(value) if self.key == "hol_bytes" else format_ms(value)


QUANTITIES = (
    Quantity("fcp_ms", "FCP"),
    Quantity("lcp_ms", "LCP"),
    Quantity("si_ms", "Speed Index"),
    Quantity("finished_ms", "complete"),
    Quantity("hol_bytes", "HOL"),
)


@dataclass(frozen=True, slots=True)
class Pages:
    """All loads of one site over one link."""

    site: str
    link: str
    rows: Sequence[dict[str, Any]]
    machine: dict[str, Any]
    left_out: dict[str, str]

    @property
    def schemes(self) -> list[str]:
        return list(dict.fromkeys(row["scheme"] for row in self.rows))

    @property
    def places(self) -> list[str]:
        return [place for place in PLACES if any(row["where"] == place for row in self.rows)]

    def values(self, place: str, scheme: str, key: str) -> list[float]:
        rows = (row for row in self.rows if row["where"] == place and row["scheme"] == scheme)
        return [float(row[key]) for row in rows if row.get(key) is not None]


def write_page(results: Path, docs: Path) -> list[Path]:
    """Returns the files written; none where nothing is stored."""
    stored = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(results.glob("pages-*.json"))]
    found = [
        Pages(item["site"], item["link"], item["rows"], item["machine"], item["left_out"])
        for item in stored
        if item["rows"]
    ]
    if not found:
        return []
    lines, written = [""], []
    for pages in found:
        file = docs / "images" / f"networks-pages-{pages.site}-{pages.link}.svg"
        file.write_text(figure(pages), encoding="utf-8")
        written.append(file)
        lines += table(pages, file.name)
    page = docs / "networks.md"
    replace_between(page, BEGIN, END, "\n".join(lines))
    return [*written, page]


def table(pages: Pages, picture: str) -> list[str]:
    """Lines of Markdown: medians with their 95 % intervals."""
    titles = ["scheme", "where", "loads", *(quantity.title for quantity in QUANTITIES)]
    lines = [f"`{pages.site}` over `{pages.link}`, load average {pages.machine['load_before']} before:", ""]
    lines += [f"![{pages.site} over {pages.link} on all back ends](images/{picture})", ""]
    lines += [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for scheme in pages.schemes:
        for place in pages.places:
            loads = len(pages.values(place, scheme, "finished_ms"))
            cells = [_cell(pages.values(place, scheme, quantity.key), quantity) for quantity in QUANTITIES]
            lines.append(f"| {' | '.join([scheme, _PLACE_NAMES[place], str(loads), *cells])} |")
    lines += [
        "",
        *(f"Left out: {_PLACE_NAMES[place]}. {why[:1].upper()}{why[1:]}." for place, why in pages.left_out.items()),
    ]
    return [*lines, ""]


def _cell(values: Sequence[float], quantity: Quantity) -> str:
    if not values:
        return "–"
    interval = median_interval(values)
    return f"{quantity.format(median(values))} ({quantity.format(interval.low)} to {quantity.format(interval.high)})"


def figure(pages: Pages) -> str:
    """A panel for each quantity; in it a row for each scheme and place: a dot for each load, a bar at the median."""
    left, gap, top, step = 78.0, 22.0, 56.0, 15.0
    width = (WIDTH - left - gap * (len(QUANTITIES) - 1)) / len(QUANTITIES)
    row_height = step * len(pages.places) + 12
    shapes = _key(pages.places)
    for place, scheme in enumerate(pages.schemes):
        shapes.append(text(left - 10, top + place * row_height + row_height / 2, scheme, "end"))
    bottom = top + row_height * len(pages.schemes)
    for column, quantity in enumerate(QUANTITIES):
        start = left + column * (width + gap)
        everything = [
            value
            for place in pages.places
            for scheme in pages.schemes
            for value in pages.values(place, scheme, quantity.key)
        ]
        across = Scale(0, 1.08 * max([*everything, 1.0]), start, start + width)
        shapes.append(text(start, top - 14, quantity.title, class_="row"))
        shapes.append(line(start, bottom, start + width, bottom, "axis"))
        shapes += [
            text(across(tick), bottom + 13, _tick(quantity, tick), "middle", "small") for tick in across.ticks(2)
        ]
        for row, scheme in enumerate(pages.schemes):
            for order, where in enumerate(pages.places):
                y = top + row * row_height + step * (order + 0.5)
                shapes += _dots(pages.values(where, scheme, quantity.key), quantity, across, y, PLACES.index(where))
    return document(f"{pages.site} over {pages.link} on all back ends: every load, and the median", bottom + 20, shapes)


def _tick(quantity: Quantity, value: float) -> str:
    return "0" if not value else quantity.format(value)


def _dots(values: Sequence[float], quantity: Quantity, across: Scale, y: float, order: int) -> list[Markup]:
    shapes = [
        element(
            "circle",
            tooltip(quantity.format(value)),
            cx=across(value),
            cy=y,
            r=3,
            class_=f"point end-{order}",
            fill_opacity=0.5,
        )
        for value in values
    ]
    if values:
        middle = across(median(values))
        shapes.append(element("path", d=f"M{middle:.1f} {y - 6:.1f}v12", class_=f"whisker end-{order}"))
    return shapes


def _key(places: Sequence[str]) -> list[Markup]:
    shapes: list[Markup] = []
    x = 0.0
    for place in places:
        shapes.append(element("circle", cx=x + 5, cy=14, r=4, class_=f"point end-{PLACES.index(place)}"))
        shapes.append(text(x + 14, 18, _PLACE_NAMES[place]))
        x += 34 + 6.6 * len(_PLACE_NAMES[place])
    return shapes
