"""What is recorded, by a watched browser or from a HAR, the facts that go with it, and the summary of what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from mixedsched.model.request import ChromiumPriority, Flag, Kind

BodyOrigin = Literal["recorded", "synthesised", "none"]
FoundHow = Literal["navigation", "parser", "script", "preload", "style", "redirect", "other"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange of a page load; times are ms from navigation start.

    url: absolute, http or https, without fragment. status: 3xx are exchanges of their own. headers: of the response, names in
    lower case, one entry a line, as received. body: as sent: content coding (`encoding`) still on, transfer coding undone.
    body_origin: synthesised where only its size was known. asked_ms: the page asked. first_byte_ms, complete_ms: of the
    response. found_by_url, found_how: who asked for it, None where the recording does not tell and it is to be inferred.
    found_at: character position of the reference in the text of who asked, where known. priority, incremental: Blink's when it
    left; None to derive. flags: how it sits in the page.
    """

    method: str
    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    mime: str
    kind: Kind
    body: bytes
    encoding: str | None
    asked_ms: float
    first_byte_ms: float | None = None
    complete_ms: float | None = None
    request_headers: tuple[tuple[str, str], ...] = ()
    body_origin: BodyOrigin = "recorded"
    found_by_url: str | None = None
    found_how: FoundHow | None = None
    found_at: int | None = None
    priority: ChromiumPriority | None = None
    incremental: bool | None = None
    flags: frozenset[Flag] = frozenset()


UNKNOWN_LICENCE = "unknown: the contents belong to their owners"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An exchange that the site does without, and why."""

    url: str
    why: str
    method: str = "GET"


@dataclass(frozen=True, slots=True)
class RecordingFacts:
    """What the recorder knows beyond the exchanges.

    name: of the site. url: of the page. licence: of its contents, "" if nobody said. record: facts for people, JSON values,
    such as date and browser. notes: sentences about the load, for the summary. left_out: what never became an exchange.
    """

    name: str
    url: str
    title: str = ""
    description: str = ""
    source: str = ""
    licence: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class KindTotal:
    """How many resources of a kind there are, and their bytes on the wire."""

    count: int
    body_bytes: int


@dataclass(frozen=True, slots=True)
class RecordingSummary:
    """What a recording has become.

    url: what a browser opens of the copy. hosts: of each site host the origins that were recorded. kinds: totals of the page's
    resources. above_fold: addresses of what counts for the first screen as flagged; hero: of the largest paint, if it is an
    image. rewritten: addresses of bodies in which names of hosts were changed. dropped_headers: how often each field was left
    out that mattered. also_served: what the server has beyond the page. doubled: requests for what was asked before.
    """

    folder: Path
    name: str
    url: str
    hosts: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, KindTotal]
    resources: int
    body_bytes: int
    above_fold: tuple[str, ...] = ()
    hero: str | None = None
    rewritten: tuple[str, ...] = ()
    dropped_headers: Mapping[str, int] = field(default_factory=dict)
    also_served: int = 0
    doubled: int = 0
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "folder": str(self.folder),
            "name": self.name,
            "url": self.url,
            "hosts": {host: list(origins) for host, origins in self.hosts.items()},
            "kinds": {kind: asdict(total) for kind, total in self.kinds.items()},
            "resources": self.resources,
            "body_bytes": self.body_bytes,
            "above_fold": list(self.above_fold),
            "hero": self.hero,
            "rewritten": list(self.rewritten),
            "dropped_headers": dict(self.dropped_headers),
            "also_served": self.also_served,
            "doubled": self.doubled,
            "left_out": [asdict(item) for item in self.left_out],
            "notes": list(self.notes),
        }
