"""A page load: what is asked of the browser, and what it gives. Times are ms from navigation start."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from mixedsched.core.metrics import LIGHTHOUSE_METRICS
from mixedsched.errors import InputError, MixedschedError

PAGE_LOAD_SCHEMA = 1

FormFactor = Literal["mobile", "desktop"]


class PageLoadFailed(MixedschedError):  # noqa: N818 -- it says what happened to the load
    """A page load gave no result.

    reason: for machines. timeout, chrome_start, chrome_died, runtime_error:CODE (Lighthouse's), needs_own_waits,
    metric_missing:NAME, bad_job, internal; and from this side worker_died, worker_silent, bad_answer. detail: for people.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"the page load failed ({reason})", why=detail)
        self.reason = reason
        self.detail = detail

    @property
    def needs_own_waits(self) -> bool:
        """The page had no quiet period while we waited: with a fresh network and `own_waits` the same job may well succeed."""
        return self.reason == "needs_own_waits"

    @property
    def spares_worker(self) -> bool:
        """Whether it was the page that failed, and the worker is as good as before."""
        return self.needs_own_waits or self.reason.startswith("navigation:")


@dataclass(frozen=True, slots=True)
class PageLoadJob:
    """One load of `url` in a fresh browser.

    hosts: UDP port of each host name, all at `address` (IPv4); all other names resolve to nothing.
    spki_sha256: base64 SHA-256 of the public keys to trust. netlog: file to write, or None.
    limit_s: the whole job. max_wait_s: after that a page still loading is scored as it is. own_waits: wait as long as
    Lighthouse would by itself, some 5 s more, for pages that failed with needs_own_waits.
    """

    url: str
    hosts: Mapping[str, int]
    spki_sha256: tuple[str, ...]
    address: str = "127.0.0.1"
    form_factor: FormFactor = "mobile"
    netlog: Path | None = None
    limit_s: float = 90.0
    max_wait_s: float = 45.0
    own_waits: bool = False
    extra_features_off: tuple[str, ...] = ()
    frames: bool = True

    def to_message(self, profile_dir: Path) -> dict[str, Any]:
        """The job as the worker reads it, without its id."""
        return {
            "op": "run",
            "url": self.url,
            "metrics": {metric.key: metric.audit for metric in LIGHTHOUSE_METRICS},
            "hosts": dict(self.hosts),
            "address": self.address,
            "spki_sha256": list(self.spki_sha256),
            "form_factor": self.form_factor,
            "netlog": str(self.netlog.resolve()) if self.netlog is not None else None,
            "limit_s": self.limit_s,
            "max_wait_s": self.max_wait_s,
            "own_waits": self.own_waits,
            "extra_features_off": list(self.extra_features_off),
            "frames": self.frames,
            "profile_dir": str(profile_dir),
        }


@dataclass(frozen=True, slots=True)
class LoadedRequest:
    """A request as DevTools saw it. protocol: "h3", or "" if it got no answer. priority: the final one, such as "VeryHigh".

    start_ms: the renderer asks. request_ms: the request leaves. end_ms: the response is complete.
    """

    url: str
    protocol: str
    priority: str
    resource_type: str
    status: int
    transfer_bytes: int
    resource_bytes: int
    start_ms: float | None
    request_ms: float | None
    end_ms: float | None
    finished: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """What the page looked like from at_ms on."""

    at_ms: float
    jpeg: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Versions:
    """Of the programs that measured."""

    lighthouse: str
    chromium: str
    node: str


@dataclass(frozen=True, slots=True)
class PageLoad:
    """The result of a load.

    fallback_waits: loaded with Lighthouse's own, longer waits (PageLoadJob.own_waits).
    benchmark_index: Lighthouse's CPU index just before the load. observed: moments by name, None where they did not happen.
    timings_ms: what the run itself cost (chrome_start, lighthouse, total). sandboxed: whether Chromium had its own sandbox;
    None where nobody noted it.
    """

    metrics: Mapping[str, float]
    """Lighthouse's numbers by key, observed and unrounded."""
    requests: tuple[LoadedRequest, ...]
    frames: tuple[Frame, ...]
    lcp_element: str | None
    warnings: tuple[str, ...]
    fallback_waits: bool
    versions: Versions
    benchmark_index: float
    observed: Mapping[str, float | None]
    timings_ms: Mapping[str, float]
    sandboxed: bool | None = None

    def answered_without_h3(self) -> tuple[LoadedRequest, ...]:
        """Requests over the network with a status code whose protocol is not "h3"; none in a valid run, in order of start.

        Requests without an answer (status -1: no such host, refused, still waiting at the end) do not count, whatever their
        protocol; one with a status but no protocol does.
        """
        fetched = (item for item in self.requests if item.url.startswith(("https:", "http:")))
        return tuple(item for item in fetched if item.status > 0 and item.protocol != "h3")

    def to_dict(self) -> dict[str, Any]:
        """For storage as JSON; frames in base64."""
        data = asdict(self)
        data["frames"] = [
            {"at_ms": frame.at_ms, "jpeg_base64": base64.b64encode(frame.jpeg).decode()} for frame in self.frames
        ]
        return {
            "schema": PAGE_LOAD_SCHEMA,
            **data,
            "metrics": dict(self.metrics),
            "observed": dict(self.observed),
            "timings_ms": dict(self.timings_ms),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what to_dict wrote, or the worker's answer. Raises InputError."""
        schema = data.get("schema", PAGE_LOAD_SCHEMA)
        if schema != PAGE_LOAD_SCHEMA:
            raise InputError(
                f"this page load has schema {schema!r}", fix=f"this version reads schema {PAGE_LOAD_SCHEMA}"
            )
        try:
            return cls(
                metrics={name: float(value) for name, value in data["metrics"].items()},
                requests=tuple(LoadedRequest(**item) for item in data["requests"]),
                frames=tuple(Frame(item["at_ms"], base64.b64decode(item["jpeg_base64"])) for item in data["frames"]),
                lcp_element=data["lcp_element"],
                warnings=tuple(data["warnings"]),
                fallback_waits=data["fallback_waits"],
                versions=Versions(**data["versions"]),
                benchmark_index=data["benchmark_index"],
                observed=dict(data["observed"]),
                timings_ms=dict(data["timings_ms"]),
                sandboxed=data.get("sandboxed"),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError("this is no page load", why=f"{type(error).__name__}: {error}") from error
