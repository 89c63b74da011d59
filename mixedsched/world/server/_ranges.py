"""Byte ranges of a request, and responses of several parts (RFC 9110 section 14)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mixedsched.core.h3.response import Body, BytesBody, close_body

MAX_RANGES = 32  # a request for more gets the whole
_LARGEST_DIGITS = 18  # numbers beyond are past the end of any file
_RANGES = re.compile(r"bytes=(.*)", re.IGNORECASE)
_SPEC = re.compile(r"([0-9]+)-([0-9]*)|-([0-9]+)")


@dataclass(frozen=True, slots=True, order=True)
class ByteRange:
    """Bytes from `start` up to, not including, `stop`."""

    start: int
    stop: int

    @property
    def size_bytes(self) -> int:
        return self.stop - self.start

    def content_range(self, whole_bytes: int) -> str:
        """The value of Content-Range."""
        return f"bytes {self.start}-{self.stop - 1}/{whole_bytes}"


def parse_ranges(value: str, whole_bytes: int) -> list[ByteRange] | None:
    """The parts of a representation that a Range field asks for.

    None: the field is malformed, of another unit, or asks for more than MAX_RANGES parts, and must be ignored. Empty: it is
    valid, but none of it exists (416). Parts beyond the end are left out. Parts that overlap or touch are joined and put in
    rising order, so that no byte is sent twice; otherwise the order is the client's.
    """
    whole = _RANGES.fullmatch(value.strip(" \t"))
    specs = [spec for item in whole[1].split(",") if (spec := item.strip(" \t"))] if whole else []
    if not specs or len(specs) > MAX_RANGES:
        return None
    parts = []
    for spec in specs:
        match = _SPEC.fullmatch(spec)
        if match is None:
            return None
        first, last, suffix = (_number(text) for text in match.groups())
        if first is not None and last is not None and last < first:
            return None
        if suffix is not None:
            if suffix and not whole_bytes:
                return None  # there is no Content-Range for the last bytes of an empty file
            part = ByteRange(max(0, whole_bytes - suffix), whole_bytes)
        else:
            assert first is not None
            part = ByteRange(first, whole_bytes if last is None else min(last + 1, whole_bytes))
        if part.size_bytes > 0:
            parts.append(part)
    return _joined(parts)


def _number(digits: str | None) -> int | None:
    if not digits:
        return None
    significant = digits.lstrip("0")
    return 10**_LARGEST_DIGITS if len(significant) > _LARGEST_DIGITS else int(significant or "0")


def _joined(parts: list[ByteRange]) -> list[ByteRange]:
    joined: list[ByteRange] = []
    for part in sorted(parts):
        if joined and part.start <= joined[-1].stop:
            joined[-1] = ByteRange(joined[-1].start, max(joined[-1].stop, part.stop))
        else:
            joined.append(part)
    return parts if len(joined) == len(parts) else joined


class JoinedBody:
    """Bodies one after another."""

    def __init__(self, bodies: Iterable[Body]) -> None:
        self._bodies = list(bodies)
        self._current = 0
        self.size_bytes = sum(body.size_bytes for body in self._bodies)
        self.remaining_bytes = self.size_bytes

    def read(self, size_bytes: int) -> bytes:
        pieces = []
        missing_bytes = min(size_bytes, self.remaining_bytes)
        self.remaining_bytes -= missing_bytes
        while missing_bytes:
            piece = self._bodies[self._current].read(missing_bytes)
            if not self._bodies[self._current].remaining_bytes:
                self._current += 1
            pieces.append(piece)
            missing_bytes -= len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        for body in self._bodies:
            close_body(body)


def multipart(parts: Sequence[tuple[str, Body]], mime: str, boundary: str) -> JoinedBody:
    """The message that holds the parts. parts: (Content-Range, bytes). boundary: must not occur in the bytes."""
    bodies: list[Body] = []
    for content_range, body in parts:
        head = f"\r\n--{boundary}\r\nContent-Type: {mime}\r\nContent-Range: {content_range}\r\n\r\n"
        bodies += [BytesBody(head.encode()), body]
    return JoinedBody([*bodies, BytesBody(f"\r\n--{boundary}--\r\n".encode())])
