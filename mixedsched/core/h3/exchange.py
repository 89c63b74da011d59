"""A request under way with its response, and the log record of it when it is over."""

from dataclasses import dataclass, field
from typing import Any

from mixedsched.core.h3._signals import Signal
from mixedsched.core.h3.response import Body, RequestHead, Response
from mixedsched.model.request import Request, chromium_priority_of, kind_of_destination, kind_of_mime
from mixedsched.model.scheme import ConfiguredScheme

_BODILESS_STATUS = frozenset({204, 304})


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """A request that is over: a line of the server's log. Times are ms since the connection's first packet."""

    connection: int
    stream_id: int
    method: str
    authority: str
    path: str
    status: int
    kind: str
    chromium_priority: str
    signal: str  # what the client wanted
    signalled_by: str  # how it said so
    effective_signal: str  # `signal` with the parameters that the response's own `priority` field overrides
    scheme: str
    placement: str  # where the scheme placed the response, as text
    body_bytes: int
    sent_bytes: int  # stream data sent until the last byte first left, repeats included
    requested_ms: float
    first_byte_ms: float | None
    last_byte_ms: float | None
    complete: bool  # the last byte has left; else the client cancelled it, or the connection ended
    missed: bool = False  # the site has nothing for such a request


@dataclass(slots=True)
class ServerExchange:
    """Kept until the stream is over both ways, so that repeated data still follows later signals."""

    stream_id: int
    head: RequestHead
    response: Response
    signal: Signal
    requested_s: float
    request: Request = field(init=False)  # as the scheme saw it when the response was placed last
    placement: Any = None
    sent_bytes: int = 0
    first_byte_s: float | None = None
    last_byte_s: float | None = None
    is_open: bool = False  # the scheduler knows the response; it does not while the site thinks
    is_over: bool = False  # the last byte has left, or never will

    @property
    def body(self) -> Body | None:
        """The body that follows the head; None where HTTP forbids one (RFC 9110 section 6.4.1)."""
        bodiless = self.head.method == "HEAD" or self.response.status in _BODILESS_STATUS
        return None if bodiless else self.response.body

    @property
    def placement_text(self) -> str:
        return "-" if self.placement is None else str(self.placement)

    def place(self, scheme: ConfiguredScheme) -> None:
        """Have the scheme place the response by what is signalled now."""
        head, response, priority = self.head, self.response, self.signal.priority
        self.request = Request(
            stream_id=self.stream_id,
            path=head.path,
            kind=kind_of_destination(head.field(b"sec-fetch-dest")) or response.kind or kind_of_mime(response.mime),
            signal=priority,
            signalled=self.signal.is_signalled,
            chromium_priority=chromium_priority_of(priority),
            mime=response.mime,
            body_bytes=self.body.size_bytes if self.body is not None else 0,
            flags=response.flags,
            navigates=head.field(b"sec-fetch-dest") == "document",
            is_found=response.status < 400 and not response.missed,
            referrer=_path_of(head.field(b"referer"), head.authority),
            asked=self.signal.asked,
            update=self.signal.client if self.signal.is_late else None,
            is_prefetch="prefetch" in (head.field(b"sec-purpose") or head.field(b"purpose") or ""),
            is_unsent=response.status == 304 or head.method == "HEAD",
        )
        self.placement = scheme.place(self.request)

    def record(self, connection: int, scheme: ConfiguredScheme, started_s: float, *, complete: bool) -> ServedRequest:
        """The log record. connection: its number. started_s: when the connection began."""

        def since_start_ms(at_s: float) -> float:
            return round((at_s - started_s) * 1000, 3)

        if not self.is_open:
            self.place(scheme)  # it was not placed yet, or not since the last signal
        head, signal = self.head, self.signal
        return ServedRequest(
            connection=connection,
            stream_id=self.stream_id,
            method=head.method,
            authority=head.authority,
            path=head.path,
            status=self.response.status,
            kind=self.request.kind,
            chromium_priority=self.request.chromium_priority,
            signal=str(signal.client),
            signalled_by=signal.by,
            effective_signal=str(signal.priority),
            scheme=scheme.label,
            placement=self.placement_text,
            body_bytes=self.request.body_bytes,
            sent_bytes=self.sent_bytes,
            requested_ms=since_start_ms(self.requested_s),
            first_byte_ms=since_start_ms(self.first_byte_s) if self.first_byte_s is not None else None,
            last_byte_ms=since_start_ms(self.last_byte_s) if self.last_byte_s is not None else None,
            complete=complete,
            missed=self.response.missed,
        )


def _path_of(referrer: str | None, authority: str) -> str | None:
    """The path of a referrer of the same host; None for others, and for what is no address."""
    if referrer is None:
        return None
    host, slash, path = referrer.removeprefix("https://").partition("/")
    return slash + path if host == authority and slash else None
