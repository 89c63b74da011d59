"""What Chromium did while it loaded a page: every request with its signals, and how each resource sits in the page.

Times are ms from navigation start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.world.browser.pageload import FormFactor

InitiatorType = Literal["navigation", "parser", "script", "preload", "redirect", "preflight", "other"]
Ended = Literal["quiet", "limit", "interrupted"]


@dataclass(frozen=True, slots=True)
class ObservationJob:
    """One observed load of `url` in a fresh browser.

    hosts: UDP port of each host name at `address`, all loaded over HTTP/3, all other names resolve to nothing; None for the
    real network, over TCP. resolve: with the real network, "host" or "host:port" -> "address:port" that stands in for it.
    spki_sha256: base64 SHA-256 of the public keys to trust. insecure: take any certificate (real network only).
    quiet_s: the page is over when nothing was under way for that long. limit_s: when to stop waiting for it.
    bodies_dir: an empty directory where bodies are kept, as they were sent; None to keep none.
    screenshot: take one of the first screen. scroll: at last, when all else is known and the page is quiet, scroll
    through it to its end (40 screens and 30 s at most) for what it asks for only then.
    """

    url: str
    hosts: dict[str, int] | None = None
    address: str = "127.0.0.1"
    resolve: dict[str, str] = field(default_factory=dict)
    spki_sha256: tuple[str, ...] = ()
    insecure: bool = False
    form_factor: FormFactor = "mobile"
    quiet_s: float = 2.0
    limit_s: float = 60.0
    bodies_dir: Path | None = None
    screenshot: bool = True
    scroll: bool = False

    def to_message(self, profile_dir: Path, netlog: Path) -> dict[str, Any]:
        """The job as the worker reads it, without its id."""
        return {
            "op": "observe",
            "url": self.url,
            "hosts": dict(self.hosts) if self.hosts is not None else None,
            "address": self.address,
            "resolve": dict(self.resolve),
            "spki_sha256": list(self.spki_sha256),
            "insecure": self.insecure,
            "form_factor": self.form_factor,
            "quiet_s": self.quiet_s,
            "limit_s": self.limit_s,
            "bodies": self.bodies_dir is not None,
            "screenshot": self.screenshot,
            "scroll": self.scroll,
            "profile_dir": str(profile_dir),
            "netlog": str(netlog.resolve()),
        }


@dataclass(frozen=True, slots=True)
class Initiator:
    """Who asked. url: of the document, script or style sheet that did. line, column: where in it, from 0; what the parser found
    is just before it.
    """

    type: InitiatorType
    url: str | None = None
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class ObservedRequest:
    """One request and what came of it. A redirect is a request of its own, and so is what it leads to.

    index: position in the order in which requests left. url: without fragment.
    priority: Blink's when the request left. final_priority: after all changes. urgency, incremental: of the `priority` field as
    sent (u=3, not incremental if absent); None where the protocol carries none.
    response_headers: as received, names in lower case, one entry a line. body: the file with the body as it was sent, content
    coding and all, transfer coding undone; None if there is none, or it could not be kept (`problem` says why).
    redirected_from: index of the request whose redirect led here. flags: how it sits in the page, as far as the DOM tells.
    after_scroll: whether it was made when the page was being scrolled, at last; then it is no part of the load.
    """

    index: int
    url: str
    method: str
    kind: Kind
    resource_type: str
    destination: str | None
    priority: ChromiumPriority
    final_priority: ChromiumPriority
    urgency: int | None
    incremental: bool | None
    request_headers: tuple[tuple[str, str], ...]
    status: int
    protocol: str
    mime: str
    response_headers: tuple[tuple[str, str], ...]
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
    redirected_from: int | None = None
    body: Path | None = None
    problem: str | None = None
    after_scroll: bool = False


@dataclass(frozen=True, slots=True)
class Observation:
    """One load. ended: how. notes: what a copy of this page cannot have, or what was odd, a sentence each (service workers,
    web sockets, responses that never ended, requests with a body ...). lcp_url: of the image that is the largest paint.
    screenshot: PNG of the first screen. requests: those that scrolling led to are the last; all else is as if there were none.
    """

    url: str
    final_url: str
    form_factor: FormFactor
    requests: tuple[ObservedRequest, ...]
    ended: Ended
    notes: tuple[str, ...]
    title: str
    viewport_px: tuple[int, int]
    lcp_url: str | None
    lcp_element: str | None
    fcp_ms: float | None
    lcp_ms: float | None
    dom_content_loaded_ms: float | None
    load_ms: float | None
    chromium_version: str
    screenshot: bytes | None = field(default=None, repr=False)
