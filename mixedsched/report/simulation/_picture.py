"""All pictures as one SVG file that stands alone: own style, own text, light and dark."""

from __future__ import annotations

from markupsafe import Markup

from mixedsched.report.simulation._loads import PageGroup
from mixedsched.report.simulation._panel import WIDTH, Panel
from mixedsched.report.simulation._sections import Sections, colour_rules, kind_class
from mixedsched.report.svg import Stack, element, line, style_sheet, svg_file, text

_MARGIN = 24.0
_CHARACTERS = 178  # that fit on a line of the explanations


def render_svg(sections: Sections) -> str:
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
