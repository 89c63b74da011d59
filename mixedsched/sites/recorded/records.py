"""Recorded exchanges, of a watched browser or a HAR, the facts that go with them, and the summary of the site made of them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from mixedsched.model.request import ChromiumPriority, Flag, Kind

BodyOrigin = Literal["recorded", "synthesised", "none"]
FoundHow = Literal["navigation", "parser", "script", "preload", "style", "redirect", "other"]


UNKNOWN_LICENCE = "unknown: the contents belong to their owners"


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """One request of a page load and its answer. Times are ms from navigation start."""

    method: str
    url: str  # absolute, http or https, without fragment
    status: int  # redirects are exchanges of their own
    headers: tuple[tuple[str, str], ...]  # of the response, names in lower case, one entry a line, as received
    mime: str
    kind: Kind
    body: bytes  # as sent: content coding (`encoding`) still on, transfer coding undone
    encoding: str | None
    asked_ms: float  # when the page asked
    # Of the response.
    first_byte_ms: float | None = None
    complete_ms: float | None = None
    request_headers: tuple[tuple[str, str], ...] = ()
    body_origin: BodyOrigin = "recorded"  # synthesised where only its size was known
    # Who asked for it, None where the recording does not tell and it is to be inferred.
    found_by_url: str | None = None
    found_how: FoundHow | None = None
    found_at: int | None = None  # character position of the reference in the text of who asked, where known
    # Blink's when the request left; None to derive them.
    priority: ChromiumPriority | None = None
    incremental: bool | None = None
    flags: frozenset[Flag] = frozenset()  # how it sits in the page

    def header(self, name: str) -> list[str]:
        """The values of a response's field, one a line. name: in lower case."""
        return [value for key, value in self.headers if key.lower() == name]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An exchange that the site does without, and why."""

    url: str
    why: str
    method: str = "GET"


@dataclass(frozen=True, slots=True)
class RecordingFacts:
    """Facts that the recorder knows beyond the exchanges."""

    name: str  # of the site
    url: str  # of the page
    title: str = ""
    description: str = ""
    source: str = ""
    licence: str = ""  # of its contents, "" if unknown
    record: Mapping[str, Any] = field(default_factory=dict)  # for people, such as date and browser, as JSON values
    notes: tuple[str, ...] = ()  # sentences about the load, for the summary
    left_out: tuple[LeftOut, ...] = ()  # what never became an exchange


@dataclass(frozen=True, slots=True)
class KindSum:
    """How many resources of a kind there are, and their bytes on the wire."""

    count: int
    body_bytes: int


@dataclass(frozen=True, slots=True)
class RecordingSummary:
    """The site that a recording has become."""

    folder: Path
    name: str
    url: str  # what a browser opens of the copy
    hosts: Mapping[str, tuple[str, ...]]  # of each site host the origins that were recorded
    kinds: Mapping[str, KindSum]  # of the page's resources
    resources: int
    body_bytes: int
    above_fold: tuple[str, ...] = ()  # addresses of what counts for the first screen, as flagged
    hero: str | None = None  # the address of the largest paint, if it is an image
    rewritten: tuple[str, ...] = ()  # addresses of bodies in which names of hosts were changed
    dropped_headers: Mapping[str, int] = field(default_factory=dict)  # how often each field was left out that mattered
    also_served: int = 0  # what the server has beyond the page
    doubled: int = 0  # requests for what was asked before
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """The summary as JSON values."""
        return {**asdict(self), "folder": str(self.folder)}
