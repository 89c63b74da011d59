"""One request and its answer, whoever recorded it: a browser that was watched, or a HAR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
