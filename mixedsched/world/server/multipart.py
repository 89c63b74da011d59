"""Several parts of a representation in one response: multipart/byteranges (RFC 9110 section 14.6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mixedsched.core.h3.response import Body, BytesBody, close_body


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
