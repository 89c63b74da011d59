"""Bodies as they were sent, the text in them, and text back into a body of about the size that was recorded."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping
from types import MappingProxyType

import brotli
import zstandard

from mixedsched.codings import CODINGS, Coding, UndecodableError, decode
from mixedsched.errors import SiteError

DECODED_BYTES_MAX = 200_000_000  # what a body may grow to: as much as a whole recording may have

_ALIASES = {"x-gzip": "gzip", "identity": ""}
# Levels that servers use, the first being the one where no size is asked for.
_LEVELS: Mapping[Coding, tuple[int, ...]] = MappingProxyType(
    {"gzip": (6, 1, 2, 4, 9), "deflate": (6, 1, 2, 4, 9), "br": (5, 1, 3, 4, 6, 9, 11), "zstd": (3, 1, 6, 9, 12, 19)}
)
_SLOW_LEVELS = frozenset({("br", 11), ("zstd", 19)})  # seconds a megabyte
_SLOW_TEXT_BYTES = 1_000_000  # beyond, they are not tried


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
    """What a body was made of. Raises SiteError if it is damaged, cut off, or would be larger than the limit."""
    coding = coding_of(encoding)
    if coding is None:
        return body
    try:
        return decode(body, coding, limit_bytes)
    except UndecodableError as error:
        raise SiteError(f"a body is no {coding}", why=str(error)) from error


def encode_body(text: bytes, encoding: str | None, near_bytes: int | None = None) -> bytes:
    """`text` in a coding, the same bytes for the same input on every run.

    near_bytes: a size that the result should have; of the levels that servers use the one is taken that comes nearest.
    Raises SiteError for an unknown coding.
    """
    coding = coding_of(encoding)
    if coding is None:
        return text
    encode = _ENCODERS[coding]
    if near_bytes is None:
        return encode(text, _LEVELS[coding][0])
    is_large = len(text) > _SLOW_TEXT_BYTES
    levels = (level for level in _LEVELS[coding] if not (is_large and (coding, level) in _SLOW_LEVELS))
    return min((encode(text, level) for level in levels), key=lambda body: abs(len(body) - near_bytes))


def _gzip(text: bytes, level: int) -> bytes:
    return gzip.compress(text, level, mtime=0)


def _brotli(text: bytes, level: int) -> bytes:
    return bytes(brotli.compress(text, quality=level))


def _zstd(text: bytes, level: int) -> bytes:
    return zstandard.ZstdCompressor(level=level).compress(text)


_ENCODERS: Mapping[Coding, Callable[[bytes, int], bytes]] = MappingProxyType(
    {"gzip": _gzip, "deflate": zlib.compress, "br": _brotli, "zstd": _zstd}
)
