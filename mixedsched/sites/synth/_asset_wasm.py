"""A WebAssembly module of an exact size in bytes: empty, but for a custom section that engines skip."""

from __future__ import annotations

import random
from typing import Final

_HEADER = b"\0asm\1\0\0\0"
_LONG_LENGTH_BYTES = 5  # the format lets a length take more bytes than it needs
_SECTION_LEAST_BYTES = 3
WASM_LEAST_BYTES: Final = len(_HEADER) + _SECTION_LEAST_BYTES


def wasm(size_bytes: int, seed: int) -> bytes:
    """From WASM_LEAST_BYTES on."""
    section_bytes = size_bytes - len(_HEADER)
    length_bytes = 1 if section_bytes - 2 < 0x80 else _LONG_LENGTH_BYTES
    payload_bytes = section_bytes - 1 - length_bytes
    noise = random.Random(seed).randbytes(payload_bytes - 1)
    return _HEADER + b"\0" + _leb128(payload_bytes, length_bytes) + b"\0" + noise  # a section without a name


def _leb128(value: int, length_bytes: int) -> bytes:
    groups = [value >> 7 * index & 0x7F for index in range(length_bytes)]
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])
