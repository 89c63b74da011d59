"""Fonts of an exact size in bytes: letters of dots or bars, and ignorable bytes at the end.

A font is used when it is complete, so it does not matter how much of it is padding.
"""

import io
import random
import struct
from collections.abc import Callable
from functools import lru_cache

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont
from fontTools.ttLib.tables._g_l_y_f import Glyph
from fontTools.ttLib.tables.DefaultTable import DefaultTable
from PIL import Image, ImageDraw, ImageFont

_UNITS_PER_EM = 1000
_SOME_DAY = 3_600_000_000  # seconds since 1904; a fixed one, for the same bytes on every run
_ROW_UNITS = 90
_COLUMN_UNITS = 90
_SLANT_UNITS = 24  # a row leans this far to the right of the one below
_ROWS = 11
_BASELINE_ROW = 9
_CHARACTERS = [chr(code) for code in range(0x20, 0x7F)]

_ALPHABETS = ("dots", "bars", "letters", "one")  # from rich to poor
_PRIVATE_OFFSET_AT = {"woff": 36, "woff2": 40}  # where the header tells of private data, its length behind
_LENGTH_AT = 8
_UNPACKED_AT = 16
_ALIGNMENT_BYTES = 4
_SURPLUS_TABLE = "Labx"


def striped_font(size_bytes: int, seed: int) -> bytes:
    """A WOFF2 with printable ASCII, its letters traced from Pillow's built-in bitmap font; the seed shapes their edges.

    Raises ValueError if the font alone is longer than size_bytes.
    """
    bare = _saved(_dots(random.Random(seed)), "woff2")
    body = _padded("woff2", bare, size_bytes, bytes)
    if body is None:
        raise ValueError(f"a font of {len(bare)} bytes cannot be padded to {size_bytes}")
    return body


def font(flavour: str | None, size_bytes: int, seed: int) -> bytes:
    """A TrueType font as flavour "woff2" or "woff", or bare (None), size_bytes long.

    It has the richest alphabet that fits. Raises ValueError below the least size.
    """
    for alphabet in _ALPHABETS:
        bare = _bare(alphabet, flavour)
        if flavour == "woff2":
            bare = _fattened(alphabet, bare, size_bytes)
        if (body := _padded(flavour, bare, size_bytes, random.Random(seed).randbytes)) is not None:
            return body
    raise ValueError(f"no font of flavour {flavour} has {size_bytes} bytes")


def least_bytes(flavour: str | None) -> int:
    """From where on a font can have any size."""
    return -(-len(_bare(_ALPHABETS[-1], flavour)) // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES + 1


def _fattened(alphabet: str, bare: bytes, size_bytes: int) -> bytes:
    """The WOFF2, or one that unpacks to size_bytes or more: Chromium refuses one that is longer than what it unpacks to.

    It grows in steps, as making one takes time.
    """
    (unpacked_bytes,) = struct.unpack_from(">I", bare, _UNPACKED_AT)
    surplus_bytes = 0
    while unpacked_bytes + surplus_bytes < size_bytes:
        surplus_bytes = 2 * surplus_bytes or unpacked_bytes
    return _bare(alphabet, "woff2", surplus_bytes) if surplus_bytes else bare


def _padded(flavour: str | None, bare: bytes, size_bytes: int, private: Callable[[int], bytes]) -> bytes | None:
    """The font with private data, which browsers skip, behind it; None if it is too long."""
    if len(bare) == size_bytes:
        return bare
    aligned = bare + bytes(-len(bare) % _ALIGNMENT_BYTES)
    private_bytes = size_bytes - len(aligned)
    if private_bytes <= 0:
        return None
    body = bytearray(aligned + private(private_bytes))
    if flavour is not None:
        struct.pack_into(">I", body, _LENGTH_AT, size_bytes)
        struct.pack_into(">II", body, _PRIVATE_OFFSET_AT[flavour], len(aligned), private_bytes)
    return bytes(body)


@lru_cache(maxsize=64)
def _bare(alphabet: str, flavour: str | None, surplus_bytes: int = 0) -> bytes:
    """The file of an alphabet. surplus_bytes: length of a table of zeros that browsers unpack and skip."""
    typeface = _dots(random.Random(0)) if alphabet == "dots" else _bars(alphabet)
    if surplus_bytes:
        typeface[_SURPLUS_TABLE] = table = DefaultTable(_SURPLUS_TABLE)
        table.data = bytes(surplus_bytes)
    return _saved(typeface, flavour)


def _saved(typeface: TTFont, flavour: str | None) -> bytes:
    typeface.flavor = flavour
    out = io.BytesIO()
    typeface.save(out, reorderTables=False)
    return out.getvalue()


def _dots(rng: random.Random) -> TTFont:
    """The letters themselves, not yet a file; the edges of their dots are drawn from rng."""
    names = [".notdef", *(f"c{ord(character):02x}" for character in _CHARACTERS)]
    glyphs = [_glyph("#", rng), *(_glyph(character, rng) for character in _CHARACTERS)]
    builder = FontBuilder(_UNITS_PER_EM, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({ord(character): name for character, name in zip(_CHARACTERS, names[1:], strict=True)})
    builder.setupGlyf({name: glyph for name, (glyph, _width) in zip(names, glyphs, strict=True)})
    builder.setupHorizontalMetrics({name: (width, 0) for name, (_glyph, width) in zip(names, glyphs, strict=True)})
    builder.setupHorizontalHeader(ascent=_BASELINE_ROW * _ROW_UNITS, descent=-2 * _ROW_UNITS)
    builder.setupNameTable({"familyName": "Striped", "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=_BASELINE_ROW * _ROW_UNITS, usWinAscent=_BASELINE_ROW * _ROW_UNITS, usWinDescent=180)
    builder.setupPost()
    builder.updateHead(created=_SOME_DAY, modified=_SOME_DAY)
    builder.font.recalcTimestamp = False
    return builder.font


def _glyph(character: str, rng: random.Random) -> tuple[Glyph, int]:
    """One letter and its width in font units: a dot for each pixel of its bitmap, edges a little uneven."""
    bitmap_font = ImageFont.load_default_imagefont()
    width_px = max(1, round(bitmap_font.getlength(character)))
    bitmap = Image.new("1", (width_px, _ROWS))
    ImageDraw.Draw(bitmap).text((0, 0), character, font=bitmap_font, fill=1)
    pen = TTGlyphPen(None)
    for row in range(_ROWS):
        for column in range(width_px):
            if bitmap.getpixel((column, row)):
                _draw_dot(pen, column, _BASELINE_ROW - row, rng)
    return pen.glyph(), width_px * _COLUMN_UNITS


def _draw_dot(pen: TTGlyphPen, column: int, height: int, rng: random.Random) -> None:
    left = column * _COLUMN_UNITS + height * _SLANT_UNITS
    bottom = (height - 1) * _ROW_UNITS
    right, top = left + _COLUMN_UNITS - rng.randrange(3, 9), bottom + _ROW_UNITS - rng.randrange(14, 20)
    pen.moveTo((left, bottom))
    pen.lineTo((left + _SLANT_UNITS, top))
    pen.lineTo((right + _SLANT_UNITS, top))
    pen.lineTo((right, bottom))
    pen.closePath()


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
