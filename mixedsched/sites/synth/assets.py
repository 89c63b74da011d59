"""Bytes of an exact size for any resource: files of all common formats, valid and decodable, drawn from a seed.

A format has a least size (`smallest_bytes`); below it a resource of that size gets bytes that nothing can decode.
"""

import random
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files

from mixedsched.model.request import Kind
from mixedsched.sites.synth import fonts, media, pictures, texts
from mixedsched.sites.synth._pixels import Canvas

__all__ = ["asset", "smallest_bytes", "format_name"]


@dataclass(frozen=True, slots=True)
class _Format:
    """The maker of files of a format."""

    make: Callable[[int, Canvas | None, int], bytes]  # from size in bytes, wanted pixels or None, and seed
    least_bytes: Callable[[], int]  # from there on every size can be made


def asset(
    kind: Kind, mime: str, size_bytes: int, seed: int, *, width_px: int | None = None, height_px: int | None = None
) -> bytes:
    """A body of exactly size_bytes for a resource of that kind and content type; the same for the same arguments.

    What it is follows the content type where that goes with the kind, else the kind: an image with content type
    text/html is an image. width_px, height_px: of images, both or none (then what is natural for the size); fewer pixels
    come where so many do not fit. Below smallest_bytes() the body is nothing that can be decoded.
    Raises ValueError for a negative size, or pixels below 1.
    """
    if size_bytes < 0:
        raise ValueError(f"a body cannot have {size_bytes} bytes")
    canvas = None
    if width_px is not None and height_px is not None:
        if min(width_px, height_px) < 1:
            raise ValueError(f"an image cannot be {width_px} x {height_px} pixels")
        canvas = Canvas(width_px, height_px, seed)
    made = _FORMATS[format_name(kind, mime, size_bytes)]
    if size_bytes < made.least_bytes():
        return random.Random(seed).randbytes(size_bytes)
    body = made.make(size_bytes, canvas, seed)
    if len(body) != size_bytes:
        raise AssertionError(f"{format_name(kind, mime, size_bytes)} of {size_bytes} bytes came out as {len(body)}")
    return body


def smallest_bytes(kind: Kind, mime: str) -> int:
    """From which size on asset() is decodable, whatever the size."""
    return min(_FORMATS[name].least_bytes() for name in _candidates(kind, mime))


def format_name(kind: Kind, mime: str, size_bytes: int) -> str:
    """Which format asset() makes: `jpeg`, `woff2`, `css`, ... `octets` where there is nothing to decode."""
    candidates = _candidates(kind, mime)
    return next((name for name in candidates if size_bytes >= _FORMATS[name].least_bytes()), candidates[-1])


def _candidates(kind: Kind, mime: str) -> tuple[str, ...]:
    """Formats that will do, the best one first."""
    named = _FORMAT_BY_MIME.get(mime.partition(";")[0].strip().lower())
    if kind in _FORMATS_OF_KIND:
        possible, default = _FORMATS_OF_KIND[kind]
        return (named,) if named in possible else default
    return (named or "octets",)


_IMAGE_FORMATS = frozenset({"jpeg", "png", "gif", "webp", "avif", "svg", "bmp", "icon"})
_FORMATS_OF_KIND: Mapping[Kind, tuple[frozenset[str], tuple[str, ...]]] = {
    Kind.IMAGE: (_IMAGE_FORMATS, ("png", "gif")),
    Kind.FONT: (frozenset({"woff2", "woff", "ttf"}), ("woff2",)),
    Kind.SCRIPT: (frozenset(), ("script",)),
    Kind.STYLESHEET: (frozenset(), ("css",)),
    Kind.DOCUMENT: (frozenset({"html", "svg", "xml", "plain"}), ("html",)),
    Kind.MEDIA: (frozenset({"mp4", "webm", "mp3", "wav", "ogg", "vtt"}), ("mp4",)),
}
_MIMES_BY_FORMAT: dict[str, list[str]] = tomllib.loads(files(__package__).joinpath("formats.toml").read_text("utf-8"))
_FORMAT_BY_MIME = {mime: name for name, mimes in _MIMES_BY_FORMAT.items() for mime in mimes}


def _plain(make: Callable[[int, int], bytes], least_bytes: Callable[[], int]) -> _Format:
    """A format without pixels. make: from size and seed."""
    return _Format(lambda size_bytes, _canvas, seed: make(size_bytes, seed), least_bytes)


def _text(make: Callable[[int, int], bytes], least_bytes: int = 0) -> _Format:
    return _plain(make, lambda: least_bytes)


def _svg(size_bytes: int, canvas: Canvas | None, seed: int) -> bytes:
    width_px, height_px = (canvas.width_px, canvas.height_px) if canvas else (300, 200)
    return texts.svg(size_bytes, width_px, height_px, seed)


_FORMATS: Mapping[str, _Format] = {
    **{name: _Format(make, partial(pictures.least_bytes, name)) for name, make in pictures.MAKERS.items()},
    **{name: _plain(make, partial(media.least_bytes, name)) for name, make in media.MAKERS.items()},
    **{
        name: _plain(partial(fonts.font, flavour), partial(fonts.least_bytes, flavour))
        for name, flavour in (("woff2", "woff2"), ("woff", "woff"), ("ttf", None))
    },
    "svg": _Format(_svg, lambda: texts.SVG_LEAST_BYTES),
    "css": _text(texts.css),
    "script": _text(texts.script),
    "html": _text(texts.html),
    "plain": _text(texts.plain),
    "json": _text(texts.json, 1),
    "webmanifest": _text(texts.web_manifest, 2),
    "xml": _text(texts.xml, 4),
    "vtt": _text(partial(texts.headed, "WEBVTT\n\nNOTE\n"), 13),
    "m3u8": _text(partial(texts.headed, "#EXTM3U\n"), 8),
    "octets": _text(lambda size_bytes, seed: random.Random(seed).randbytes(size_bytes)),
}
