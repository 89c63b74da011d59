"""Checks that a body as it was sent decodes to as many bytes as the browser says."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import brotli
import zstandard

_CHUNK_BYTES = 1 << 18

Decode = Callable[[bytes], bytes]


def problem_of_body(body: Path, coding: str, decoded_bytes: int) -> str | None:
    """What is wrong with a body in this content coding, in words; None if nothing is."""
    decode = _decoder(coding)
    if decode is None:
        return f"its content coding {coding} is not known"
    try:
        size = sum(len(decode(chunk)) for chunk in _chunks(body))
    except (zlib.error, brotli.error, zstandard.ZstdError) as error:
        return f"it is not in the coding {coding} that it names: {error}"
    if size != decoded_bytes:
        return f"it decodes to {size} bytes, and the browser saw {decoded_bytes}"
    return None


def _decoder(coding: str) -> Decode | None:
    match coding:
        case "gzip" | "x-gzip":
            return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS).decompress
        case "deflate":
            return _inflate()
        case "br":
            inflate: Decode = brotli.Decompressor().process
            return inflate
        case "zstd":
            return zstandard.ZstdDecompressor().decompressobj().decompress
        case _:
            return None


def _inflate() -> Decode:
    """HTTP's deflate is zlib's format, but some servers leave its frame off; the first byte tells."""
    inner: list[Decode] = []

    def decode(chunk: bytes) -> bytes:
        if not inner:
            is_framed = chunk[:1] and chunk[0] & 0x0F == 8
            inner.append(zlib.decompressobj(wbits=zlib.MAX_WBITS if is_framed else -zlib.MAX_WBITS).decompress)
        return inner[0](chunk)

    return decode


def _chunks(body: Path) -> Iterator[bytes]:
    with body.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk
