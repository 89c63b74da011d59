"""The two sides of one request at the origin, whichever HTTP it speaks."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from mixedsched.core.h3.response import Headers


@dataclass(frozen=True, slots=True)
class OriginFault:
    """What went wrong with a request at the origin.

    status: 502, 503 or 504, or 408 where the client is at fault, for a client that has got nothing yet. why: for the log.
    is_stale: a connection that had been idle was closed before anything came, so that an idempotent request may be tried again.
    is_unprocessed: the origin says that it has done nothing, so that any may.
    """

    status: int
    why: str
    is_stale: bool = False
    is_unprocessed: bool = False


@dataclass(frozen=True, slots=True)
class OriginRequest:
    """The head of a request as it is sent."""

    method: str
    target: str
    fields: Headers  # `host` first
    content_length: int | None  # of the body; None for a length that is not known
    has_body: bool
    wants_trailers: bool = False  # the client said `te: trailers`
    upgrade: str | None = None  # protocol of a tunnel


class OriginEvents(Protocol):
    """Told what comes from the origin. Its methods must not raise."""

    def informed(self, status: int, fields: Iterable[tuple[bytes, bytes]]) -> None:
        """An interim response."""

    def answered(self, status: int, fields: Iterable[tuple[bytes, bytes]], version: bytes, *, has_body: bool) -> None:
        """The head of the response. version: of HTTP."""

    def received(self, data: bytes) -> None: ...

    def ended(self, trailers: Iterable[tuple[bytes, bytes]]) -> None:
        """The response is complete."""

    def failed(self, fault: OriginFault) -> None:
        """It will not become complete."""

    def writable(self, *, now: bool) -> None:
        """Whether the origin takes more of the request's body for now."""


class OriginStream(Protocol):
    """One request at the origin."""

    was_used: bool  # the connection had carried another request before

    def send(self, data: bytes) -> None:
        """More of the request's body."""

    def end(self, trailers: Headers) -> None:
        """The request is complete."""

    def pause(self) -> None:
        """Read no more of the response for now."""

    def resume(self) -> None: ...

    def cancel(self) -> None:
        """The response is not wanted any more. No events follow."""
