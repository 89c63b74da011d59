"""Fonts of an exact size in bytes: the richest of a few alphabets that fits, and ignorable bytes at the end.

A font is used when it is complete, so it does not matter how much of it is padding.
"""

from __future__ import annotations

import io
import random
import struct
from functools import lru_cache

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont
from fontTools.ttLib.tables._g_l_y_f import Glyph
from fontTools.ttLib.tables.DefaultTable import DefaultTable

from mixedsched.sites.synth.typeface import striped_typeface

_UNITS_PER_EM = 1000
_ALPHABETS = ("dots", "bars", "letters", "one")  # from rich to poor
_SOME_DAY = 3_600_000_000  # seconds since 1904; a fixed one, for the same bytes on every run
_PRIVATE_OFFSET_AT = {"woff": 36, "woff2": 40}  # where the header tells of private data, its length behind
_LENGTH_AT = 8
_ALIGNMENT_BYTES = 4
_UNPACKED_AT = 16
_SURPLUS_TABLE = "Labx"


def font(flavour: str | None, size_bytes: int, seed: int) -> bytes:
    """A TrueType font as flavour "woff2" or "woff", or bare (None), size_bytes long.

    Small sizes have fewer letters. Raises ValueError below the least size.
    """
    for alphabet in _ALPHABETS:
        bare = _bare(alphabet, flavour)
        if flavour == "woff2":
            bare = _fattened(alphabet, bare, size_bytes)
        if (body := _padded(flavour, bare, size_bytes, seed)) is not None:
            return body
    raise ValueError(f"no font of flavour {flavour} has {size_bytes} bytes")


def _fattened(alphabet: str, bare: bytes, size_bytes: int) -> bytes:
    """The WOFF2, or one with so much more in it that it unpacks to size_bytes or more; in steps, as making one takes time."""
    surplus_bytes, unpacked_bytes = 0, _unpacked_bytes(bare)
    while unpacked_bytes + surplus_bytes < size_bytes:
        surplus_bytes = 2 * surplus_bytes or unpacked_bytes
    return _bare(alphabet, "woff2", surplus_bytes) if surplus_bytes else bare


def _unpacked_bytes(woff2: bytes) -> int:
    """Chromium refuses a WOFF2 that is longer than what it unpacks to."""
    (size_bytes,) = struct.unpack_from(">I", woff2, _UNPACKED_AT)
    return int(size_bytes)


def least_font_bytes(flavour: str | None) -> int:
    """From where on a font can have any size."""
    return -(-len(_bare(_ALPHABETS[-1], flavour)) // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES + 1


def _padded(flavour: str | None, bare: bytes, size_bytes: int, seed: int) -> bytes | None:
    if len(bare) == size_bytes:
        return bare
    aligned = bare + bytes(-len(bare) % _ALIGNMENT_BYTES)
    private_bytes = size_bytes - len(aligned)
    if private_bytes <= 0:
        return None
    body = bytearray(aligned + random.Random(seed).randbytes(private_bytes))
    if flavour is not None:
        struct.pack_into(">I", body, _LENGTH_AT, size_bytes)
        struct.pack_into(">II", body, _PRIVATE_OFFSET_AT[flavour], len(aligned), private_bytes)
    return bytes(body)


@lru_cache(maxsize=64)
def _bare(alphabet: str, flavour: str | None, surplus_bytes: int = 0) -> bytes:
    """The file of an alphabet. surplus_bytes: length of a table of zeros that browsers unpack and skip."""
    typeface = striped_typeface(random.Random(0)) if alphabet == "dots" else _bars(alphabet)
    if surplus_bytes:
        typeface[_SURPLUS_TABLE] = table = DefaultTable(_SURPLUS_TABLE)
        table.data = bytes(surplus_bytes)
    typeface.flavor = flavour
    out = io.BytesIO()
    typeface.save(out, reorderTables=False)
    return out.getvalue()


def _bars(alphabet: str) -> TTFont:
    """Letters as bars, each of its own height: for all of ASCII, for small letters, or for `a` alone."""
    first, last = {"bars": (0x20, 0x7E), "letters": (0x61, 0x7A), "one": (0x61, 0x61)}[alphabet]
    codes = range(first, last + 1)
    names = [".notdef", *(f"c{code:02x}" for code in codes)]
    heights = [700, *(300 + 7 * (code - first) for code in codes)]
    builder = FontBuilder(_UNITS_PER_EM, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap(dict(zip(codes, names[1:], strict=True)))
    builder.setupGlyf({name: _bar(height) for name, height in zip(names, heights, strict=True)})
    builder.setupHorizontalMetrics(dict.fromkeys(names, (600, 100)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Bars", "styleName": "Regular"}, mac=False)
    builder.setupOS2(sTypoAscender=800, usWinAscent=800, usWinDescent=200)
    builder.setupPost(keepGlyphNames=False)
    builder.updateHead(created=_SOME_DAY, modified=_SOME_DAY)
    builder.font.recalcTimestamp = False
    return builder.font


def _bar(height: int) -> Glyph:
    pen = TTGlyphPen(None)
    pen.moveTo((100, 0))
    for corner in ((100, height), (500, height), (500, 0)):
        pen.lineTo(corner)
    pen.closePath()
    return pen.glyph()
