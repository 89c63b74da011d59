"""A request under way with its response, and what is told of it when it is over."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from mixedsched.core.h3.response import Body, RequestHead, Response
from mixedsched.core.h3.signals import Signal
from mixedsched.model.request import Request, chromium_priority_of, kind_of_destination, kind_of_mime

_BODILESS_STATUS = frozenset({204, 304})


@dataclass(frozen=True, slots=True)
class Served:
    """What became of a request: a line of the server's log.

    signal, signalled_by: what the client wanted and how it said so; effective_signal: the same with what the response's own
    `priority` field overrides; placement: what the scheme made of it, as text. Times are ms since the connection's first
    packet. sent_bytes: stream data up to the moment when the last byte first left, with what had to be sent again by then.
    complete: that moment came, as opposed to cancelled by the client or cut off by the end of the connection. missed: the
    site has nothing for such a request.
    """

    connection: int
    stream_id: int
    method: str
    authority: str
    path: str
    status: int
    kind: str
    chromium_priority: str
    signal: str
    signalled_by: str
    effective_signal: str
    scheme: str
    placement: str
    body_bytes: int
    sent_bytes: int
    requested_ms: float
    first_byte_ms: float | None
    last_byte_ms: float | None
    complete: bool
    missed: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class Exchange:
    """Kept until the stream is over both ways, so that also what is sent again follows later signals.

    is_open: whether the scheduler knows the response, which it does not while the site thinks. is_over: whether its last byte
    has left, or never will.
    """

    stream_id: int
    head: RequestHead
    response: Response
    signal: Signal
    requested_s: float
    sent_bytes: int = 0
    first_byte_s: float | None = None
    last_byte_s: float | None = None
    is_open: bool = False
    is_over: bool = False

    @property
    def body(self) -> Body | None:
        """What is sent behind the head; None where HTTP forbids it (RFC 9110 section 6.4.1)."""
        bodiless = self.head.method == "HEAD" or self.response.status in _BODILESS_STATUS
        return None if bodiless else self.response.body

    @property
    def request(self) -> Request:
        """What a scheme is told."""
        head, response, priority = self.head, self.response, self.signal.priority
        return Request(
            stream_id=self.stream_id,
            path=head.path,
            kind=kind_of_destination(head.field(b"sec-fetch-dest")) or response.kind or kind_of_mime(response.mime),
            signal=priority,
            signalled=self.signal.is_signalled,
            chromium_priority=chromium_priority_of(priority),
            mime=response.mime,
            body_bytes=self.body.size_bytes if self.body is not None else 0,
            flags=response.flags,
        )
