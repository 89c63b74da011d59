"""A page load: what is asked of the browser, and what it gives. Times are ms from navigation start."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from mixedsched.core.metrics import PAGE_METRICS, metric_named
from mixedsched.errors import InputError, MixedschedError
from mixedsched.model.toml_file import wrong_keys
from mixedsched.world.browser.kinds import Browser

PAGE_LOAD_SCHEMA = 1

FormFactor = Literal["mobile", "desktop"]
Throttling = Literal["provided", "simulate"]


# Words for what befalls a connection or the bytes on it: Chromium's, of net/base/net_error_list.h, and Firefox's.
_CONNECTION_FAILURES = (
    "net::ERR_QUIC_",
    "net::ERR_HTTP2_",
    "net::ERR_CONNECTION_",
    "net::ERR_NETWORK_",
    "net::ERR_TIMED_OUT",
    "net::ERR_EMPTY_RESPONSE",
    "net::ERR_CONTENT_LENGTH_MISMATCH",
    "NS_ERROR_NET_",
    "NS_ERROR_CONNECTION_REFUSED",
)
# What a job for Firefox has of the fields of one for Chromium.
_FIREFOX_FIELDS = ("url", "hosts", "address", "form_factor", "limit_s", "max_wait_s", "frames")


class PageLoadFailed(MixedschedError):  # noqa: N818 -- it says what happened to the load
    """A page load gave no result.

    reason: for machines; one of timeout, chrome_start, chrome_died, firefox_start, firefox_died, film_too_large, page_crashed,
    runtime_error:CODE (Lighthouse's), navigation:CODE, metric_missing:NAME, bad_job, internal, and, from our side,
    server_died, worker_died, worker_silent, bad_answer. detail: for people.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"the page load failed ({reason})", why=detail)
        self.reason = reason
        self.detail = detail

    @property
    def spares_worker(self) -> bool:
        """Whether it was the page that failed, and the worker is as good as before."""
        return self.reason.startswith("navigation:")


@dataclass(frozen=True, slots=True)
class PageLoadJob:
    """One load of `url` in a fresh browser. The worker reads the fields by these names."""

    url: str
    hosts: Mapping[str, int]
    """UDP port of each host name, all at `address`; all other names resolve to nothing."""
    spki_sha256: tuple[str, ...]
    """Base64 SHA-256 of the public keys to trust; Firefox trusts any here, and reaches nobody but `hosts`."""
    browser: Browser = Browser.CHROMIUM
    metrics: tuple[str, ...] = PAGE_METRICS
    """Keys of those to measure. Without TTI the load ends as soon as they are final."""
    address: str = "127.0.0.1"
    form_factor: FormFactor = "mobile"
    netlog: Path | None = None
    """File to write; None for none."""
    limit_s: float = 90.0
    """For the whole job."""
    max_wait_s: float = 45.0
    """A page that is still loading then is scored as it is."""
    cpu_slowdown: float = 1.0
    """How many times as long the page's own work takes, by DevTools."""
    throttling: Throttling = "provided"
    """`simulate`: the metrics are what Lighthouse's model of a slow device and network makes of the load."""
    extra_features_off: tuple[str, ...] = ()
    frames: bool = True
    inspect: bool = False
    """Also gather, mostly when the load is over, what Lighthouse knows of bytes and waits that could be saved."""
    over_tcp: bool = False
    """Over HTTP/2 or HTTP/1.1, from TCP ports of those numbers, for comparison with servers that have no HTTP/3."""

    def to_message(self, profile_dir: Path) -> dict[str, Any]:
        """The job as the worker reads it, without its id."""
        metrics = {key: metric_named(key).audit for key in self.metrics}
        fields = asdict(self)
        if self.browser is Browser.FIREFOX:
            given = {name: fields[name] for name in _FIREFOX_FIELDS}
            return {**given, "op": "firefox", "metrics": metrics, "profile_dir": str(profile_dir)}
        return {
            **fields,
            "op": "run",
            "metrics": metrics,
            "netlog": str(self.netlog.resolve()) if self.netlog is not None else None,
            "profile_dir": str(profile_dir),
        }


