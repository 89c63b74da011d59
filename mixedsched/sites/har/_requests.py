"""Facts of a request: the kind of resource, the priority that Chromium gave it, and who asked for it.

The priority is, in this order:

1. the `priority` field of the request, over HTTP/2 and HTTP/3: u=0 to u=4 are Blink's five levels as they were when the
   request left. Where the field is absent from a request whose header is complete, Chromium meant its default, Low;
2. `_initialPriority` (chrome-har), `_initial_priority` (WebPageTest): Blink's level when the request left;
3. `_priority`: the level in the end, after layout may have raised it (DevTools, WebPageTest);
4. nothing: it is derived from the kind and the place in the page, as Chromium would.

Only Chromium counts. Firefox sends urgencies of its own scale, which say nothing of Blink's levels, and Safari's words do
not either. Initiators are as DevTools, chrome-har and WebPageTest write them; Firefox and mitmproxy tell none.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from mixedsched.model.priority import parse_field
from mixedsched.model.request import ChromiumPriority, Kind, chromium_priority_of, kind_of_destination, kind_of_mime
from mixedsched.sites.har._entries import HarEntry, HarLog
from mixedsched.sites.recorded.records import FoundHow
from mixedsched.sites.site.wire import mime_of_file

_WORDS: dict[str, dict[str, str]] = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
_KIND_BY_TYPE = {word: Kind(kind) for word, kind in _WORDS["kind_by_type"].items()}
# How browsers begin the `accept` field for what they will take: it tells the kind where it is not */*.
_KIND_BY_ACCEPT = (("text/html", Kind.DOCUMENT), ("text/css", Kind.STYLESHEET), ("image/", Kind.IMAGE))
_CLIENT_ERROR = 400


def kind_of(entry: HarEntry) -> Kind:
    """Tried in this order: `sec-fetch-dest` (not "empty", which prefetches say too), the tool's own word, `accept`, whether a
    script asked (x-requested-with, "empty"), the content type, the file's ending. An error's page tells nothing of what was
    asked for, so there the ending comes first.
    """
    destination = entry.request_header("sec-fetch-dest")
    told = kind_of_destination(destination) if destination != "empty" else None
    told = told or _KIND_BY_TYPE.get(resource_type(entry)) or _accepted(entry)
    if told is not None:
        return told
    looks = _look(entry)
    is_prefetch = entry.request_header("sec-purpose") is not None
    asked_by_script = entry.request_header("x-requested-with") is not None or destination == "empty"
    return looks if is_prefetch or not asked_by_script else Kind.XHR


def resource_type(entry: HarEntry) -> str:
    """The tool's word for what was asked for, in lower case; "" if it has none."""
    return (entry.resource_type or entry.request_type).strip().lower()


def mime_of(entry: HarEntry) -> str:
    """The content type as sent, else as the tool gives it; "" if neither is one."""
    sent = entry.response_header("content-type") or entry.response.content.mime
    return sent if "/" in sent else ""


def _accepted(entry: HarEntry) -> Kind | None:
    accept = (entry.request_header("accept") or "").strip().lower()
    return next((kind for start, kind in _KIND_BY_ACCEPT if accept.startswith(start)), None)


def _look(entry: HarEntry) -> Kind:
    by_mime, by_name = kind_of_mime(mime_of(entry)), _kind_of_ending(entry.url)
    first, second = (by_name, by_mime) if entry.response.status >= _CLIENT_ERROR else (by_mime, by_name)
    return first if first is not Kind.OTHER else second


def _kind_of_ending(url: str) -> Kind:
    path = unquote(url.partition("?")[0].partition("://")[2].partition("/")[2])
    return kind_of_mime(mime_of_file(PurePosixPath(path).name or "page.html"))


_LEVELS = {word: ChromiumPriority(level) for word, level in _WORDS["levels"].items()}
_WITHOUT_PRIORITY = ("http/0", "http/1", "1.")  # WebPageTest writes the bare number


