"""Pieces of HTML and CSS, and how they are laid out so that each stands where the manifest says it is found."""

import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mixedsched.sites.synth._planned import Planned
from mixedsched.sites.synth.texts import dots

_BARE = re.compile(r"[\w./:%~?,;!*$@|+-]+")
_COMMENT_BYTES = len("<!---->")
FACE = "<style>@font-face{{font-family:{family};src:url({url})}}</style>"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of markup. end_bytes: where it should end, None for as early as it can."""

    text: str
    end_bytes: int | None = None


def attribute(value: str) -> str:
    """The text as the value of an attribute, in quotation marks where they are needed."""
    return value if _BARE.fullmatch(value) else f'"{html.escape(value)}"'


def css_url(url: str) -> str:
    return f"url({url})" if _BARE.fullmatch(url) else f'url("{_css_text(url)}")'


def _css_text(url: str) -> str:
    return url.replace("\\", "\\\\").replace('"', "%22").replace("<", "%3C")


def tag_of(one: Planned, url: str, name: str, *, is_small: bool) -> str:
    """The markup that asks for a resource. name: an identifier of its own. is_small: an image must not look large."""
    assert one.way is not None
    place = " width=1 height=1" if is_small else ""
    if one.box is not None:
        place += f"{' class=a' if one.box.is_cell else ''} style={one.box.style}"
    tag = one.way.tag.format(
        url=attribute(url),
        json_url=json.dumps(url).replace("<", "\\u003c") if "{json_url}" in one.way.tag else "",
        place=place,
        family=name,
    )
    return FACE.replace("url({url})", css_url(url)).format(family=name) + tag if "{family}" in one.way.tag else tag


def face_rules(name: str, url: str) -> str:
    """The rules of a style sheet for a font, and for the element that is written in it."""
    return f"@font-face{{font-family:{name};src:{css_url(url)}}}#{name}{{font-family:{name}}}"


def background_rule(name: str, urls: Sequence[str]) -> str:
    return f"#{name}{{background:{','.join(css_url(url) for url in urls)}}}"


def smoothed(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces with ends that rise, as close as can be to those wanted: a page may ask for things in another order than
    they stand in it, but its copy cannot.
    """
    if not pieces:
        return []
    from scipy.optimize import isotonic_regression  # here, because it takes a while to load

    ends = isotonic_regression([float(piece.end_bytes or 0) for piece in pieces]).x
    return [replace(piece, end_bytes=round(end)) for piece, end in zip(pieces, ends, strict=True)]


def laid_out(pieces: Sequence[Piece], size_bytes: int) -> str | None:
    """The pieces in their order, each ending where it should if the others leave it the room; None if they do not fit."""
    lengths = [len(piece.text) for piece in pieces]
    behind = [0]
    for length in reversed(lengths):
        behind.append(behind[-1] + length)
    if behind[-1] > size_bytes:
        return None
    text: list[str] = []
    written = 0
    for index, piece in enumerate(pieces):
        latest = size_bytes - behind[len(pieces) - index]
        wanted = piece.end_bytes - lengths[index] if piece.end_bytes is not None else written
        start = max(written, min(wanted, latest))
        text += [filling(start - written), piece.text]
        written = start + lengths[index]
    return "".join([*text, filling(size_bytes - written)])


def filling(size_bytes: int) -> str:
    """Markup without meaning."""
    if size_bytes < _COMMENT_BYTES:
        return "\n" * size_bytes
    return f"<!--{dots(size_bytes - _COMMENT_BYTES)}-->"
