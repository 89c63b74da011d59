"""Raster images of an exact size in bytes: JPEG, PNG, GIF, WebP, AVIF, BMP and icons.

A picture fills its file as well as its format allows, and ignorable bytes fill the rest: comments, unknown chunks, or bytes
after the picture's end where so few are missing that no comment has room. Pillow encodes all but PNGs and the directory of
an icon: its PNGs, whose rows it filters as it thinks best, cannot be steered to a size as well.
"""

import bisect
import io
import random
import struct
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from mixedsched.sites.synth._pixels import Canvas, Encode, fullest, grainy, natural_canvas, noise, palette, speckled
from mixedsched.sites.synth.media import free_box

_JPEG_COMMENT_OVERHEAD_BYTES = 4  # marker and length
_JPEG_COMMENT_MAX_BYTES = _JPEG_COMMENT_OVERHEAD_BYTES + 65533
_PNG_KEYWORD = b"Comment\0"
_PNG_COMMENT_OVERHEAD_BYTES = 12 + len(_PNG_KEYWORD)
_PNG_OPENING_BYTES = 8 + 25  # signature and header
_BOX_HEADER_BYTES = 8
_CHUNK_HEADER_BYTES = 8
_ICON_DIRECTORY_BYTES = 22
_ICON_SIDE_MAX_PX = 256
_GIF_LEAST = b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"
_COLOURED_PIXELS = 400
_QUALITIES = (80, 40, 10)  # the first with which a picture of the wanted pixels fits
_LEAST_BYTES = {"png": 67, "gif": len(_GIF_LEAST), "bmp": 58, "icon": _ICON_DIRECTORY_BYTES + 67}

_NOISE_LEVELS = 16
_PHOTO_QUALITY = 88
_PADDING_SHARE_MAX = 0.03  # more padding than this would make the picture paint too early or too late


def least_bytes(format_name: str) -> int:
    """From where on a file of that format can have any size: one pixel."""
    if format_name in _LEAST_BYTES:
        return _LEAST_BYTES[format_name]
    return len(_least_photo(format_name.upper())) + (_BOX_HEADER_BYTES if format_name == "avif" else 0)


def jpeg(size_bytes: int, canvas: Canvas | None, seed: int) -> bytes:
    """A baseline JPEG. This and the others: canvas is the wanted size in pixels, None for what is natural for size_bytes.

    Pictures that are too short for that many pixels get half as many each way until they fit.
    """
    body = _photo("JPEG", size_bytes, canvas or natural_canvas(size_bytes, 0.25, seed), optimize=True)
    missing = size_bytes - len(body)
    return body + bytes(missing) if missing < _JPEG_COMMENT_OVERHEAD_BYTES else pad_jpeg(body, size_bytes)


def webp(size_bytes: int, canvas: Canvas | None, seed: int) -> bytes:
    """A lossy WebP."""
    body = _photo("WEBP", size_bytes, canvas or natural_canvas(size_bytes, 0.2, seed), method=0)
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


def png(size_bytes: int, canvas: Canvas | None, seed: int) -> bytes:
    """A PNG of sixteen colours; of greys if it is small, since a list of colours takes room."""
    body = _drawing(_png_saver, size_bytes, canvas or natural_canvas(size_bytes, 0.6, seed))
    missing = size_bytes - len(body)
    return body + bytes(missing) if missing < _PNG_COMMENT_OVERHEAD_BYTES else pad_png(body, size_bytes)


def gif(size_bytes: int, canvas: Canvas | None, seed: int) -> bytes:
    """A GIF of sixteen colours."""
    body = _drawing(_gif_saver, size_bytes, canvas or natural_canvas(size_bytes, 0.6, seed))
    return (body if len(body) <= size_bytes else _GIF_LEAST).ljust(size_bytes, b"\0")


def bmp(size_bytes: int, canvas: Canvas | None, seed: int) -> bytes:
    """A bitmap of noise in three bytes a pixel."""
    canvas = canvas or natural_canvas(size_bytes, 3.1, seed)
    while len(body := _saved(Image.fromarray(noise(canvas, 3), "RGB"), "BMP")) > size_bytes:
        canvas = canvas.halved()
    return body.ljust(size_bytes, b"\0")


def icon(size_bytes: int, canvas: Canvas | None, seed: int) -> bytes:
    """An icon file that holds one PNG, 256 pixels wide and high at the most."""
    image_bytes = size_bytes - _ICON_DIRECTORY_BYTES
    wanted = canvas or natural_canvas(image_bytes, 0.6, seed)
    side_px = min(max(wanted.width_px, wanted.height_px), _ICON_SIDE_MAX_PX)
    return _icon_of(png(image_bytes, Canvas(side_px, side_px, seed), seed))


def blank_icon() -> bytes:
    """A transparent pixel as an icon file."""
    return _icon_of(_saved(Image.new("LA", (1, 1)), "PNG"))


def _icon_of(image: bytes) -> bytes:
    """The PNG as the only image of an icon file."""
    width_px, height_px = struct.unpack(">II", image[16:24])
    entry = struct.pack("<BBBBHHII", width_px % 256, height_px % 256, 0, 0, 1, 32, len(image), _ICON_DIRECTORY_BYTES)
    return struct.pack("<HHH", 0, 1, 1) + entry + image


def striped_photo(width_px: int, height_px: int, size_bytes: int, seed: int) -> bytes:
    """A baseline JPEG of that size in pixels and bytes: coloured stripes under grain, so that bytes spread evenly.

    Raises ValueError if no amount of grain comes near the size.
    """
    stripes = _stripes(width_px, height_px)
    noise_bytes = random.Random(seed).randbytes(width_px * height_px)
    grain = Image.frombytes("L", (width_px, height_px), noise_bytes).convert("RGB")

    def encoded(grain_permille: int) -> bytes:
        picture = Image.blend(stripes, grain, grain_permille / 1000)
        return _saved(picture, "JPEG", quality=_PHOTO_QUALITY, subsampling=2, optimize=False, progressive=False)

    largest = size_bytes - _JPEG_COMMENT_OVERHEAD_BYTES
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


