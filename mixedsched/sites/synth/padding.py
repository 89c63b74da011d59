"""Exact file sizes: blocks that decoders skip, as long as it takes."""

from __future__ import annotations

import struct
import zlib

_JPEG_COMMENT_MARKER = b"\xff\xfe"
JPEG_COMMENT_OVERHEAD_BYTES = 4  # marker and length
_JPEG_COMMENT_MAX_BYTES = JPEG_COMMENT_OVERHEAD_BYTES + 65533
_PNG_SIGNATURE_AND_HEADER_BYTES = 8 + 25
_PNG_KEYWORD = b"Comment\0"
_PNG_OVERHEAD_BYTES = 12 + len(_PNG_KEYWORD)


def pad_jpeg(image: bytes, size_bytes: int) -> bytes:
    """The JPEG with comment segments after its start marker, size_bytes long. Raises ValueError if it cannot be."""
    missing = size_bytes - len(image)
    segments = b""
    while missing:
        length = min(missing, _JPEG_COMMENT_MAX_BYTES)
        if 0 < missing - length < JPEG_COMMENT_OVERHEAD_BYTES:
            length -= JPEG_COMMENT_OVERHEAD_BYTES  # leave room for one more segment
        if length < JPEG_COMMENT_OVERHEAD_BYTES:
            raise ValueError(f"a JPEG of {len(image)} bytes cannot be padded to {size_bytes}")
        payload_bytes = length - JPEG_COMMENT_OVERHEAD_BYTES
        segments += _JPEG_COMMENT_MARKER + struct.pack(">H", payload_bytes + 2) + b" " * payload_bytes
        missing -= length
    return image[:2] + segments + image[2:]


def pad_png(image: bytes, size_bytes: int) -> bytes:
    """The PNG with a text chunk after its header, size_bytes long. Raises ValueError if it cannot be."""
    missing = size_bytes - len(image)
    if not missing:
        return image
    if missing < _PNG_OVERHEAD_BYTES:
        raise ValueError(f"a PNG of {len(image)} bytes cannot be padded to {size_bytes}")
    body = b"tEXt" + _PNG_KEYWORD + b" " * (missing - _PNG_OVERHEAD_BYTES)
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    cut = _PNG_SIGNATURE_AND_HEADER_BYTES
    return image[:cut] + chunk + image[cut:]


def pad_text(text: str, opening: str, closing: str, size_bytes: int) -> bytes:
    """The text with a comment of full stops at its end, in lines of a hundred. Raises ValueError if it is too long."""
    body = text.encode()
    room = size_bytes - len(body) - len(opening) - len(closing)
    if room < 0:
        raise ValueError(f"a text of {len(body)} bytes cannot be padded to {size_bytes}")
    line = "." * 99 + "\n"
    filling = (line * (room // len(line) + 1))[:room]
    return body + opening.encode() + filling.encode() + closing.encode()
