"""Raster images of an exact size in bytes: JPEG, PNG, GIF, WebP, AVIF, BMP and icons.

A picture fills its file as far as its format allows, and ignorable bytes fill the rest: comments, unknown chunks, or bytes
after the picture's end where so few are missing that no comment has room.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image

from mixedsched.sites.synth._asset_pixels import (
    Canvas,
    Encode,
    fullest,
    grainy,
    natural_canvas,
    noise,
    palette,
    speckled,
)
from mixedsched.sites.synth.padding import JPEG_COMMENT_OVERHEAD_BYTES, pad_jpeg, pad_png

_PNG_OVERHEAD_BYTES = 20
_BOX_HEADER_BYTES = 8
_CHUNK_HEADER_BYTES = 8
_ICON_DIRECTORY_BYTES = 22
_ICON_SIDE_MAX_PX = 256
_BMP_HEADER_BYTES = 54
_GIF_LEAST = b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"
_COLOURED_PIXELS = 400
_QUALITIES = (80, 40, 10)  # the first with which a picture of the wanted pixels fits

_LEAST_BYTES = {"png": 67, "gif": len(_GIF_LEAST), "bmp": _BMP_HEADER_BYTES + 4, "icon": _ICON_DIRECTORY_BYTES + 67}


def least_bytes(format_name: str) -> int:
    """From where on a file of that format can have any size: one pixel."""
    if format_name in _LEAST_BYTES:
        return _LEAST_BYTES[format_name]
    box_bytes = _BOX_HEADER_BYTES if format_name == "avif" else 0
    return len(_least_photo(format_name.upper())) + box_bytes


def jpeg(size_bytes: int, canvas: Canvas | None, seed: int) -> bytes:
    """A baseline JPEG. This and the others: canvas is the wanted size in pixels, None for what is natural for size_bytes.

    Pictures that are too short for that many pixels get half as many each way until they fit.
    """
    body = _photo("JPEG", size_bytes, canvas or natural_canvas(size_bytes, 0.25, seed), optimize=True)
    missing = size_bytes - len(body)
    return body + bytes(missing) if missing < JPEG_COMMENT_OVERHEAD_BYTES else pad_jpeg(body, size_bytes)


def webp(size_bytes: int, canvas: Canvas | None, seed: int) -> bytes:
    """A lossy WebP."""
    canvas = canvas or natural_canvas(size_bytes, 0.2, seed)
    body = _photo("WEBP", size_bytes, canvas, method=0)
    missing = size_bytes - len(body)
    if missing < _CHUNK_HEADER_BYTES:
        return body + bytes(missing)
    payload_bytes = missing - _CHUNK_HEADER_BYTES
    chunk = b"JUNK" + struct.pack("<I", payload_bytes & ~1) + bytes(payload_bytes)
    riff_bytes = size_bytes - _CHUNK_HEADER_BYTES - (payload_bytes & 1)
    return body[:4] + struct.pack("<I", riff_bytes) + body[8:] + chunk


def avif(size_bytes: int, canvas: Canvas | None, seed: int) -> bytes:
    """An AVIF; a box `free` ends it."""
    canvas = canvas or natural_canvas(size_bytes, 0.2, seed)
    body = _photo("AVIF", size_bytes - _BOX_HEADER_BYTES, canvas, speed=10, max_threads=1)
    return body + free_box(size_bytes - len(body))


def free_box(size_bytes: int) -> bytes:
    """A box of MP4 and its kin that readers skip, of at least 8 bytes."""
    return struct.pack(">I4s", size_bytes, b"free") + bytes(size_bytes - _BOX_HEADER_BYTES)


def _photo(format_name: str, room_bytes: int, canvas: Canvas, **options: Any) -> bytes:
    while True:
        for quality in _QUALITIES:
            body = fullest(_saver(format_name, canvas, {**options, "quality": quality}), room_bytes)
            if body is not None:
                return body
        if canvas.is_least:
            return _least_photo(format_name)
        canvas = canvas.halved()


def _saver(format_name: str, canvas: Canvas, options: dict[str, Any]) -> Encode:
    picture = grainy(canvas)

    def encode(amount: float) -> bytes:
        out = io.BytesIO()
        picture(amount).save(out, format_name, **options)
        return _without_jfif(out.getvalue()) if format_name == "JPEG" else out.getvalue()

    return encode


def _without_jfif(body: bytes) -> bytes:
    """The JPEG without its APP0 segment, which nobody needs."""
    return body[:2] + body[20:] if body[2:4] == b"\xff\xe0" else body


@lru_cache
def _least_photo(format_name: str) -> bytes:
    out = io.BytesIO()
    options: dict[str, Any] = {"JPEG": {"optimize": True}}.get(format_name, {})
    Image.new("L", (1, 1), 128).save(out, format_name, quality=1, **options)
    return _without_jfif(out.getvalue()) if format_name == "JPEG" else out.getvalue()


def png(size_bytes: int, canvas: Canvas | None, seed: int) -> bytes:
    """A PNG of sixteen colours; of greys if it is small, since a list of colours takes room."""
    body = _drawing(_png_saver, size_bytes, canvas or natural_canvas(size_bytes, 0.6, seed))
    missing = size_bytes - len(body)
    return body + bytes(missing) if missing < _PNG_OVERHEAD_BYTES else pad_png(body, size_bytes)


def gif(size_bytes: int, canvas: Canvas | None, seed: int) -> bytes:
    """A GIF of sixteen colours."""
    body = _drawing(_gif_saver, size_bytes, canvas or natural_canvas(size_bytes, 0.6, seed))
    if len(body) > size_bytes:
        body = _GIF_LEAST
    return body + bytes(size_bytes - len(body))


def _drawing(saver: Callable[[Canvas], Encode], room_bytes: int, canvas: Canvas) -> bytes:
    while True:
        body = fullest(saver(canvas), room_bytes)
        if body is not None:
            return body
        if canvas.is_least:
            return saver(canvas)(0.0)
        canvas = canvas.halved()


def _png_saver(canvas: Canvas) -> Encode:
    picture = speckled(canvas)
    is_coloured = canvas.width_px * canvas.height_px >= _COLOURED_PIXELS
    header = struct.pack(">IIBBBBB", canvas.width_px, canvas.height_px, 8, 3 if is_coloured else 0, 0, 0, 0)
    opening = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header)
    if is_coloured:
        opening += _chunk(b"PLTE", palette(canvas.seed))

    def encode(share: float) -> bytes:
        rows = picture(share) * np.uint8(1 if is_coloured else 17)
        plain = np.hstack([np.zeros((canvas.height_px, 1), dtype=np.uint8), rows]).tobytes()  # each row unfiltered
        return opening + _chunk(b"IDAT", zlib.compress(plain, 1)) + _chunk(b"IEND", b"")

    return encode


def _chunk(name: bytes, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + name + payload + struct.pack(">I", zlib.crc32(name + payload))


def _gif_saver(canvas: Canvas) -> Encode:
    picture, colours = speckled(canvas), palette(canvas.seed)

    def encode(share: float) -> bytes:
        out = io.BytesIO()
        image = Image.fromarray(picture(share), "L")
        image.putpalette(colours)
        image.save(out, "GIF", optimize=False)
        return out.getvalue()

    return encode


def bmp(size_bytes: int, canvas: Canvas | None, seed: int) -> bytes:
    """A bitmap of noise in three bytes a pixel; bytes between its header and its pixels are skipped."""
    room_bytes = size_bytes - _BMP_HEADER_BYTES
    canvas = canvas or natural_canvas(room_bytes, 3.1, seed)
    while (stride := -(-canvas.width_px * 3 // 4) * 4) * canvas.height_px > room_bytes and not canvas.is_least:
        canvas = canvas.halved()
    pixel_bytes = stride * canvas.height_px
    rows = np.zeros((canvas.height_px, stride), dtype=np.uint8)
    rows[:, : canvas.width_px * 3] = noise(canvas, 3).reshape(canvas.height_px, -1)
    header = struct.pack("<2sIHHI", b"BM", size_bytes, 0, 0, size_bytes - pixel_bytes)
    info = struct.pack("<IiiHHIIiiII", 40, canvas.width_px, canvas.height_px, 1, 24, 0, pixel_bytes, 0, 0, 0, 0)
    return header + info + bytes(room_bytes - pixel_bytes) + rows.tobytes()


def icon(size_bytes: int, canvas: Canvas | None, seed: int) -> bytes:
    """An icon file that holds one PNG, 256 pixels wide and high at the most."""
    image_bytes = size_bytes - _ICON_DIRECTORY_BYTES
    wanted = canvas or natural_canvas(image_bytes, 0.6, seed)
    side_px = min(max(wanted.width_px, wanted.height_px), _ICON_SIDE_MAX_PX)
    body = png(image_bytes, Canvas(side_px, side_px, seed), seed)
    width_px, height_px = struct.unpack(">II", body[16:24])
    entry = struct.pack("<BBBBHHII", width_px % 256, height_px % 256, 0, 0, 1, 32, len(body), _ICON_DIRECTORY_BYTES)
    return struct.pack("<HHH", 0, 1, 1) + entry + body