@dataclass(frozen=True, slots=True)
class LoadedRequest:
    """A request as DevTools saw it."""

    url: str
    protocol: str
    """ "h3", for instance; "" if it got no answer."""
    priority: str
    """Chromium's, the final one, such as "VeryHigh"; in Firefox the request's header, such as "u=5, i", or ""."""
    resource_type: str
    status: int
    transfer_bytes: int
    resource_bytes: int
    start_ms: float | None
    """The renderer asks."""
    request_ms: float | None
    """The request leaves."""
    end_ms: float | None
    """The response is complete."""
    finished: bool
    asked_by: str | None = None
    """The document, style sheet or script that asked for it."""
    asked_how: str | None = None
    """DevTools' word for how, such as "parser", "script" or "preload"; None if it was not recorded."""
    failure: str | None = None
    """The browser's word for why it failed, such as "net::ERR_QUIC_PROTOCOL_ERROR"; it is `finished` then, too. None if it did
    not, or if that was not recorded."""

    @property
    def was_cut_off(self) -> bool:
        """Whether its connection failed; requests that a page has cancelled, or the browser has refused, are not meant."""
        return self.failure is not None and self.failure.startswith(_CONNECTION_FAILURES)


@dataclass(frozen=True, slots=True)
class Spared:
    """A file of which Lighthouse says that something could be saved. None for what it does not tell."""

    url: str
    total_bytes: float | None = None
    """Now."""
    wasted_bytes: float | None = None
    wasted_ms: float | None = None
    """For which text is invisible, or the server thinks; with the network's round trip."""
    cache_s: float | None = None
    """For how long a browser may keep it."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The look of the page from at_ms on."""

    at_ms: float
    jpeg: Annotated[bytes, Field(alias="jpeg_base64"), BeforeValidator(base64.b64decode)] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of the programs that measured; "" for those that did not take part."""

    lighthouse: str = ""
    chromium: str = ""
    node: str = ""
    firefox: str = ""

    def to_dict(self) -> dict[str, str]:
        """Those that took part."""
        return {name: version for name, version in asdict(self).items() if version}


@dataclass(frozen=True, slots=True)
class BrowserLoad:
    """The result of a load."""

    metrics: Mapping[str, float]
    """Lighthouse's numbers by key, observed and unrounded; Firefox's own FCP and LCP."""
    requests: tuple[LoadedRequest, ...]
    frames: tuple[Frame, ...]
    lcp_element: str | None
    warnings: tuple[str, ...]
    versions: Versions
    benchmark_index: float
    """Lighthouse's CPU index just before the load."""
    observed: Mapping[str, float | None]
    """Moments by name; None if they did not happen."""
    timings_ms: Mapping[str, float]
    """The cost of the run itself: chrome_start, lighthouse, total; firefox_start, total."""
    score: float | None = None
    """Lighthouse's overall performance score, 0 to 100; None if it could not be told, or was not recorded."""
    sandboxed: bool | None = None
    """Whether Chromium had its own sandbox; None if that was not recorded, and for Firefox, which does not tell."""
    inspection: Mapping[str, tuple[Spared, ...] | None] | None = None
    """What could be saved, by names as in lighthouse-runner/src/inspection.mjs; None if that was not asked for."""

    @property
    def largest_paint_ms(self) -> float:
        """When the largest paint was seen, also where the metric is that of a model."""
        return self.observed.get("lcp_ms") or self.metrics["lcp_ms"]

    def answered_without_h3(self) -> tuple[LoadedRequest, ...]:
        """Requests over the network that were answered over another protocol than "h3", in order of start.

        A valid run has none. Requests without an answer (status -1: no such host, refused, still waiting at the end) do not
        count, whatever their protocol; those with a status but no protocol do.
        """
        fetched = (item for item in self.requests if item.url.startswith(("https:", "http:")))
        return tuple(item for item in fetched if item.status > 0 and item.protocol != "h3")

    def to_dict(self) -> dict[str, Any]:
        """For storage as JSON; frames in base64."""
        frames = [{"at_ms": item.at_ms, "jpeg_base64": base64.b64encode(item.jpeg).decode()} for item in self.frames]
        return {"schema": PAGE_LOAD_SCHEMA, **asdict(self), "versions": self.versions.to_dict(), "frames": frames}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> BrowserLoad:
        """Read what to_dict wrote, or the worker's answer. Raises InputError."""
        schema = data.get("schema", PAGE_LOAD_SCHEMA)
        if schema != PAGE_LOAD_SCHEMA:
            raise InputError(
                f"this page load has schema {schema!r}", fix=f"this version reads schema {PAGE_LOAD_SCHEMA}"
            )
        try:
            return _LOAD.validate_python(data)
        except ValidationError as error:
            raise InputError("this is not a page load", why=wrong_keys(error)) from error


_LOAD = TypeAdapter(BrowserLoad)
