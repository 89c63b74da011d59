"""Content codings (RFC 9110 section 8.4.1): undone within bounds, and done the same way each time."""

import gzip
import zlib
from collections.abc import Callable, Mapping
from typing import Literal, get_args

Coding = Literal["gzip", "br", "zstd", "deflate"]
CODINGS: tuple[Coding, ...] = get_args(Coding)

MAX_DECODED_BYTES = 256 * 1024 * 1024  # beyond that a small file was made to fill memory
_GZIP_LEVEL, _BROTLI_QUALITY, _ZSTD_LEVEL = 9, 9, 19
_ZSTD_WINDOW_BYTES = (
    128 * 1024 * 1024
)  # what decoders should take at least is 8 MiB (RFC 9659); `zstd --ultra` makes more
_ZSTD_STEP_BYTES = 256  # make at most 64 blocks of 128 KiB
_ZLIB_STEP_BYTES = 4096  # a stream that ends in one copies what is left of it
_RAW, _ZLIB, _GZIP = -15, 15, 31  # zlib's wbits


class UndecodableError(ValueError):
    """Data is not what its coding promises, or larger than it may be."""


def decode(data: bytes, coding: str, limit_bytes: int = MAX_DECODED_BYTES) -> bytes:
    """Decode; never more than limit_bytes, nor much more memory than that.

    Raises UndecodableError if it is damaged, cut off or larger than the limit, and ValueError for an unknown coding.
    """
    if coding not in _DECODERS:
        raise ValueError(f"there is no content coding '{coding}'")
    decoded = _DECODERS[coding](data, limit_bytes)
    if len(decoded) > limit_bytes:
        raise UndecodableError("it is too large")
    return decoded


def encode(data: bytes, coding: str) -> bytes:
    """The same bytes for the same input on every run. Raises ValueError for an unknown coding."""
    match coding:
        case "gzip":
            return gzip.compress(data, _GZIP_LEVEL, mtime=0)
        case "deflate":
            return zlib.compress(data, _GZIP_LEVEL)
        case "br":
            import brotli  # here and below, because a server that decodes nothing does without their memory

            return bytes(brotli.compress(data, quality=_BROTLI_QUALITY))
        case "zstd":
            import zstandard

            return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(data)
    raise ValueError(f"there is no content coding '{coding}'")


def _gunzip(data: bytes, limit_bytes: int) -> bytes:
    """gzip members may follow one another."""
    parts: list[bytes] = []
    room, stop = limit_bytes + 1, 0
    while not parts or stop < len(data):
        part, stop = _inflated(data, stop, _GZIP, room)
        parts.append(part)
        room -= len(part)
    return b"".join(parts)


def _undeflate(data: bytes, limit_bytes: int) -> bytes:
    """`deflate` means the zlib format, but some servers send the bare stream, and browsers take both."""
    is_zlib = len(data) >= 2 and data[0] & 0x0F == zlib.DEFLATED and (data[0] << 8 | data[1]) % 31 == 0
    decoded, stop = _inflated(data, 0, _ZLIB if is_zlib else _RAW, limit_bytes + 1)
    if stop < len(data):
        raise UndecodableError("something follows its end")
    return decoded


def _inflated(data: bytes, start: int, wbits: int, room: int) -> tuple[bytes, int]:
    """A whole stream of at most `room` - 1 bytes from `start` on, and where it ends.

    Fed by small steps: short streams may follow one another by the thousand, and none may cost all that is behind it.
    """
    decoder, position = zlib.decompressobj(wbits=wbits), start
    parts: list[bytes] = []
    while not decoder.eof:
        if position >= len(data):
            raise UndecodableError("it is cut off")
        step = data[position : position + _ZLIB_STEP_BYTES]
        try:
            parts.append(decoder.decompress(step, room))
        except zlib.error as error:
            raise UndecodableError("it is damaged") from error
        room -= len(parts[-1])
        if room <= 0:
            raise UndecodableError("it is too large")
        position += len(step) - len(decoder.unused_data)
    return b"".join(parts), position


def _unbrotli(data: bytes, limit_bytes: int) -> bytes:
    import brotli

    decoder = brotli.Decompressor()
    parts, size_bytes, rest = [], 0, data
    try:
        while not decoder.is_finished():
            part = decoder.process(rest, output_buffer_limit=limit_bytes + 1 - size_bytes)
            parts.append(part)
            size_bytes += len(part)
            if size_bytes > limit_bytes:
                raise UndecodableError("it is too large")
            if not part and not rest:
                raise UndecodableError("it is cut off")
            rest = b""
    except brotli.error as error:
        raise UndecodableError("it is damaged") from error
    return b"".join(parts)


def _unzstd(data: bytes, limit_bytes: int) -> bytes:
    """Frames may follow one another. Fed by small steps, as the decoder itself knows no limit."""
    import zstandard

    library = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    decoder, parts, size_bytes, position = library.decompressobj(), [], 0, 0
    try:
        while position < len(data) or not decoder.eof:
            if position >= len(data):
                raise UndecodableError("it is cut off")
            step = data[position : position + _ZSTD_STEP_BYTES]
            decoder = library.decompressobj() if decoder.eof else decoder
            parts.append(decoder.decompress(step))
            position += len(step) - len(decoder.unused_data)
            size_bytes += len(parts[-1])
            if size_bytes > limit_bytes:
                raise UndecodableError("it is too large")
    except zstandard.ZstdError as error:
        raise UndecodableError("it is damaged") from error
    return b"".join(parts)


_DECODERS: Mapping[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
