"""Bodies as they were sent, the text in them, and text back into a body of about the size that was recorded."""

import codecs
import gzip
import zlib
from collections.abc import Callable, Mapping

import brotli
import zstandard

from mixedsched.errors import SiteError
from mixedsched.model.codings import CODINGS, Coding, UndecodableError, decode

DECODED_BYTES_MAX = 200_000_000  # what a body may grow to: as much as a whole recording may have

_ALIASES = {"x-gzip": "gzip", "identity": ""}
# Levels that servers use, and the one where no size is asked for.
_LEVELS: Mapping[Coding, tuple[int, ...]] = {
    **dict.fromkeys(("gzip", "deflate"), (1, 2, 4, 6, 9)),
    "br": (1, 3, 4, 5, 6, 9, 11),
    "zstd": (1, 3, 6, 9, 12, 19),
}
_USUAL_LEVEL: Mapping[Coding, int] = {"gzip": 6, "deflate": 6, "br": 5, "zstd": 3}
_SLOW_LEVELS = frozenset({("br", 11), ("zstd", 19)})  # seconds a megabyte
_SLOW_TEXT_BYTES = 1_000_000  # beyond, they are not tried
_SMALL_TEXT_BYTES = 100_000  # up to here it costs little that a higher level sometimes gives a larger body


def coding_of(field: str | None) -> Coding | None:
    """The coding that a content-encoding field names; None for none. Raises SiteError for one, or several, not known here."""
    name = (field or "").strip().lower()
    name = _ALIASES.get(name, name)
    if not name:
        return None
    if name not in CODINGS:
        raise SiteError(f"the content coding '{name}' is not known", fix=f"known: {', '.join(CODINGS)}")
    return name


def decode_body(body: bytes, encoding: str | None, limit_bytes: int = DECODED_BYTES_MAX) -> bytes:
    """The body without its content coding. Raises SiteError if it is damaged, cut off, or would be larger than the limit."""
    coding = coding_of(encoding)
    if coding is None:
        return body
    try:
        return decode(body, coding, limit_bytes)
    except UndecodableError as error:
        raise SiteError(f"a body cannot be decoded as {coding}", why=str(error)) from error


def decode_text(body: bytes, encoding: str | None) -> str:
    """The text of a body as it was sent, line ends as they are: UTF-16 if it begins like that, else UTF-8, else Windows-1252.

    Raises SiteError as decode_body.
    """
    plain = decode_body(body, encoding)
    if plain.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return plain.decode("utf-16", errors="replace")
    try:
        return plain.decode("utf-8")
    except UnicodeDecodeError:
        return plain.decode("cp1252", errors="replace")


def encode_body(text: bytes, encoding: str | None, near_bytes: int | None = None) -> bytes:
    """`text` in a coding, the same bytes for the same input on every run.

    near_bytes: a size that the result should have. The levels that servers use are tried until one has it, else the nearest is
    taken; of large texts only those towards that size, until it is passed.
    Raises SiteError for an unknown coding.
    """
    coding = coding_of(encoding)
    if coding is None:
        return text
    encode, usual = _ENCODERS[coding], _USUAL_LEVEL[coding]
    nearest = encode(text, usual)
    if near_bytes is None or len(nearest) == near_bytes:
        return nearest
    is_too_large = len(nearest) > near_bytes
    for level in _other_levels(coding, len(text), higher_first=is_too_large):
        body = encode(text, level)
        nearest = min(nearest, body, key=lambda item: abs(len(item) - near_bytes))
        has_passed = (len(body) > near_bytes) != is_too_large
        if len(body) == near_bytes or (has_passed and len(text) > _SMALL_TEXT_BYTES):
            break
    return nearest


def _other_levels(coding: Coding, text_bytes: int, *, higher_first: bool) -> list[int]:
    """The levels but the usual one, those on the likelier side of it first, from it on; of large texts no others."""
    usual = _USUAL_LEVEL[coding]
    too_slow = {level for name, level in _SLOW_LEVELS if name == coding and text_bytes > _SLOW_TEXT_BYTES}
    higher = [level for level in _LEVELS[coding] if level > usual and level not in too_slow]
    lower = [level for level in reversed(_LEVELS[coding]) if level < usual]
    likely, unlikely = (higher, lower) if higher_first else (lower, higher)
    return likely if text_bytes > _SMALL_TEXT_BYTES else likely + unlikely


_ENCODERS: Mapping[Coding, Callable[[bytes, int], bytes]] = {
    "gzip": lambda text, level: gzip.compress(text, level, mtime=0),
    "deflate": zlib.compress,
    "br": lambda text, level: bytes(brotli.compress(text, quality=level)),
    "zstd": lambda text, level: zstandard.ZstdCompressor(level=level).compress(text),
}
