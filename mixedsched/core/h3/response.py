"""Responses as a session sends them: headers at once, bodies pulled when the scheduler has chosen them."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from aioquic.buffer import encode_uint_var

from mixedsched.core.h3.codes import FrameType
from mixedsched.model.request import Flag, Kind

Headers = list[tuple[bytes, bytes]]


class BodyLostError(Exception):
    """The rest of a body cannot be read any more, so that its response must be aborted."""


class Body(Protocol):
    """The bytes of a response, handed over piece by piece.

    A body may also have a method `close`, which releases what it holds; see close_body. One that comes with time is a
    GrowingBody.
    """

    @property
    def size_bytes(self) -> int:
        """All of them."""

    @property
    def remaining_bytes(self) -> int:
        """Those not read yet."""

    def read(self, size_bytes: int) -> bytes:
        """The next bytes, exactly as many as asked for unless fewer remain. Raises BodyLostError."""


def close_body(body: Body | None) -> None:
    """Release what a body holds, if anything. Called once, when its response is over, sent or not."""
    close = getattr(body, "close", None)
    if close is not None:
        close()


class BytesBody:
    """A body of bytes, or of anything with the buffer protocol; copies only what is read."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._view = memoryview(data)
        self._offset = 0

    @property
    def size_bytes(self) -> int:
        return len(self._view)

    @property
    def remaining_bytes(self) -> int:
        return len(self._view) - self._offset

    def read(self, size_bytes: int) -> bytes:
        start = self._offset
        self._offset = min(len(self._view), start + size_bytes)
        return bytes(self._view[start : self._offset])


class GrowingBody:
    """A body that comes with time: its stream rests while there is nothing to read, and goes on when more was fed.

    It holds the stream's bytes with the heads of their DATA frames, and perhaps a section of trailers behind them. size_bytes:
    what the scheme is told, 0 where the length is not known yet. taken: called with the size of each piece that is read, from
    within a packet, so that it may only take note. closed: called when the response is over, sent or not.
    """

    def __init__(
        self,
        size_bytes: int = 0,
        taken: Callable[[int], None] = lambda _size_bytes: None,
        closed: Callable[[], None] = lambda: None,
    ) -> None:
        self.size_bytes = size_bytes
        self.remaining_bytes = 0  # those that are here and not read
        self.is_ended = False  # nothing comes behind those
        self.changed: Callable[[], None] = lambda: None
        """Set by the session: there is more to read, or the end has come."""
        self._taken = taken
        self._closed = closed
        self._pieces: deque[bytes] = deque()
        self._offset = 0  # in the first piece

    def feed(self, data: bytes) -> None:
        """More of the content, as a DATA frame."""
        if data and not self.is_ended:
            self._append(encode_uint_var(FrameType.DATA) + encode_uint_var(len(data)), data)

    def end(self, section: bytes = b"") -> None:
        """Nothing follows but this frame, which may hold trailers."""
        if not self.is_ended:
            self.is_ended = True
            self._append(section)

    def _append(self, *pieces: bytes) -> None:
        was_empty = not self.remaining_bytes
        self._pieces.extend(piece for piece in pieces if piece)
        self.remaining_bytes += sum(map(len, pieces))
        if was_empty:
            self.changed()

    def read(self, size_bytes: int) -> bytes:
        """See Body; fewer than asked for where the rest is still to come."""
        if not self._pieces:
            return b""
        first, start = self._pieces[0], self._offset
        stop = start + size_bytes
        if stop < len(first):
            self._offset = stop
            data = first[start:stop]
        else:
            data = self._read_across(size_bytes)
        self.remaining_bytes -= len(data)
        self._taken(len(data))
        return data

    def _read_across(self, size_bytes: int) -> bytes:
        parts: list[bytes] = []
        while size_bytes > 0 and self._pieces:
            first, start = self._pieces[0], self._offset
            part = first[start : start + size_bytes]
            size_bytes -= len(part)
            parts.append(part)
            if start + len(part) == len(first):
                self._pieces.popleft()
                self._offset = 0
            else:
                self._offset = start + len(part)
        return b"".join(parts)

    def close(self) -> None:
        left_bytes, self.remaining_bytes, self.is_ended = self.remaining_bytes, 0, True
        self._pieces.clear()
        self._taken(left_bytes)
        self._closed()


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request as received: method and target, then all regular fields in order, names in lower case."""

    method: str
    authority: str
    path: str
    fields: Headers
    protocol: str | None = None  # of an extended CONNECT (RFC 9220), such as "websocket"

    def field_lines(self, name: bytes) -> list[bytes]:
        """The values of all field lines of that name, in order."""
        return [value for key, value in self.fields if key == name]

    def field(self, name: bytes) -> str | None:
        """The value of the first field line of that name, as text."""
        lines = self.field_lines(name)
        return lines[0].decode("latin-1") if lines else None


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, with what the server knows about the resource for the scheme."""

    status: int
    fields: Headers  # a `priority` overrides the client's signal, parameter by parameter (RFC 9218 section 8), and is sent, too
    body: Body | None = None  # not sent where HTTP forbids one (HEAD, 204, 304)
    mime: str = "application/octet-stream"
    kind: Kind | None = None  # from the page's manifest, None without one
    flags: frozenset[Flag] | None = None  # from the page's manifest, too
    delay_ms: float = 0.0  # think time from the request's arrival until the first byte may leave
    missed: bool = False  # nothing was found for the request; an answer of the site may have the same status


class Responder(Protocol):
    """The source of responses: a site's files, or a page that is only simulated."""

    def respond(self, head: RequestHead) -> Response:
        """Answer a request; never raises for what a client may send."""
