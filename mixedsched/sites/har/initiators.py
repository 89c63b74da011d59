"""Who asked for what: initiators as DevTools, chrome-har and WebPageTest write them. Firefox and mitmproxy tell none."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mixedsched.sites.har.entries import Entry
from mixedsched.sites.recorded.exchange import FoundHow

_HOW_BY_TYPE: Mapping[str, FoundHow] = {
    "parser": "parser",
    "script": "script",
    "preload": "preload",
    "redirect": "redirect",
    "other": "other",
}
_MAX_STACKS = 50  # of asynchronous calls, one behind the other


@dataclass(frozen=True, slots=True)
class Initiator:
    """url: of the document, style sheet or script that asked; None if the HAR does not tell."""

    url: str | None = None
    how: FoundHow | None = None


def initiator_of(entry: Entry) -> Initiator:
    """The initiator object of the DevTools Protocol if it is there, else a URL (chrome-har, WebPageTest)."""
    detail = entry.initiator if isinstance(entry.initiator, Mapping) else _parsed(entry.initiator_detail)
    if detail:
        return _by_object(detail)
    how = _HOW_BY_TYPE.get(entry.initiator_type.lower())
    url = entry.initiator if isinstance(entry.initiator, str) else ""
    return Initiator(_address(url), how)


def _parsed(detail: Any) -> Mapping[str, Any]:
    """An initiator object that was written as JSON within the JSON."""
    if isinstance(detail, str):
        try:
            detail = json.loads(detail)
        except (ValueError, RecursionError):
            return {}
    return detail if isinstance(detail, Mapping) else {}


def _by_object(detail: Mapping[str, Any]) -> Initiator:
    type_name = detail.get("type")
    how = _HOW_BY_TYPE.get(type_name.lower()) if isinstance(type_name, str) else None
    url = _address(detail.get("url"))
    if url is None:  # of a stack the call on top that is no code of the browser's own
        url = next((found for frame in _frames(detail.get("stack")) if (found := _address(frame.get("url")))), None)
    return Initiator(url, how)


def _frames(stack: Any) -> Iterator[Mapping[str, Any]]:
    """The calls of a stack, the latest first, then of those that led to it asynchronously."""
    for _ in range(_MAX_STACKS):
        if not isinstance(stack, Mapping):
            return
        frames = stack.get("callFrames")
        yield from (frame for frame in frames if isinstance(frame, Mapping)) if isinstance(frames, list) else ()
        stack = stack.get("parent")


def _address(url: Any) -> str | None:
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return None
    return url.partition("#")[0]
