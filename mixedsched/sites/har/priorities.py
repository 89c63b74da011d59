"""Which priority Chromium gave a request, in the words of those who tell it.

Tried in this order:

1. the `priority` field of the request, over HTTP/2 and HTTP/3: u=0 to u=4 are Blink's five levels as they were when the
   request left. Where the field is absent from a request whose header is complete, Chromium meant its default, Low;
2. `_initialPriority` (chrome-har), `_initial_priority` (WebPageTest): Blink's level when the request left;
3. `_priority`: the level in the end, after layout may have raised it (DevTools, WebPageTest);
4. nothing: it is derived from the kind and the place in the page, as Chromium would.

Only Chromium counts. Firefox sends urgencies of its own scale, which say nothing of Blink's levels, and Safari's words do not
either.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mixedsched.model.priority import parse_field
from mixedsched.model.request import ChromiumPriority, chromium_priority_of
from mixedsched.sites.har.entries import Entry, HarLog
from mixedsched.sites.har.kinds import resource_type

# Three vocabularies for the same five levels: Blink's own, that of the DevTools panel and WebPageTest, and net's (capitals),
# whose MEDIUM is Blink's High. They differ in case only for "Low" and "Medium", so case counts.
_LEVELS: Mapping[str, ChromiumPriority] = MappingProxyType(
    {
        **{level.value: level for level in ChromiumPriority},
        "Highest": ChromiumPriority.VERY_HIGH,
        "Lowest": ChromiumPriority.VERY_LOW,
        "HIGHEST": ChromiumPriority.VERY_HIGH,
        "MEDIUM": ChromiumPriority.HIGH,
        "LOW": ChromiumPriority.MEDIUM,
        "LOWEST": ChromiumPriority.LOW,
        "IDLE": ChromiumPriority.VERY_LOW,
        "THROTTLED": ChromiumPriority.VERY_LOW,
    }
)
_WITHOUT_PRIORITY = ("http/0", "http/1", "1.")  # WebPageTest writes the bare number


class Priorities:
    """Reads the priorities of one HAR."""

    def __init__(self, log: HarLog) -> None:
        self._is_chromium = _is_chromium(log)
        self._is_signalled = self._is_chromium and any(_field(entry) is not None for entry in log.entries)

    def of(self, entry: Entry) -> tuple[ChromiumPriority | None, bool | None]:
        """The level when the request left and whether it was incremental; None for what the HAR does not tell."""
        if not self._is_chromium:
            return None, None
        if self._is_signalled and _has_signal(entry):
            signal = parse_field([(_field(entry) or "").encode("utf-8", "replace")])
            return chromium_priority_of(signal), signal.incremental
        words = (entry.initial_priority, entry.initial_priority_wpt, entry.priority)
        return next((_LEVELS[word] for word in words if word in _LEVELS), None), None

    def was_raised(self, entry: Entry) -> bool:
        """Whether Chromium thought more of it in the end (`_priority`) than when it asked, which layout does to images that
        it finds on the first screen. Where only the end is told, an image that is High counts."""
        in_the_end = _LEVELS.get(entry.priority)
        if not self._is_chromium or in_the_end not in {ChromiumPriority.VERY_HIGH, ChromiumPriority.HIGH}:
            return False
        at_first, _ = self.of(entry)
        is_told = (self._is_signalled and _has_signal(entry)) or entry.initial_priority or entry.initial_priority_wpt
        return at_first is not None and at_first.rank > in_the_end.rank if is_told else resource_type(entry) == "image"


def _is_chromium(log: HarLog) -> bool:
    """As the requests say (user-agent), else the tool: entries of DevTools, chrome-har and WebPageTest have its words."""
    agents = [agent for entry in log.entries if (agent := entry.request_header("user-agent")) is not None]
    if agents:
        return any("Chrome/" in agent or "Chromium/" in agent for agent in agents)
    return not {"firefox", "webkit", "safari"} & set(f"{log.creator} {log.browser}".lower().split())


def _field(entry: Entry) -> str | None:
    return entry.request_header("priority")


def _has_signal(entry: Entry) -> bool:
    """Whether the absence of the field would be the browser's word: some entries lack what the network stack added."""
    if entry.request.http_version.strip().lower().startswith(_WITHOUT_PRIORITY):
        return False
    return _field(entry) is not None or entry.request_header("accept-encoding") is not None
