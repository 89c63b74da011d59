"""All pictures as one SVG file that stands alone: own style, own text, light and dark."""

from __future__ import annotations

import textwrap
from importlib import resources

from markupsafe import Markup

from mixedsched.report._svg import element, line, text
from mixedsched.report.simulation._loads import PageGroup
from mixedsched.report.simulation._panel import WIDTH, Panel
from mixedsched.report.simulation._sections import Sections, colour_rules, kind_class

_MARGIN = 24.0
_LINE = 16.0
_CHARACTERS = 178  # that fit on a line of the explanations


def render_svg(sections: Sections) -> str:
    """The picture as text."""
    stack = _Stack()
    stack.put(text(0, 20, sections.title, class_="title"), 32)
    stack.words(sections.summary)
    for panel in sections.overview:
        stack.panel(panel)
    for section in sections.pages:
        if len(sections.groups) > 1:
            stack.gap(26)
            stack.put(line(0, 0, WIDTH, 0, "axis"), 8)
            stack.put(text(0, 16, section.group.page.name, class_="title"), 26)
            stack.words(section.why)
        stack.put(_kind_key(section.group), 24)
        for panel in section.panels:
            stack.panel(panel)
    return stack.drawn(sections)


class _Stack:
    """Shapes below each other."""

    def __init__(self) -> None:
        self._y = _MARGIN
        self._shapes: list[Markup] = []

    def gap(self, height: float) -> None:
        self._y += height

    def put(self, shape: Markup, height: float) -> None:
        self._shapes.append(element("g", shape, transform=f"translate({_MARGIN:g} {self._y:g})"))
        self._y += height

    def words(self, content: str) -> None:
        for part in textwrap.wrap(content, _CHARACTERS):
            self.put(text(0, 11, part, class_="faint"), _LINE)

    def panel(self, panel: Panel) -> None:
        self.gap(20)
        self.put(text(0, 14, panel.title, class_="heading"), 24)
        self.words(panel.reading)
        self.gap(10)
        self.put(element("g", *panel.shapes, role="img", aria_label=panel.spoken), panel.height)

    def drawn(self, sections: Sections) -> str:
        width, height = WIDTH + 2 * _MARGIN, self._y + _MARGIN
        style = resources.files("mixedsched.report").joinpath("templates/simulation.css").read_text(encoding="utf-8")
        picture = element(
            "svg",
            element("title", sections.title),
            element("style", Markup("\n"), Markup(style), colour_rules(sections)),  # noqa: S704  our own file
            element("rect", width=width, height=height, class_="paper"),
            *self._shapes,
            xmlns="http://www.w3.org/2000/svg",
            class_="sim",
            viewBox=f"0 0 {width:g} {height:g}",
            width=width,
            height=height,
        )
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{picture}\n'


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
