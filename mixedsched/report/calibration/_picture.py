"""Simulated against measured largest paint, a small scatter for each site: one SVG that stands alone, light and dark."""

from collections.abc import Mapping

from markupsafe import Markup

from mixedsched.advice.calibration.result import Calibration, SiteResult
from mixedsched.report.calibration._terminal import number_words
from mixedsched.report.svg import (
    Scale,
    element,
    line,
    moved,
    rectangle,
    shortened,
    span_of,
    svg_file,
    text,
    tooltip,
    x_grid,
    y_grid,
)
from mixedsched.units import format_ms

METRIC = "lcp"
_COLUMNS, _CELL, _PLOT, _LEFT, _TOP, _HEAD = 5, 190.0, 140.0, 36.0, 36.0, 92.0
_STYLE = """
text{font:11px system-ui,sans-serif;fill:#1d1d1f}.title{font-size:15px;font-weight:600}
.site{font-weight:600}.faint{fill:#6b6b70}.paper{fill:#fff}.frame{fill:#f6f6f8}
.grid{stroke:#d2d2d7;stroke-width:1}.equal{stroke:#8e8e93;stroke-width:1;stroke-dasharray:3 3}
.before{fill:none;stroke:#b35900;stroke-width:1.2}.after{fill:#0059b3}
@media(prefers-color-scheme:dark){text{fill:#f5f5f7}.faint{fill:#a1a1a6}.paper{fill:#161618}.frame{fill:#1f1f22}
.grid{stroke:#3a3a3e}.equal{stroke:#6e6e73}.before{stroke:#ff9f40}.after{fill:#5ab0ff}}
"""


def calibration_picture(found: Calibration) -> str:
    """The picture as text. A circle is a scheme as the manifest's page was played, a dot the same with the fitted browser."""
    rows = -(-len(found.sites) // _COLUMNS)
    width, height = _COLUMNS * _CELL + 20, _HEAD + rows * (_CELL + 16) + 12
    shapes = [
        text(
            12,
            26,
            "Largest Contentful Paint by delivery scheme: simulated (up) against measured in Chromium (right)",
            class_="title",
        ),
        element("circle", cx=18, cy=46, r=3.4, class_="before"),
        text(28, 50, "page as listed, ideal browser"),
        element("circle", cx=218, cy=46, r=3.2, class_="after"),
        text(228, 50, "page as its loads showed it, fitted browser; on the dashed line both are the same"),
        text(
            12,
            70,
            "Figures: rank agreement (Spearman) before → after. Pale frames: the browser's own loads show no ranking.",
            class_="faint",
        ),
    ]
    for place, site in enumerate(found.sites):
        row, column = divmod(place, _COLUMNS)
        shapes.append(moved(10 + column * _CELL, _HEAD + row * (_CELL + 16), *_cell(site)))
    return svg_file("Simulated against measured Largest Contentful Paint", "", _STYLE, width, height, *shapes)


def _cell(site: SiteResult) -> list[Markup]:
    measured = site.measured_ms[METRIC]
    before, after = site.simulated_ms["manifest"][METRIC], site.simulated_ms["fitted"][METRIC]
    low, high = span_of([*measured.values(), *before.values(), *after.values()])
    across, up = Scale(low, high, _LEFT, _LEFT + _PLOT), Scale(low, high, _TOP + _PLOT, _TOP)
    agreement = [number_words(site.agreement[stage][METRIC].spearman) for stage in ("manifest", "fitted")]
    shapes = [
        text(_LEFT, 12, shortened(f"{site.site}, {site.link}", 25), class_="site"),
        text(
            _LEFT,
            27,
            " → ".join(agreement) + ("" if site.browser[METRIC].has_ranking else "  (no ranking)"),
            class_="faint",
        ),
        rectangle(_LEFT, _TOP, _PLOT, _PLOT, "frame" if site.browser[METRIC].has_ranking else "paper"),
    ]
    shapes += x_grid(across, _TOP, _TOP + _PLOT, _TOP + _PLOT + 12, lambda ms: f"{ms / 1000:g} s", about=3)
    shapes += y_grid(up, _LEFT, _LEFT + _PLOT, lambda ms: f"{ms / 1000:g}", about=3, label_look="faint")
    shapes.append(line(across(low), up(low), across(high), up(high), "equal"))
    return (
        shapes
        + _points(measured, before, across, up, "before", 3.4)
        + _points(measured, after, across, up, "after", 3.2)
    )


def _points(
    measured: Mapping[str, float], simulated: Mapping[str, float], across: Scale, up: Scale, class_: str, radius: float
) -> list[Markup]:
    return [
        element(
            "circle",
            tooltip(f"{name}: measured {format_ms(measured[name])}, simulated {format_ms(value)}"),
            cx=across(measured[name]),
            cy=up(value),
            r=radius,
            class_=class_,
        )
        for name, value in simulated.items()
    ]
