"""Texts of an exact size in bytes: readable content as long as there is room for it, then comments or spaces."""

import random
from collections.abc import Callable
from typing import Final

_VOCABULARY = (
    "article author basket button category column comment date edition footer gallery header image index item layout link "
    "list market member menu message notice offer order panel photo price product profile region report review season "
    "service shop story summary table team title topic travel update value video visit week"
)
_WORDS = tuple(_VOCABULARY.split())
_LEAST_SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
SVG_LEAST_BYTES: Final = len(_LEAST_SVG)


def plain(size_bytes: int, seed: int) -> bytes:
    """Words in lines."""
    rng, text = random.Random(seed), ""
    while len(text) < size_bytes:
        text += " ".join(rng.choices(_WORDS, k=14)) + "\n"
    return text[:size_bytes].encode()


def css(size_bytes: int, seed: int) -> bytes:
    """Rules that no element meets, then spaces."""
    rng = random.Random(seed)

    def rule() -> str:
        return f".x-{_name(rng)}{{color:#{rng.randrange(1 << 24):06x};margin:{rng.randrange(64)}px}}\n"

    return _listed("", "", rule, size_bytes, joint="")


def script(size_bytes: int, seed: int) -> bytes:
    """Functions that are never called, then spaces."""
    rng = random.Random(seed)

    def function() -> str:
        return f"function x_{_name(rng).replace('-', '_')}(a){{return a*{rng.randrange(1, 1 << 16)}}}\n"

    return _listed("", "", function, size_bytes, joint="")


def html(size_bytes: int, seed: int) -> bytes:
    """A document of paragraphs, then spaces."""
    rng = random.Random(seed)

    def paragraph() -> str:
        return f"<p>{' '.join(rng.choices(_WORDS, k=12))}</p>\n"

    body = _listed("<!DOCTYPE html>\n<title>-</title>\n", "", paragraph, size_bytes, joint="")
    return body or b" " * size_bytes


def json(size_bytes: int, seed: int) -> bytes:
    """A list of objects, then spaces; a bare number where there is no room for a list."""
    rng = random.Random(seed)

    def entry() -> str:
        return f'{{"id":{rng.randrange(10**6)},"name":"{_name(rng)}"}}'

    return _listed("[", "]", entry, size_bytes, joint=",\n") or b"0".ljust(size_bytes)[:size_bytes]


def web_manifest(size_bytes: int, seed: int) -> bytes:
    """A web app manifest; its description takes what is missing."""
    opening, closing = b'{"name":"Lab","description":"', b'"}'
    room = size_bytes - len(opening) - len(closing)
    if room < 0:
        return b"{}".ljust(size_bytes)[:size_bytes]
    return opening + plain(room, seed).replace(b"\n", b" ") + closing


def xml(size_bytes: int, seed: int) -> bytes:
    """A list of elements, then spaces."""
    rng = random.Random(seed)

    def element() -> str:
        return f"<{rng.choice(_WORDS)} id='i{rng.randrange(10**6)}'/>"

    return _listed("<a>", "</a>", element, size_bytes, joint="") or b"<a/>".ljust(size_bytes)


def svg(size_bytes: int, width_px: int, height_px: int, seed: int) -> bytes:
    """A drawing of dots, then spaces; without size and colour where there is no room for them."""
    rng = random.Random(seed)
    bare = '<svg xmlns="http://www.w3.org/2000/svg"'
    sized = f'{bare} width="{width_px}" height="{height_px}"'

    def dot() -> str:
        centre = f'cx="{rng.randrange(100)}" cy="{rng.randrange(100)}"'
        return f'<circle {centre} r="{rng.randrange(1, 12)}" fill="#{rng.randrange(4096):03x}"/>'

    for opening in (f'{sized} viewBox="0 0 99 99">', f"{sized}>", f"{bare}>"):
        if body := _listed(opening, "</svg>", dot, size_bytes, joint="\n"):
            return body
    return _LEAST_SVG.ljust(size_bytes)


def headed(heading: str, size_bytes: int, seed: int) -> bytes:
    """A heading that tells the format, then words in lines, which readers of the format skip."""
    if size_bytes < len(heading):
        return plain(size_bytes, seed)
    return heading.encode() + plain(size_bytes - len(heading), seed)


def pad_text(text: str, opening: str, closing: str, size_bytes: int) -> bytes:
    """The text with a comment of full stops at its end. Raises ValueError if it is too long."""
    room = size_bytes - len(text.encode()) - len(opening) - len(closing)
    if room < 0:
        raise ValueError(f"a text of {len(text.encode())} bytes cannot be padded to {size_bytes}")
    return f"{text}{opening}{dots(room)}{closing}".encode()


def marked_script(mark: str, size_bytes: int) -> bytes:
    """A script that leaves a mark and the time it ran in its window, and is otherwise a comment."""
    return pad_text(f'"use strict";\nwindow.{mark} = performance.now();\n', "/*", "*/", size_bytes)


def dots(size_bytes: int) -> str:
    """Full stops in lines of a hundred."""
    line = "." * 99 + "\n"
    return (line * (size_bytes // len(line) + 1))[:size_bytes]


def _listed(opening: str, closing: str, part: Callable[[], str], size_bytes: int, *, joint: str) -> bytes:
    """Parts between brackets, as many as there is room for, then spaces. Empty if there is no room for the brackets."""
    length = len(opening) + len(closing)
    if length > size_bytes:
        return b""
    parts: list[str] = []
    while length + len(piece := part()) + len(joint) <= size_bytes:
        parts.append(piece)
        length += len(piece) + len(joint)
    return (opening + joint.join(parts) + closing).ljust(size_bytes).encode()


def _name(rng: random.Random) -> str:
    return "-".join(rng.choices(_WORDS, k=2))
