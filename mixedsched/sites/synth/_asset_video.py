"""Video files of an exact size in bytes, whose one picture an image encoder made: WebM with VP8, MP4 with AV1.

A lossy WebP holds a VP8 key frame, an AVIF holds an AV1 one; in another container they are videos of one frame.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from mixedsched.sites.synth._asset_pixels import Canvas
from mixedsched.sites.synth._asset_raster import avif, free_box, webp

_CANVAS = Canvas(64, 48, 1)
_BOX_HEADER_BYTES = 8
_VOID_LEAST_BYTES = 2
_VOID_LONG_HEADER_BYTES = 9
_DURATION_MS = 1000
_MATRIX = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)


def webm(size_bytes: int) -> bytes:
    """A WebM of one frame; a Void element fills it."""
    return _bare_webm() + _void(size_bytes - len(_bare_webm()))


def webm_least_bytes() -> int:
    """From where on a WebM can have any size."""
    return len(_bare_webm()) + _VOID_LEAST_BYTES


def mp4(size_bytes: int) -> bytes:
    """An MP4 of one frame; a box `free` fills it."""
    return _bare_mp4() + free_box(size_bytes - len(_bare_mp4()))


def mp4_least_bytes() -> int:
    """From where on an MP4 can have any size."""
    return len(_bare_mp4()) + _BOX_HEADER_BYTES


@lru_cache
def _bare_webm() -> bytes:
    picture = webp(300, _CANVAS, 1)
    (frame_bytes,) = struct.unpack("<I", picture[16:20])
    frame = picture[20 : 20 + frame_bytes]
    header = _element(0x1A45DFA3, _element(0x4282, b"webm") + _element(0x4287, b"\4") + _element(0x4285, b"\2"))
    scale = _element(0x2AD7B1, (1_000_000).to_bytes(3, "big"))  # a tick is a millisecond
    facts = _element(0x1549A966, scale + _element(0x4489, struct.pack(">d", _DURATION_MS)))
    size = _element(0xB0, bytes([_CANVAS.width_px])) + _element(0xBA, bytes([_CANVAS.height_px]))
    track = _element(0xD7, b"\1") + _element(0x73C5, b"\1") + _element(0x83, b"\1") + _element(0x86, b"V_VP8")
    tracks = _element(0x1654AE6B, _element(0xAE, track + _element(0xE0, size)))
    block = _element(0xA3, b"\x81\0\0\x80" + frame)  # track 1, time 0, key frame
    cluster = _element(0x1F43B675, _element(0xE7, b"\0") + block)
    unknown_length = b"\x18\x53\x80\x67\x01" + b"\xff" * 7  # a segment that ends with the file
    return header + unknown_length + facts + tracks + cluster


def _element(number: int, payload: bytes) -> bytes:
    name = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return name + (0x10000000 | len(payload)).to_bytes(4, "big") + payload


def _void(size_bytes: int) -> bytes:
    if size_bytes < 128:
        return b"\xec" + bytes([0x80 | size_bytes - 2]) + bytes(size_bytes - 2)
    payload_bytes = size_bytes - _VOID_LONG_HEADER_BYTES
    return b"\xec" + ((1 << 56) | payload_bytes).to_bytes(8, "big") + bytes(payload_bytes)


@lru_cache
def _bare_mp4() -> bytes:
    picture = avif(600, _CANVAS, 1)
    configuration = _box_of(picture, b"av1C")
    frame = _box_of(picture, b"mdat")
    kind = _box(b"ftyp", b"iso5", struct.pack(">I", 0x200), b"iso5av01mp41")
    empty = _moov(configuration, len(frame), 0)
    whole = _moov(configuration, len(frame), len(kind) + len(empty) + _BOX_HEADER_BYTES)
    return kind + whole + _box(b"mdat", frame)


def _box(name: bytes, *parts: bytes) -> bytes:
    payload = b"".join(parts)
    return struct.pack(">I4s", _BOX_HEADER_BYTES + len(payload), name) + payload


def _box_of(body: bytes, name: bytes) -> bytes:
    """The payload of the first box of that name."""
    at = body.index(name)
    (length,) = struct.unpack(">I", body[at - 4 : at])
    return body[at + 4 : at - 4 + length]


def _moov(configuration: bytes, frame_bytes: int, frame_at: int) -> bytes:
    size = struct.pack(">HH", _CANVAS.width_px, _CANVAS.height_px)
    movie = _box(
        b"mvhd",
        bytes(12),
        struct.pack(">IIIH", 1000, _DURATION_MS, 0x10000, 0x100),
        bytes(10),
        _MATRIX,
        bytes(24),
        struct.pack(">I", 2),
    )
    side = struct.pack(">II", _CANVAS.width_px << 16, _CANVAS.height_px << 16)
    track = _box(
        b"tkhd", struct.pack(">I", 3), bytes(8), struct.pack(">III", 1, 0, _DURATION_MS), bytes(16), _MATRIX, side
    )
    entry = _box(b"av01", bytes(6), struct.pack(">H", 1), bytes(16), size, _RESOLUTION, _box(b"av1C", configuration))
    table = _box(
        b"stbl",
        _box(b"stsd", bytes(4), struct.pack(">I", 1), entry),
        _box(b"stts", bytes(4), struct.pack(">III", 1, 1, _DURATION_MS)),
        _box(b"stsc", bytes(4), struct.pack(">IIII", 1, 1, 1, 1)),
        _box(b"stsz", bytes(4), struct.pack(">III", frame_bytes, 1, 0)[:8]),
        _box(b"stco", bytes(4), struct.pack(">II", 1, frame_at)),
    )
    reference = _box(b"dinf", _box(b"dref", bytes(4), struct.pack(">I", 1), _box(b"url ", b"\0\0\0\1")))
    minimal = _box(b"minf", _box(b"vmhd", b"\0\0\0\1", bytes(8)), reference, table)
    handler = _box(b"hdlr", bytes(8), b"vide", bytes(12), b"\0")
    timing = _box(b"mdhd", bytes(12), struct.pack(">IIHH", 1000, _DURATION_MS, 0x55C4, 0))
    return _box(b"moov", movie, _box(b"trak", track, _box(b"mdia", timing, handler, minimal)))


_RESOLUTION = struct.pack(">IIIH", 0x480000, 0x480000, 0, 1) + bytes(32) + struct.pack(">Hh", 24, -1)
