"""The little that charts need: escaped SVG elements, a linear scale, round tick values, files that stand alone.

Written by hand: strips, forests, waterfalls and schedules are rectangles, lines and text that no plotting library offers as
they are needed here, and what those write needs megabytes of scripts, or has no tooltips.
"""

import math
import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import resources

from markupsafe import Markup, escape

Attribute = str | float | None

# What neither XML nor HTML can hold, in whatever way it is written.
_NO_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def element(tag: str, *children: str, **attributes: Attribute) -> Markup:
    """One element. Text children are escaped, Markup is taken as it is; an attribute of None is left out.

    Attribute names: a trailing underscore is dropped (class_), others become hyphens (text_anchor).
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_written(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    inner = Markup("").join(children)
    return Markup(f"<{tag}{written}>{inner}</{tag}>") if inner else Markup(f"<{tag}{written}/>")  # noqa: S704  parts are escaped


def _written(value: str | float) -> str:
    """Numbers with two decimals at most: a hundredth of a pixel is enough, and files stay small."""
    if isinstance(value, str):
        return str(escape(value))
    return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"


def drawing(width: float, height: float, label: str, *children: str, class_: str = "") -> Markup:
    """A whole inline picture. label: its description for readers who cannot see it."""
    return element(
        "svg",
        *children,
        class_=f"chart {class_}".strip(),
        viewBox=f"0 0 {_written(width)} {_written(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
    )


def svg_file(title: str, class_: str, style: str, width: float, height: float, *children: str) -> str:
    """A picture that stands alone, as the text of a file. class_: of the whole. style: its style sheet."""
    picture = element(
        "svg",
        element("title", title),
        element("style", Markup("\n"), Markup(style)),  # noqa: S704  our own text
        element("rect", width=width, height=height, class_="paper"),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        class_=class_ or None,
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        style="max-width:100%;height:auto",
    )
    return storable(f'<?xml version="1.0" encoding="UTF-8"?>\n{picture}\n')


def storable(document: str) -> str:
    """A document with replacement characters for what none can hold: names in it come from files and may hold anything."""
    return _NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", document)


def style_sheet(name: str) -> str:
    """A style sheet of the documents, by the name of its file."""
    return resources.files("mixedsched.report").joinpath("templates", name).read_text(encoding="utf-8")


def moved(x: float, y: float, *shapes: str, **attributes: Attribute) -> Markup:
    """Shapes as a group whose origin is at x, y."""
    return element("g", *shapes, transform=f"translate({x:g} {y:g})", **attributes)


class Stack:
    """Shapes and paragraphs below each other, for pictures that stand alone. characters: how many fit on a line of text."""

    def __init__(self, margin: float, characters: int) -> None:
        self.shapes: list[Markup] = []
        self.y = self._margin = margin
        self._characters = characters

    def put(self, height: float, *shapes: str, **attributes: Attribute) -> None:
        """Shapes, and the height that they take."""
        self.shapes.append(moved(self._margin, self.y, *shapes, **attributes))
        self.y += height

    def words(self, content: str) -> None:
        for part in textwrap.wrap(content, self._characters):
            self.put(16, text(0, 11, part, class_="faint"))


def tooltip(text: str) -> Markup:
    return element("title", text)


def text(x: float, y: float, content: str, anchor: str = "start", class_: str | None = None) -> Markup:
    return element("text", content, x=x, y=y, text_anchor=anchor if anchor != "start" else None, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def rectangle(x: float, y: float, width: float, height: float, class_: str, hint: str = "") -> Markup:
    """A rectangle, at least a hairline wide, with a tooltip if there is a hint."""
    inner = (tooltip(hint),) if hint else ()
    return element("rect", *inner, x=x, y=y, width=max(width, 0.75), height=height, class_=class_)


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map from values low..high to positions start..end. Equal values all land in the middle."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        if self.high == self.low:
            return (self.start + self.end) / 2
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, about: int, at_least: int = 2) -> list[float]:
        """Round values (1, 2 or 5 times a power of ten apart) within the scale: some `about` of them, or a few more."""
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        step = round_step(span / max(1, about))
        while True:
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            if last - first + 1 >= at_least:
                return [index * step for index in range(first, last + 1)]
            step = round_step(step / 2.5)

    def labelled_ticks(self, about: int, tell: Callable[[float], str]) -> list[tuple[float, str]]:
        """The same with their labels, and fewer of them where labels of digits left out would repeat."""
        told: list[tuple[float, str]] = []
        for fewer in range(about, 0, -1):
            told = [(tick, tell(tick)) for tick in self.ticks(fewer)]
            if len({label for _, label in told}) == len(told):
                return told
        return [item for place, item in enumerate(told) if place == 0 or item[1] != told[place - 1][1]]


def x_grid(
    scale: Scale,
    top: float,
    bottom: float,
    label_y: float,
    tell: Callable[[float], str],
    *,
    about: int,
    look: str = "grid",
    label_look: str | None = "faint",
) -> list[Markup]:
    """Vertical lines at round values, each with its label at the height label_y. about: how many. look: class of the lines."""
    return [
        shape
        for tick, label in scale.labelled_ticks(about, tell)
        for shape in (
            line(scale(tick), top, scale(tick), bottom, look),
            text(scale(tick), label_y, label, "middle", label_look),
        )
    ]


def y_grid(
    scale: Scale, left: float, right: float, tell: Callable[[float], str], *, about: int, label_look: str | None = None
) -> list[Markup]:
    """Horizontal lines at round values, each with its label on the left."""
    return [
        shape
        for tick, label in scale.labelled_ticks(about, tell)
        for shape in (
            line(left, scale(tick), right, scale(tick), "grid"),
            text(left - 5, scale(tick) + 4, label, "end", label_look),
        )
    ]


def round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10 ... times a power of ten that is not below `least` (> 0)."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


def span_of(values: Iterable[float], padding_ratio: float = 0.06) -> tuple[float, float]:
    """Lowest and highest value with some room; (0, 1) if there is none."""
    listed = list(values)
    if not listed:
        return 0.0, 1.0
    low, high = min(listed), max(listed)
    room = (high - low) * padding_ratio or abs(high) * padding_ratio or 1.0
    return low - room, high + room


def shortened(content: str, length: int) -> str:
    """`content` with its middle left out where it is longer than `length` characters."""
    if len(content) <= length:
        return content
    head = (length - 1) // 3
    return f"{content[:head]}…{content[len(content) - (length - 1 - head) :]}"
