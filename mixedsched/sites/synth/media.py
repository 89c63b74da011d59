"""Sounds, videos and WebAssembly modules of an exact size in bytes, filled up with what their readers skip.

No encoder is needed: `samples/` holds 20 ms of silence (Opus in Ogg) and videos of one frame (VP8 in WebM, AV1 in MP4, the
frame taken from a WebP and an AVIF); players take what follows for padding.
"""

import io
import random
import struct
import wave
from functools import lru_cache
from importlib.resources import files

_MP3_FRAME = b"\xff\xf3\x14\xc4".ljust(24, b"\0")  # MPEG 2, layer III, 8 kbit/s, 24 kHz, mono: 24 ms of silence
_ID3_HEADER_BYTES = 10
_WASM_HEADER = b"\0asm\1\0\0\0"
_WASM_LONG_LENGTH_BYTES = 5  # the format lets a length take more bytes than it needs
_BOX_HEADER_BYTES = 8
_VOID_LEAST_BYTES = 2
_VOID_LONG_HEADER_BYTES = 9
_WAV_HEADER_BYTES = 44
_WAV_RATE_HZ = 8000


def least_bytes(format_name: str) -> int:
    """From where on a file of that format can have any size."""
    match format_name:
        case "wav":
            return _WAV_HEADER_BYTES
        case "mp3":
            return 2 * len(_MP3_FRAME) + _ID3_HEADER_BYTES  # two frames in a row make a reader believe
        case "ogg":
            return len(_stored("silence.ogg"))
        case "webm":
            return len(_stored("one-frame.webm")) + _VOID_LEAST_BYTES
        case "mp4":
            return len(_stored("one-frame.mp4")) + _BOX_HEADER_BYTES
        case _:
            return len(_WASM_HEADER) + 3  # the shortest section


@lru_cache
def _stored(name: str) -> bytes:
    return files(__package__).joinpath("samples", name).read_bytes()


def wav(size_bytes: int, seed: int) -> bytes:
    """Faint noise in 8 bits at 8 kHz, one channel."""
    sample_bytes = size_bytes - _WAV_HEADER_BYTES
    samples = bytes(126 + value % 5 for value in random.Random(seed).randbytes(min(sample_bytes, 8000)))
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setparams((1, 1, _WAV_RATE_HZ, 0, "NONE", ""))
        sound.writeframes((samples * (sample_bytes // max(1, len(samples)) + 1))[:sample_bytes])
    return out.getvalue()


def mp3(size_bytes: int, _seed: int) -> bytes:
    """Frames of silence behind a tag that takes what is less than a frame."""
    frames, rest_bytes = divmod(size_bytes - _ID3_HEADER_BYTES, len(_MP3_FRAME))
    return b"ID3\4\0\0\0\0\0" + bytes([rest_bytes]) + bytes(rest_bytes) + _MP3_FRAME * frames


def ogg(size_bytes: int, _seed: int) -> bytes:
    """Opus in Ogg; players search what follows for further pages, and find none."""
    return _stored("silence.ogg").ljust(size_bytes, b"\0")


def webm(size_bytes: int, _seed: int) -> bytes:
    """A WebM of one frame; a Void element fills it."""
    body = _stored("one-frame.webm")
    missing_bytes = size_bytes - len(body)
    if missing_bytes < 128:
        return body + b"\xec" + bytes([0x80 | missing_bytes - 2]) + bytes(missing_bytes - 2)
    payload_bytes = missing_bytes - _VOID_LONG_HEADER_BYTES
    return body + b"\xec" + (1 << 56 | payload_bytes).to_bytes(8, "big") + bytes(payload_bytes)


def mp4(size_bytes: int, _seed: int) -> bytes:
    """An MP4 of one frame; a box `free` fills it."""
    body = _stored("one-frame.mp4")
    return body + free_box(size_bytes - len(body))


def free_box(size_bytes: int) -> bytes:
    """A box of MP4 and its kin that readers skip, of at least 8 bytes (ISO/IEC 14496-12, 8.1.2)."""
    return struct.pack(">I4s", size_bytes, b"free") + bytes(size_bytes - _BOX_HEADER_BYTES)


def wasm(size_bytes: int, seed: int) -> bytes:
    """An empty module, but for a custom section that engines skip."""
    section_bytes = size_bytes - len(_WASM_HEADER)
    length_bytes = 1 if section_bytes - 2 < 0x80 else _WASM_LONG_LENGTH_BYTES
    payload_bytes = section_bytes - 1 - length_bytes
    groups = [payload_bytes >> 7 * index & 0x7F for index in range(length_bytes)]  # LEB128
    length = bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])
    noise = random.Random(seed).randbytes(payload_bytes - 1)
    return _WASM_HEADER + b"\0" + length + b"\0" + noise  # a section without a name


MAKERS = {"wav": wav, "mp3": mp3, "ogg": ogg, "webm": webm, "mp4": mp4, "wasm": wasm}
