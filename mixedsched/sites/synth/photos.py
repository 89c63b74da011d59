"""Pictures of an exact size in bytes, drawn from a seed."""

from __future__ import annotations

import bisect
import io
import random
import struct

from PIL import Image, ImageDraw, ImageFilter

from mixedsched.sites.synth.padding import JPEG_COMMENT_OVERHEAD_BYTES, pad_jpeg, pad_png

_NOISE_LEVELS = 16
_JPEG_QUALITY = 88
_PADDING_SHARE_MAX = 0.03  # more padding than this would make the picture paint too early or too late


def striped_photo(width_px: int, height_px: int, size_bytes: int, seed: int) -> bytes:
    """A baseline JPEG of that size in pixels and bytes: coloured stripes under grain, so that bytes spread evenly.

    Raises ValueError if no amount of grain comes near the size.
    """
    stripes = _stripes(width_px, height_px)
    noise = random.Random(seed).randbytes(width_px * height_px)
    grain = Image.frombytes("L", (width_px, height_px), noise).convert("RGB")

    def encoded(grain_permille: int) -> bytes:
        out = io.BytesIO()
        picture = Image.blend(stripes, grain, grain_permille / 1000)
        picture.save(out, "JPEG", quality=_JPEG_QUALITY, subsampling=2, optimize=False, progressive=False)
        return out.getvalue()

    largest = size_bytes - JPEG_COMMENT_OVERHEAD_BYTES
    too_large = bisect.bisect_right(range(1000), largest, key=lambda grain_permille: len(encoded(grain_permille)))
    best = encoded(max(0, too_large - 1))
    if not size_bytes * (1 - _PADDING_SHARE_MAX) <= len(best) <= largest:
        raise ValueError(f"no grain brings a {width_px}x{height_px} picture near {size_bytes} bytes")
    return pad_jpeg(best, size_bytes)


def _stripes(width_px: int, height_px: int) -> Image.Image:
    image = Image.new("RGB", (width_px, height_px), (40, 70, 110))
    draw = ImageDraw.Draw(image)
    for index in range(0, width_px + height_px, 80):
        colour = (120 + index % 120, 90 + (index * 3) % 140, 200 - index % 150)
        draw.line([(index, 0), (index - height_px, height_px)], fill=colour, width=36)
    return image.filter(ImageFilter.GaussianBlur(6))  # smooth, so that more grain always means more bytes


def blank_icon() -> bytes:
    """A transparent pixel, as PNG, which browsers take for an icon under any name."""
    out = io.BytesIO()
    Image.new("LA", (1, 1)).save(out, "PNG")
    return out.getvalue()


def blank_icon_file() -> bytes:
    """The same as a file of the kind that /favicon.ico is by its name."""
    png = blank_icon()
    one_image = struct.pack("<HHH", 0, 1, 1)
    offset_bytes = len(one_image) + 16
    return one_image + struct.pack("<BBBBHHII", 1, 1, 0, 0, 1, 32, len(png), offset_bytes) + png


def noise_tile(size_bytes: int, seed: int) -> bytes:
    """A square PNG of pale noise that tiles, as many bytes long, little of it padding."""
    rng = random.Random(seed)
    best = b""
    side_px = int((2 * size_bytes) ** 0.5)  # sixteen levels take about half a byte a pixel
    for side in range(side_px, side_px - 40, -1):
        levels = bytes(225 + value % _NOISE_LEVELS for value in rng.randbytes(side * side))
        out = io.BytesIO()
        Image.frombytes("L", (side, side), levels).save(out, "PNG", compress_level=9)
        if len(best := out.getvalue()) <= size_bytes - 20:
            break
    return pad_png(best, size_bytes)
