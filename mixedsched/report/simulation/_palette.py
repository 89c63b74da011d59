"""Colours of resources: hue is the kind, shade distinguishes resources, strong colours are above the fold.

Colours are made in OKLCH (B. Ottosson 2020, as in CSS Color 4), where equal steps look equal, and written as plain sRGB,
which every reader of SVG knows. Kinds differ in lightness as well as in hue, for eyes that see fewer hues.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mixedsched.model.page import Resource
from mixedsched.model.request import Kind

_GOLDEN_RATIO = 0.618034  # its multiples spread shades so that neighbours never look alike


@dataclass(frozen=True, slots=True)
class _Hue:
    """A kind's colour in OKLCH."""

    degrees: float
    chroma: float
    lightness: float  # 0..1, on white paper


# The hues of the comparison report, with fonts moved away from style sheets.
_HUES: Mapping[Kind, _Hue] = {
    Kind.DOCUMENT: _Hue(248, 0.15, 0.52),
    Kind.STYLESHEET: _Hue(338, 0.16, 0.66),
    Kind.FONT: _Hue(14, 0.17, 0.46),
    Kind.SCRIPT: _Hue(72, 0.15, 0.76),
    Kind.IMAGE: _Hue(163, 0.13, 0.60),
    Kind.MEDIA: _Hue(225, 0.11, 0.74),
    Kind.XHR: _Hue(58, 0.07, 0.48),
    Kind.OTHER: _Hue(260, 0.015, 0.58),
}


@dataclass(frozen=True, slots=True)
class Colour:
    """One resource's colour on white and on black paper, as #rrggbb."""

    light: str
    dark: str


def colours_of(resources: Sequence[Resource], strong: frozenset[str]) -> dict[str, Colour]:
    """Colours by resource id. strong: ids that stand out; all others are pale (on black paper: dim)."""
    places: dict[tuple[Kind, bool], int] = {}
    colours = {}
    for item in resources:
        group = item.kind, item.id in strong
        place = places.get(group, 0)
        places[group] = place + 1
        colours[item.id] = _shade(_HUES[item.kind], place, item.id in strong)
    return colours


def kind_colour(kind: Kind, *, strong: bool) -> Colour:
    """The colour of a kind's first resource, for keys."""
    return _shade(_HUES[kind], 0, strong)


def _shade(hue: _Hue, place: int, strong: bool) -> Colour:
    turn = (place * _GOLDEN_RATIO + 0.5) % 1 - 0.5  # -0.5 .. 0.5, 0 for the first
    degrees = hue.degrees + 16 * turn
    if strong:
        lightness = hue.lightness + 0.14 * turn
        return Colour(oklch(lightness, hue.chroma, degrees), oklch(0.38 + 0.6 * lightness, hue.chroma, degrees))
    pale = 0.83 + 0.15 * (hue.lightness - 0.6) + 0.13 * turn
    dim = 0.38 + 0.15 * (hue.lightness - 0.6) + 0.13 * turn
    return Colour(oklch(pale, hue.chroma * 0.42, degrees), oklch(dim, hue.chroma * 0.38, degrees))


def oklch(lightness: float, chroma: float, degrees: float) -> str:
    """A colour as #rrggbb; what the screen cannot show is cut off per channel."""
    a, b = chroma * math.cos(math.radians(degrees)), chroma * math.sin(math.radians(degrees))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{_channel(value):02x}" for value in linear)


def _channel(linear: float) -> int:
    """A linear light value as an sRGB byte."""
    bounded = min(1.0, max(0.0, linear))
    curved = 12.92 * bounded if bounded <= 0.0031308 else 1.055 * bounded ** (1 / 2.4) - 0.055
    return round(255 * curved)
