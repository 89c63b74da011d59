"""Responses as a session sends them: headers at once, bodies pulled when the scheduler has chosen them."""

from dataclasses import dataclass
from typing import Protocol

from mixedsched.model.request import Flag, Kind

Headers = list[tuple[bytes, bytes]]


class BodyLostError(Exception):
    """The rest of a body cannot be read any more, so that its response must be aborted."""


class Body(Protocol):
    """The bytes of a response, handed over piece by piece.

    A body may also have a method `close`, which releases what it holds; see close_body.
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


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request as received: method and target, then all regular fields in order, names in lower case."""

    method: str
    authority: str
    path: str
    fields: Headers

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
