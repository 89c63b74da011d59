"""What Chromium did while it loaded a page: every request with its signals, and how each resource sits in the page.

Times are ms from navigation start.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.world.browser.pageload import FormFactor

InitiatorType = Literal["navigation", "parser", "script", "preload", "redirect", "preflight", "other"]
Ended = Literal["quiet", "limit", "interrupted"]


@dataclass(frozen=True, slots=True)
class ObservationJob:
    """One observed load of `url` in a fresh browser. The worker reads the fields by these names, but for the bodies."""

    url: str
    hosts: dict[str, int] | None = None
    """UDP port of each host name at `address`: all are loaded over HTTP/3, other names resolve to nothing. None for the real
    network, over TCP."""
    address: str = "127.0.0.1"
    resolve: dict[str, str] = field(default_factory=dict)
    """With the real network: the "address:port" to use for a "host" or "host:port"."""
    spki_sha256: tuple[str, ...] = ()
    """Base64 SHA-256 of the public keys to trust."""
    insecure: bool = False
    """Take any certificate (real network only)."""
    form_factor: FormFactor = "mobile"
    quiet_s: float = 2.0
    """The page is over when nothing was under way for that long."""
    limit_s: float = 60.0
    """When to stop waiting for that."""
    bodies_dir: Path | None = None
    """An empty directory for bodies as they were sent; None to keep none."""
    screenshot: bool = True
    """Take one of the first screen."""
    scroll: bool = False
    """Finally, when the page is quiet, scroll to its end (40 screens and 30 s at most) for what it requests only then."""

    def to_message(self, profile_dir: Path, netlog: Path) -> dict[str, Any]:
        """The job as the worker reads it, without its id."""
        fields = asdict(self)
        bodies = fields.pop("bodies_dir") is not None
        paths = {"profile_dir": str(profile_dir), "netlog": str(netlog.resolve())}
        return {**fields, "op": "observe", "bodies": bodies, **paths}


@dataclass(frozen=True, slots=True)
class Initiator:
    """What made a request."""

    type: InitiatorType
    url: str | None = None
    """Of the document, script or style sheet that asked."""
    line: int | None = None
    """Where in it, from 0; for what the parser met, just behind it."""
    column: int | None = None


@dataclass(frozen=True, slots=True)
class ObservedRequest:
    """One request and its response. A redirect is a request of its own, and so is the one that it leads to."""

    index: int
    """Position in the order in which requests left."""
    url: str
    """Without fragment."""
    method: str
    kind: Kind
    resource_type: str
    destination: str | None
    priority: ChromiumPriority
    """Blink's when the request left."""
    final_priority: ChromiumPriority
    """After all changes."""
    urgency: int | None
    """Of the `priority` field as sent (3 if absent); None if the protocol has none."""
    incremental: bool | None
    """The same (False if absent)."""
    request_headers: tuple[tuple[str, str], ...]
    status: int
    protocol: str
    mime: str
    response_headers: tuple[tuple[str, str], ...]
    """As received, names in lower case, one entry a line."""
    encoding: str | None
    sent_bytes: int
    decoded_bytes: int
    asked_ms: float
    sent_ms: float | None
    first_byte_ms: float | None
    complete_ms: float | None
    initiator: Initiator
    document_url: str
    flags: frozenset[Flag] = frozenset()
    """How it sits in the page, as far as the DOM shows."""
    redirected_from: int | None = None
    """Index of the request whose redirect led here."""
    body: Path | None = None
    """A file with the body as it was sent, in its content coding but without transfer coding; None if there is none, or it
    could not be kept (`problem` says why)."""
    problem: str | None = None
    after_scroll: bool = False
    """Made while the page was scrolled at the end, and so not a part of the load."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One load."""

    url: str
    final_url: str
    form_factor: FormFactor
    requests: tuple[ObservedRequest, ...]
    """Those made after scrolling are the last; everything else here is as if they did not exist."""
    ended: Ended
    notes: tuple[str, ...]
    """What a copy of this page cannot have, or what was odd, a sentence each (service workers, web sockets, responses that
    never ended, requests with a body ...)."""
    title: str
    viewport_px: tuple[int, int]
    lcp_url: str | None
    """Of the image that is the largest paint."""
    lcp_element: str | None
    fcp_ms: float | None
    lcp_ms: float | None
    dom_content_loaded_ms: float | None
    load_ms: float | None
    chromium_version: str
    screenshot: bytes | None = field(default=None, repr=False)
    """PNG of the first screen."""
