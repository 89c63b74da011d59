"""Pictures of simulated loads, after figures 8, 11, 12 and 13 of Marx et al. 2019: what was sent when, and how that helped.

Imports neither statistics nor storage, so that `simulate` starts at once.
"""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from mixedsched.core.sim.load import PlayedLoad
from mixedsched.core.sim.record import Weighting
from mixedsched.errors import UsageError
from mixedsched.report.simulation._loads import WIDTH, PageGroup, Panel
from mixedsched.report.simulation._sections import Sections, colour_rules, kind_class, render_html, sections_of
from mixedsched.report.simulation._strip import strip_text
from mixedsched.report.svg import Stack, element, line, style_sheet, svg_file, text

__all__ = ["render_plot", "strip_text", "write_plot"]

_SUFFIXES = (".svg", ".html")
_MARGIN = 24.0
_CHARACTERS = 178  # that fit on a line of the explanations


def write_plot(loads: Sequence[PlayedLoad], path: Path, weighting: Weighting = "bytes") -> None:
    """Draw loads into a file: `.svg` is one picture that stands alone, `.html` a page with the same pictures and figures.

    loads: of one or many pages under one or many schemes, at least one; the order of pages and of rows is theirs. weighting: of
    the ByteIndex. The same loads give the same bytes. Raises UsageError for another suffix or no loads, OSError if it cannot be
    written.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"no picture can be written to '{path}'", fix=f"its name must end in {' or '.join(_SUFFIXES)}")
    path.write_text(render_plot(loads, path.suffix.lower(), weighting), encoding="utf-8")


def render_plot(loads: Sequence[PlayedLoad], suffix: str, weighting: Weighting = "bytes") -> str:
    """The text of the file that write_plot writes. Raises UsageError if there are no loads."""
    if not loads:
        raise UsageError("there are no loads to draw")
    sections = sections_of(loads, weighting)
    return _svg(sections) if suffix == ".svg" else render_html(sections)


def _svg(sections: Sections) -> str:
    """The picture as text."""
    stack = Stack(_MARGIN, _CHARACTERS)
    stack.put(32, text(0, 20, sections.title, class_="title"))
    stack.words(sections.summary)
    for panel in sections.overview:
        _put(stack, panel)
    for section in sections.pages:
        if len(sections.groups) > 1:
            stack.y += 26
            stack.put(8, line(0, 0, WIDTH, 0, "axis"))
            stack.put(26, text(0, 16, section.group.page.name, class_="title"))
            stack.words(section.why)
        stack.put(24, _kind_key(section.group))
        for panel in section.panels:
            _put(stack, panel)
    style = f"{style_sheet('simulation.css')}{colour_rules(sections)}"
    return svg_file(sections.title, "sim", style, WIDTH + 2 * _MARGIN, stack.y + _MARGIN, *stack.shapes)


def _put(stack: Stack, panel: Panel) -> None:
    stack.y += 20
    stack.put(24, text(0, 14, panel.title, class_="heading"))
    stack.words(panel.reading)
    stack.y += 10
    stack.put(panel.height, *panel.shapes, role="img", aria_label=panel.spoken)


def _kind_key(group: PageGroup) -> Markup:
    """The hues of the kinds that the page has: strong above the fold, pale elsewhere."""
    shapes, x = [], 0.0
    for kind in group.kinds:
        shapes += [
            element("path", d=f"M{x:g} 10h11", stroke_width=11, class_=kind_class(kind, strong=True)),
            element("path", d=f"M{x + 11:g} 10h11", stroke_width=11, class_=kind_class(kind, strong=False)),
            text(x + 27, 14, kind.value),
        ]
        x += 46 + 7 * len(kind.value)
    return element("g", *shapes, text(x + 4, 14, "strong: above the fold, pale: the rest", class_="faint"))
