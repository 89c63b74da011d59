"""Pictures of networks as one SVG file that stands alone, or as an HTML page that needs no network and no script."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib import resources

from markupsafe import Markup

from mixedsched.model.profile import Profile
from mixedsched.report._svg import drawing, element, text
from mixedsched.report._templates import template
from mixedsched.report.networks._picture import COLUMN_WIDTH, picture_of

_MARGIN, _GAP = 24.0, 40.0
_WIDTH = 2 * COLUMN_WIDTH + _GAP
_CHARACTERS = 170  # that fit on a line


def render_html(profiles: Sequence[Profile], seed: int) -> str:
    pictures = [(profile, _inline(profile, seed)) for profile in profiles]
    return template("networks.html.j2").render(pictures=pictures, seed=seed, title=_title(profiles))


def render_svg(profiles: Sequence[Profile], seed: int) -> str:
    shapes: list[Markup] = []
    y = _MARGIN
    for profile in profiles:
        shapes.append(_at(y, text(0, 16, profile.name, class_="title")))
        y += 26
        for words in textwrap.wrap(f"{profile.description} Source: {profile.source}. Seed {seed}.", _CHARACTERS):
            shapes.append(_at(y, text(0, 11, words, class_="faint")))
            y += 16
        picture = picture_of(profile, seed)
        columns = [
            element("g", *column.shapes, transform=f"translate({place * (COLUMN_WIDTH + _GAP):g} 0)")
            for place, column in enumerate(picture.columns)
        ]
        spoken = "; ".join(column.spoken for column in picture.columns)
        shapes.append(_at(y + 8, element("g", *columns, role="img", aria_label=spoken)))
        y += picture.height + 40
    style = resources.files("mixedsched.report").joinpath("templates/networks.css").read_text(encoding="utf-8")
    width, height = _WIDTH + 2 * _MARGIN, y
    whole = element(
        "svg",
        element("title", _title(profiles)),
        element("style", Markup("\n"), Markup(style)),  # noqa: S704  our own file
        element("rect", width=width, height=height, class_="paper"),
        *shapes,
        xmlns="http://www.w3.org/2000/svg",
        class_="net",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        style="max-width:100%;height:auto",
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{whole}\n'


def _title(profiles: Sequence[Profile]) -> str:
    return f"The network {profiles[0].name}" if len(profiles) == 1 else f"{len(profiles)} networks"


def _inline(profile: Profile, seed: int) -> list[Markup]:
    """A drawing for each direction, so that the page can put the second one below the first where it is narrow."""
    picture = picture_of(profile, seed)
    return [
        drawing(COLUMN_WIDTH, picture.height, f"{profile.name}, {column.spoken}", *column.shapes, class_="net")
        for column in picture.columns
    ]


def _at(y: float, shape: Markup) -> Markup:
    return element("g", shape, transform=f"translate({_MARGIN:g} {y:g})")
