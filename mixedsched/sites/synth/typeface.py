"""A display font of an exact size in bytes: letters of slanted dots, traced from Pillow's built-in bitmap font."""

from __future__ import annotations

import io
import random

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont
from fontTools.ttLib.tables._g_l_y_f import Glyph
from fontTools.ttLib.woff2 import WOFF2FlavorData
from PIL import Image, ImageDraw, ImageFont

_UNITS_PER_EM = 1000
_ROW_UNITS = 90
_COLUMN_UNITS = 90
_SLANT_UNITS = 24  # a row leans this far to the right of the one below
_ROWS = 11
_BASELINE_ROW = 9
_CHARACTERS = [chr(code) for code in range(0x20, 0x7F)]
_SOME_DAY = 3_600_000_000  # seconds since 1904; a fixed one, for the same bytes on every run
_BLOCK_ALIGNMENT_BYTES = 4


def striped_font(size_bytes: int, seed: int) -> bytes:
    """A WOFF2 with printable ASCII, size_bytes long: what is missing is private data, which browsers skip.

    A font is used when it is complete, so it does not matter how much of it is padding.
    Raises ValueError if the font alone is longer.
    """
    font = striped_typeface(random.Random(seed))
    bare = _as_woff2(font, b"")
    # The private block starts aligned, and so does the file's end without one.
    private_bytes = size_bytes - -(-len(bare) // _BLOCK_ALIGNMENT_BYTES) * _BLOCK_ALIGNMENT_BYTES
    body = _as_woff2(font, bytes(max(private_bytes, 0)))
    if len(body) != size_bytes:
        raise ValueError(f"a font of {len(bare)} bytes cannot be padded to {size_bytes}, only to {len(body)}")
    return body


def _as_woff2(font: TTFont, private: bytes) -> bytes:
    font.flavor = "woff2"
    font.flavorData = WOFF2FlavorData()
    font.flavorData.privData = private or None
    out = io.BytesIO()
    font.save(out, reorderTables=False)
    return out.getvalue()


def striped_typeface(rng: random.Random) -> TTFont:
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