class Priorities:
    """Reads the priorities of one HAR."""

    def __init__(self, log: HarLog) -> None:
        self._is_chromium = _is_chromium(log)
        self._is_signalled = self._is_chromium and any(_field(entry) is not None for entry in log.entries)

    def of(self, entry: HarEntry) -> tuple[ChromiumPriority | None, bool | None]:
        """The level when the request left and whether it was incremental; None for what the HAR does not tell."""
        if not self._is_chromium:
            return None, None
        if self._is_signalled and _has_signal(entry):
            signal = parse_field([(_field(entry) or "").encode("utf-8", "replace")])
            return chromium_priority_of(signal), signal.incremental
        words = (entry.initial_priority, entry.initial_priority_wpt, entry.priority)
        return next((_LEVELS[word] for word in words if word in _LEVELS), None), None

    def was_raised(self, entry: HarEntry) -> bool:
        """Whether Chromium thought more of it in the end (`_priority`) than when it asked, which layout does to images that
        it finds on the first screen. Where only the end is told, an image that is High counts."""
        in_the_end = _LEVELS.get(entry.priority)
        if not self._is_chromium or in_the_end not in {ChromiumPriority.VERY_HIGH, ChromiumPriority.HIGH}:
            return False
        at_first, _ = self.of(entry)
        is_told = (self._is_signalled and _has_signal(entry)) or entry.initial_priority or entry.initial_priority_wpt
        return at_first is not None and at_first.rank > in_the_end.rank if is_told else resource_type(entry) == "image"


def _is_chromium(log: HarLog) -> bool:
    """Whether the HAR is of Chromium, by `user-agent`; else by the tool, as most tools use Chromium's words."""
    agents = [agent for entry in log.entries if (agent := entry.request_header("user-agent")) is not None]
    if agents:
        return any("Chrome/" in agent or "Chromium/" in agent for agent in agents)
    return not {"firefox", "webkit", "safari"} & set(f"{log.creator} {log.browser}".lower().split())


def _field(entry: HarEntry) -> str | None:
    return entry.request_header("priority")


def _has_signal(entry: HarEntry) -> bool:
    """Whether the absence of the field would be the browser's word: some entries lack what the network stack added."""
    if entry.request.http_version.strip().lower().startswith(_WITHOUT_PRIORITY):
        return False
    return _field(entry) is not None or entry.request_header("accept-encoding") is not None


_HOWS: tuple[FoundHow, ...] = ("parser", "script", "preload", "redirect", "other")
_HOW_BY_TYPE: Mapping[str, FoundHow] = dict(zip(_HOWS, _HOWS, strict=True))
_MAX_STACKS = 50  # of asynchronous calls, one behind the other


@dataclass(frozen=True, slots=True)
class HarInitiator:
    """url: of the document, style sheet or script that asked; None if the HAR does not tell."""

    url: str | None = None
    how: FoundHow | None = None


def initiator_of(entry: HarEntry) -> HarInitiator:
    """The initiator object of the DevTools Protocol if it is there, else a URL (chrome-har, WebPageTest)."""
    detail = entry.initiator if isinstance(entry.initiator, Mapping) else _parsed(entry.initiator_detail)
    if detail:
        return _by_object(detail)
    how = _HOW_BY_TYPE.get(entry.initiator_type.lower())
    url = entry.initiator if isinstance(entry.initiator, str) else ""
    return HarInitiator(_address(url), how)


def _parsed(detail: Any) -> Mapping[str, Any]:
    """An initiator object that was written as JSON within the JSON."""
    if isinstance(detail, str):
        try:
            detail = json.loads(detail)
        except (ValueError, RecursionError):
            return {}
    return detail if isinstance(detail, Mapping) else {}


def _by_object(detail: Mapping[str, Any]) -> HarInitiator:
    type_name = detail.get("type")
    how = _HOW_BY_TYPE.get(type_name.lower()) if isinstance(type_name, str) else None
    url = _address(detail.get("url"))
    if url is None:  # the topmost call of the stack that is not the browser's own code
        url = next((found for frame in _frames(detail.get("stack")) if (found := _address(frame.get("url")))), None)
    return HarInitiator(url, how)


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
