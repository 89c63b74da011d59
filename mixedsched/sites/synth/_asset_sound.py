"""Sound files of an exact size in bytes, without an encoder: WAV, MP3, and Ogg with Opus."""

from __future__ import annotations

import random
import struct
from typing import Final

WAV_LEAST_BYTES: Final = 44
_WAV_RATE_HZ = 8000

_MP3_FRAME: Final = b"\xff\xf3\x14\xc4".ljust(
    24, b"\0"
)  # MPEG 2, layer III, 8 kbit/s, 24 kHz, one channel: 24 ms of silence
_ID3_HEADER_BYTES = 10
MP3_LEAST_BYTES: Final = 2 * len(_MP3_FRAME) + _ID3_HEADER_BYTES  # two frames in a row make a reader believe

_OPUS_HEAD: Final = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, 0, 48000, 0, 0)
_OPUS_TAGS: Final = (
    b"OpusTags" + struct.pack("<I", 3) + b"lab" + struct.pack("<I", 1)
)  # one comment, its length and text follow
_OPUS_PACKET: Final = b"\xf8\xff\xfe"  # 20 ms of silence
_OPUS_PACKET_SAMPLES = 960
_PACKET_MAX_BYTES = 254  # of one that takes one byte of lacing
_LACING_MAX_SEGMENTS = 255
_PAGE_HEADER_BYTES = 27


def wav(size_bytes: int, seed: int) -> bytes:
    """Faint noise in 8 bits at 8 kHz, one channel."""
    sample_bytes = size_bytes - WAV_LEAST_BYTES
    header = struct.pack(
        "<4sI4s4sIHHIIHH", b"RIFF", size_bytes - 8, b"WAVE", b"fmt ", 16, 1, 1, _WAV_RATE_HZ, _WAV_RATE_HZ, 1, 8
    )
    samples = bytes(126 + value % 5 for value in random.Random(seed).randbytes(min(sample_bytes, 8000)))
    repeated = samples * (sample_bytes // max(1, len(samples)) + 1)
    return header + struct.pack("<4sI", b"data", sample_bytes) + repeated[:sample_bytes]


def mp3(size_bytes: int) -> bytes:
    """Frames of silence behind a tag that takes what is less than a frame."""
    frames, rest_bytes = divmod(size_bytes - _ID3_HEADER_BYTES, len(_MP3_FRAME))
    tag = b"ID3\4\0\0\0\0\0" + bytes([rest_bytes]) + bytes(rest_bytes)
    return tag + _MP3_FRAME * frames


def ogg_least_bytes() -> int:
    """From where on an Ogg file can have any size."""
    return len(_ogg(0, len(_OPUS_PACKET)))


def ogg(size_bytes: int) -> bytes:
    """One packet of Opus behind a comment that takes the rest.

    Lacing makes some lengths of the comment impossible; a longer packet, whose content is noise, makes up for them.
    """
    missing = size_bytes - ogg_least_bytes()
    comment_bytes = missing
    while True:
        body = _ogg(comment_bytes, len(_OPUS_PACKET))
        excess = size_bytes - len(body)
        if excess >= 0:
            return _ogg(comment_bytes, len(_OPUS_PACKET) + excess) if excess else body
        comment_bytes = max(0, comment_bytes + excess)


def _ogg(comment_bytes: int, packet_bytes: int) -> bytes:
    tags = _OPUS_TAGS + struct.pack("<I", comment_bytes) + b"C=".ljust(comment_bytes, b".")[:comment_bytes]
    pages = [*_pages(_OPUS_HEAD), *_pages(tags), *_pages(_OPUS_PACKET.ljust(packet_bytes, b"\0"))]
    body = b""
    for number, (lacing, payload, is_continued, is_ended) in enumerate(pages):
        is_last = number == len(pages) - 1
        kind = is_continued | (number == 0) << 1 | is_last << 2
        position = _OPUS_PACKET_SAMPLES if is_last else (0 if is_ended else (1 << 64) - 1)
        header = struct.pack("<4sBBQIIIB", b"OggS", 0, kind, position, 1, number, 0, len(lacing)) + lacing
        page = header + payload
        body += page[:22] + struct.pack("<I", _crc(page)) + page[26:]
    return body


def _pages(packet: bytes) -> list[tuple[bytes, bytes, bool, bool]]:
    """A packet in pages of its own: lacing, payload, whether it began before, whether it ends there."""
    lacing = b"\xff" * (len(packet) // 255) + bytes([len(packet) % 255])
    pages = []
    for start in range(0, len(lacing), _LACING_MAX_SEGMENTS):
        part = lacing[start : start + _LACING_MAX_SEGMENTS]
        payload = packet[start * 255 : start * 255 + sum(part)]
        pages.append((part, payload, start > 0, start + len(part) == len(lacing)))
    return pages


def _crc(page: bytes) -> int:
    """Ogg's checksum: polynomial 0x04c11db7, nothing reflected, nothing inverted."""
    value = 0
    for byte in page:
        value = (value << 8 & 0xFFFFFFFF) ^ _CRC_TABLE[value >> 24 ^ byte]
    return value


def _crc_entry(index: int) -> int:
    value = index << 24
    for _bit in range(8):
        value = (value << 1 ^ (0x04C11DB7 if value & 0x80000000 else 0)) & 0xFFFFFFFF
    return value


_CRC_TABLE: Final = [_crc_entry(index) for index in range(256)]