def noise_tile(size_bytes: int, seed: int) -> bytes:
    """A square PNG of pale noise that tiles, as many bytes long, little of it padding."""
    rng = random.Random(seed)
    best = b""
    side_px = int((2 * size_bytes) ** 0.5)  # sixteen levels take about half a byte a pixel
    for side in range(side_px, side_px - 40, -1):
        levels = bytes(225 + value % _NOISE_LEVELS for value in rng.randbytes(side * side))
        best = _saved(Image.frombytes("L", (side, side), levels), "PNG", compress_level=9)
        if len(best) <= size_bytes - _PNG_COMMENT_OVERHEAD_BYTES:
            break
    return pad_png(best, size_bytes)


def pad_jpeg(image: bytes, size_bytes: int) -> bytes:
    """The JPEG with comment segments after its start marker, size_bytes long. Raises ValueError if it cannot be."""
    missing = size_bytes - len(image)
    segments = b""
    while missing:
        length = min(missing, _JPEG_COMMENT_MAX_BYTES)
        if 0 < missing - length < _JPEG_COMMENT_OVERHEAD_BYTES:
            length -= _JPEG_COMMENT_OVERHEAD_BYTES  # leave room for one more segment
        if length < _JPEG_COMMENT_OVERHEAD_BYTES:
            raise ValueError(f"a JPEG of {len(image)} bytes cannot be padded to {size_bytes}")
        payload_bytes = length - _JPEG_COMMENT_OVERHEAD_BYTES
        segments += b"\xff\xfe" + struct.pack(">H", payload_bytes + 2) + b" " * payload_bytes
        missing -= length
    return image[:2] + segments + image[2:]


def pad_png(image: bytes, size_bytes: int) -> bytes:
    """The PNG with a text chunk after its header, size_bytes long. It must be long enough for that, or just as long."""
    missing = size_bytes - len(image)
    if not missing:
        return image
    if missing < _PNG_COMMENT_OVERHEAD_BYTES:
        raise ValueError(f"a PNG of {len(image)} bytes cannot be padded to {size_bytes}")
    comment = _png_chunk(b"tEXt", _PNG_KEYWORD + b" " * (missing - _PNG_COMMENT_OVERHEAD_BYTES))
    return image[:_PNG_OPENING_BYTES] + comment + image[_PNG_OPENING_BYTES:]


def _photo(format_name: str, room_bytes: int, canvas: Canvas, **options: Any) -> bytes:
    while True:
        for quality in _QUALITIES:
            body = fullest(_photo_saver(format_name, canvas, {**options, "quality": quality}), room_bytes)
            if body is not None:
                return body
        if canvas.is_least:
            return _least_photo(format_name)
        canvas = canvas.halved()


def _photo_saver(format_name: str, canvas: Canvas, options: dict[str, Any]) -> Encode:
    picture = grainy(canvas)
    return lambda amount: _without_jfif(_saved(picture(amount), format_name, **options))


@lru_cache
def _least_photo(format_name: str) -> bytes:
    options: dict[str, Any] = {"optimize": True} if format_name == "JPEG" else {}
    return _without_jfif(_saved(Image.new("L", (1, 1), 128), format_name, quality=1, **options))


def _saved(image: Image.Image, format_name: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, format_name, **options)
    return out.getvalue()


def _without_jfif(body: bytes) -> bytes:
    """A JPEG without its APP0 segment, which no reader needs; other files as they are."""
    return body[:2] + body[20:] if body.startswith(b"\xff\xd8\xff\xe0") else body


def _drawing(saver: Callable[[Canvas], Encode], room_bytes: int, canvas: Canvas) -> bytes:
    while (body := fullest(saver(canvas), room_bytes)) is None:
        if canvas.is_least:
            return saver(canvas)(0.0)
        canvas = canvas.halved()
    return body


def _png_saver(canvas: Canvas) -> Encode:
    picture = speckled(canvas)
    is_coloured = canvas.width_px * canvas.height_px >= _COLOURED_PIXELS
    header = struct.pack(">IIBBBBB", canvas.width_px, canvas.height_px, 8, 3 if is_coloured else 0, 0, 0, 0)
    opening = b"\x89PNG\r\n\x1a\n" + _png_chunk(b"IHDR", header)
    if is_coloured:
        opening += _png_chunk(b"PLTE", palette(canvas.seed))

    def encode(share: float) -> bytes:
        rows = picture(share) * np.uint8(1 if is_coloured else 17)
        plain = np.hstack([np.zeros((canvas.height_px, 1), dtype=np.uint8), rows]).tobytes()  # each row unfiltered
        return opening + _png_chunk(b"IDAT", zlib.compress(plain, 1)) + _png_chunk(b"IEND", b"")

    return encode


def _png_chunk(name: bytes, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + name + payload + struct.pack(">I", zlib.crc32(name + payload))


def _gif_saver(canvas: Canvas) -> Encode:
    picture, colours = speckled(canvas), palette(canvas.seed)

    def encode(share: float) -> bytes:
        image = Image.fromarray(picture(share), "L")
        image.putpalette(colours)
        return _saved(image, "GIF", optimize=False)

    return encode


MAKERS = {"jpeg": jpeg, "png": png, "gif": gif, "webp": webp, "avif": avif, "bmp": bmp, "icon": icon}
