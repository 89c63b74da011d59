"""Texts of an exact size in bytes: readable content as far as it goes, then comments or spaces."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Final

_WORDS = (
    *("article", "author", "basket", "button", "category", "column", "comment", "date", "edition", "footer", "gallery"),
    *("header", "image", "index", "item", "layout", "link", "list", "market", "member", "menu", "message", "notice"),
    *(
        "offer",
        "order",
        "panel",
        "photo",
        "price",
        "product",
        "profile",
        "region",
        "report",
        "review",
        "season",
        "service",
    ),
    *(
        "shop",
        "story",
        "summary",
        "table",
        "team",
        "title",
        "topic",
        "travel",
        "update",
        "value",
        "video",
        "visit",
        "week",
    ),
)
_LEAST_SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
SVG_LEAST_BYTES: Final = len(_LEAST_SVG)


def plain(size_bytes: int, seed: int) -> bytes:
    """Words in lines."""
    return _cut("".join(_lines(random.Random(seed), size_bytes)), size_bytes)


def css(size_bytes: int, seed: int) -> bytes:
    """Rules that no element meets, then spaces."""
    rng = random.Random(seed)
    return _filled(
        "", lambda: f".x-{_name(rng)}{{color:#{rng.randrange(1 << 24):06x};margin:{rng.randrange(64)}px}}\n", size_bytes
    )


def script(size_bytes: int, seed: int) -> bytes:
    """Functions that nobody calls, then spaces."""
    rng = random.Random(seed)
    return _filled(
        "",
        lambda: f"function x_{_name(rng).replace('-', '_')}(a){{return a*{rng.randrange(1, 1 << 16)}}}\n",
        size_bytes,
    )


def html(size_bytes: int, seed: int) -> bytes:
    """A document of paragraphs, then spaces."""
    rng = random.Random(seed)
    return _filled("<!DOCTYPE html>\n<title>-</title>\n", lambda: f"<p>{' '.join(_some(rng, 12))}</p>\n", size_bytes)


def json(size_bytes: int, seed: int) -> bytes:
    """A list of objects, then spaces; a bare number where there is no room for a list."""
    rng = random.Random(seed)
    return _listed("[", "]", lambda: f'{{"id":{rng.randrange(10**6)},"name":"{_name(rng)}"}}', size_bytes) or _digits(
        size_bytes
    )


def web_manifest(size_bytes: int, seed: int) -> bytes:
    """A web app manifest; its description takes what is missing."""
    opening, closing = '{"name":"Lab","description":"', '"}'
    room = size_bytes - len(opening) - len(closing)
    if room < 0:
        return _cut("{}".ljust(size_bytes), size_bytes)
    return (opening + plain(room, seed).decode().replace("\n", " ") + closing).encode()


def xml(size_bytes: int, seed: int) -> bytes:
    """A list of elements, then spaces."""
    rng = random.Random(seed)
    body = _listed("<a>", "</a>", lambda: f"<{_word(rng)} id='i{rng.randrange(10**6)}'/>", size_bytes, joint="")
    return body or b"<a/>".ljust(size_bytes)


def svg(size_bytes: int, width_px: int, height_px: int, seed: int) -> bytes:
    """A drawing of dots, then spaces; without size and colour where there is no room for them."""
    rng = random.Random(seed)
    size = f' width="{width_px}" height="{height_px}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg"{size} viewBox="0 0 99 99">'

    def dot() -> str:
        centre = f'cx="{rng.randrange(100)}" cy="{rng.randrange(100)}"'
        return f'<circle {centre} r="{rng.randrange(1, 12)}" fill="#{rng.randrange(4096):03x}"/>'

    for least in (
        opening,
        f'<svg xmlns="http://www.w3.org/2000/svg"{size}>',
        '<svg xmlns="http://www.w3.org/2000/svg">',
    ):
        if body := _listed(least, "</svg>", dot, size_bytes, joint="\n"):
            return body
    return _LEAST_SVG.ljust(size_bytes)


def headed(heading: str, size_bytes: int, seed: int) -> bytes:
    """A heading that tells the format, then words in lines, which readers of the format skip."""
    if size_bytes < len(heading):
        return plain(size_bytes, seed)
    words = plain(size_bytes - len(heading), seed).decode()
    return (heading + words).encode()


def _lines(rng: random.Random, size_bytes: int) -> Iterator[str]:
    length = 0
    while length < size_bytes:
        line = " ".join(_some(rng, 14)) + "\n"
        length += len(line)
        yield line


def _filled(opening: str, part: Callable[[], str], size_bytes: int) -> bytes:
    """As many parts as there is room for, then spaces."""
    if len(opening) > size_bytes:
        return b" " * size_bytes
    parts, length = [opening], len(opening)
    while length + len(piece := part()) <= size_bytes:
        parts.append(piece)
        length += len(piece)
    return "".join(parts).ljust(size_bytes).encode()


def _listed(opening: str, closing: str, part: Callable[[], str], size_bytes: int, *, joint: str = ",\n") -> bytes:
    """Parts between brackets, as many as there is room for, then spaces. Empty if there is none for the brackets."""
    length = len(opening) + len(closing)
    if length > size_bytes:
        return b""
    parts: list[str] = []
    while length + len(piece := part()) + len(joint) <= size_bytes:
        parts.append(piece)
        length += len(piece) + len(joint)
    return (opening + joint.join(parts) + closing).ljust(size_bytes).encode()


def _digits(size_bytes: int) -> bytes:
    return b"0".ljust(size_bytes)[:size_bytes]


def _cut(text: str, size_bytes: int) -> bytes:
    return text.encode()[:size_bytes]


def _some(rng: random.Random, count: int) -> list[str]:
    return rng.choices(_WORDS, k=count)


def _word(rng: random.Random) -> str:
    return rng.choice(_WORDS)


def _name(rng: random.Random) -> str:
    return "-".join(_some(rng, 2))
