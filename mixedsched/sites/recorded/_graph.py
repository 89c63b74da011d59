"""The graph of discoveries of a page, from what the recording tells, and inferred where it does not.

The rules, in this order:

1. A redirect's target is found when the redirect is complete.
2. Where the recording names who asked, that is the parent. Where it does not, it is the document whose header preloads it;
   else an earlier one that spells the address out: documents first, then style sheets, then scripts and other texts, the
   earliest of each; else the document or style sheet that the `referer` names; else the page's document.
3. A parent that is a document gives what it spells out at that place of its bytes: the share of its text before the
   reference, as a share of its bytes on the wire. A preload named in its header is found at byte 0. What it does not spell
   out was found at the place that had arrived at that time, or when it was complete. But a script within the document runs
   only when the blocking scripts before it are complete, or else the style sheets before it: then the last one of these gives.
4. Style sheets, scripts and all others give when they are complete. One that had not even begun to arrive cannot have been
   it: then rule 3 holds for the page's document.
5. What is left between that moment and the request is think time. What all that a document spells out has of it in common is
   the browser's, not the page's, and goes; so does what all that its header names has in common.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from mixedsched.model.page import MAX_DELAY_MS, FoundWhen
from mixedsched.model.request import Flag, Kind
from mixedsched.sites.documents.references import base_of
from mixedsched.sites.recorded._copies import Copy
from mixedsched.sites.recorded._rewriting import fetched_links
from mixedsched.sites.recorded.records import RecordedExchange
from mixedsched.sites.recorded.references import addresses_in, position_of
from mixedsched.sites.recorded.selection import is_redirect, redirect_targets

_NOISE_MS = 10.0  # less is how evenly bytes came and how busy the recorder was, and no think time
_RANK = {Kind.DOCUMENT: 0, Kind.STYLESHEET: 1}
_RANK_OTHERS = 2
_SCRIPT_BEGINS = re.compile(r"<script\b[^>]*", re.IGNORECASE)
_SCRIPT_ENDS = re.compile(r"</script|\Z", re.IGNORECASE)
_SRC = re.compile(r"\ssrc\s*=", re.IGNORECASE)
_Spelling = tuple[int | None, str]  # a parent, and which part of it


@dataclass(frozen=True, slots=True)
class CopyDiscovery:
    """How a copy is discovered; what is not explained is as in page.Resource."""

    parent: int | None = None  # index among the copies, None for the page's document
    when: FoundWhen = "start"
    at_bytes: int = 0
    delay_ms: float = 0.0
    spelt: Literal["header", "text"] | None = None  # where its finder, a document, spells it out


def discovery(copies: Sequence[Copy]) -> list[CopyDiscovery]:
    """The discovery of each copy of a page. copies: the document first, the others in the order of their requests."""
    by_url = {item.source.url: index for index, item in reversed(list(enumerate(copies)))}
    texts = [_Text(item, copies[0].source.url, by_url) for item in copies]
    redirects = {
        target: index
        for index, item in reversed(list(enumerate(copies)))
        if is_redirect(item.source)
        for target in redirect_targets(item.source)
    }
    graph = _Graph(texts, by_url, redirects)
    found = [CopyDiscovery(), *(graph.found(index) for index in range(1, len(copies)))]
    return _without_browsers_time(found)


def _without_browsers_time(found: Sequence[CopyDiscovery]) -> list[CopyDiscovery]:
    """The same, less the think time that everything spelt out in the same text, or in the same header, has at least."""
    common: dict[_Spelling, float] = {}
    for item in found:
        if item.spelt is not None:
            key = item.parent, item.spelt
            common[key] = min(common.get(key, item.delay_ms), item.delay_ms)
    return [replace(item, delay_ms=_page_time(item, common)) for item in found]


def _page_time(item: CopyDiscovery, common: Mapping[_Spelling, float]) -> float:
    """The think time that is the page's."""
    left_ms = item.delay_ms - (common[item.parent, item.spelt] if item.spelt is not None else 0.0)
    return round(left_ms, 1) if left_ms >= _NOISE_MS else 0.0


def own_scripts(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of each script that stands in a document itself; up to the text's end where it is not closed."""
    at = 0
    while (tag := _SCRIPT_BEGINS.search(text, at)) is not None and tag.end() < len(text):
        at = tag.end()
        if not _SRC.search(tag[0]) and (end := _SCRIPT_ENDS.search(text, at)) is not None:
            at = end.end()
            yield tag.start(), at


class _Text:
    """A copy that may refer to others. page_url: of the page's document, to which references of scripts are relative.
    urls: of all copies.
    """

    def __init__(self, copy: Copy, page_url: str, urls: Container[str]) -> None:
        self.copy = copy
        self._page_url = page_url
        self._urls = urls
        self.source: RecordedExchange = copy.source
        self.kind: Kind = copy.source.kind

    @cached_property
    def base_url(self) -> str:
        match self.kind:
            case Kind.DOCUMENT:
                return base_of(self.copy.text, self.source.url)
            case Kind.SCRIPT:
                return self._page_url
            case _:
                return self.source.url

    @cached_property
    def addresses(self) -> dict[str, int]:
        return addresses_in(self.copy.text, self.base_url, self._urls)

    @cached_property
    def _encoded_bytes(self) -> int:
        return max(1, len(self.copy.text.encode("utf-8", "replace")))

    def place_of(self, item: RecordedExchange) -> int | None:
        """The character at which the text refers to what was asked for."""
        if item.found_at is not None and item.found_at <= len(self.copy.text):
            return item.found_at
        if item.url in self.addresses:
            return self.addresses[item.url]
        return position_of(item.url, self.copy.text, self.base_url)

    def asks_by_script(self, item: RecordedExchange, place: int) -> bool:
        """Whether a script within this document asked, of which browsers may say that the parser did."""
        if item.found_how not in {None, "parser"}:
            return item.found_how == "script"
        is_in_script = any(start <= place < end for start, end in self._own_scripts)
        return is_in_script and position_of(item.url, self._markup, self.base_url) is None

    @cached_property
    def _own_scripts(self) -> list[tuple[int, int]]:
        return list(own_scripts(self.copy.text))

    @cached_property
    def _markup(self) -> str:
        """The text without its own scripts."""
        ends = [0, *(end for _, end in self._own_scripts)]
        starts = [*(start for start, _ in self._own_scripts), len(self.copy.text)]
        return " ".join(self.copy.text[end:start] for end, start in zip(ends, starts, strict=True))

    def share_at(self, place: int) -> float:
        """The share of the text before a character, in bytes."""
        if self.copy.text.isascii():
            return place / self._encoded_bytes
        return len(self.copy.text[:place].encode("utf-8", "replace")) / self._encoded_bytes

    def share_arrived(self, time_ms: float) -> float:
        """The share of the body that had arrived by then, if it came evenly; 1.0 if all had, or nothing is known."""
        first_ms, complete_ms = self.source.first_byte_ms, self.source.complete_ms
        if first_ms is None or complete_ms is None or complete_ms <= first_ms:
            return 1.0
        return min(1.0, max(0.0, (time_ms - first_ms) / (complete_ms - first_ms)))

    def time_of(self, share: float) -> float | None:
        """When this share of the body had arrived, if it came evenly."""
        first_ms, complete_ms = self.source.first_byte_ms, self.source.complete_ms
        if first_ms is None or complete_ms is None:
            return complete_ms if first_ms is None else first_ms
        return first_ms + share * (complete_ms - first_ms)

    @property
    def blocks_scripts(self) -> bool:
        """Whether a document's own scripts behind its element wait for it: scripts that block, and sheets that apply."""
        source = self.source
        if source.found_how not in {None, "parser"} or source.flags & {Flag.ASYNC, Flag.DEFER, Flag.PRELOAD}:
            return False
        return self.kind is Kind.SCRIPT or (self.kind is Kind.STYLESHEET and Flag.CRITICAL in source.flags)

    @cached_property
    def preloads(self) -> frozenset[str]:
        """The addresses that its recorded header makes browsers fetch, with the recorded names of hosts."""
        return fetched_links(self.source.headers, self.source.url)


class _Graph:
    def __init__(self, texts: Sequence[_Text], by_url: dict[str, int], redirects: dict[str, int]) -> None:
        self._texts = texts
        self._by_url = by_url
        self._redirects = redirects
        self._blocking_by_document: dict[int, list[tuple[int, int]]] = {}

    @cached_property
    def _spelling(self) -> dict[str, list[int]]:
        """For each address of the page the texts that spell it out, in order."""
        spelling: dict[str, list[int]] = {url: [] for url in self._by_url}
        for index, text in enumerate(self._texts):
            for url in text.addresses:
                spelling[url].append(index)
        return spelling

    @cached_property
    def _preloading(self) -> list[int]:
        """The documents whose headers preload something, in order."""
        return [index for index, text in enumerate(self._texts) if text.kind is Kind.DOCUMENT and text.preloads]

    def found(self, index: int) -> CopyDiscovery:
        item = self._texts[index].source
        hop = self._redirects.get(item.url)
        if hop is not None and hop < index and item.found_how in {None, "redirect"}:
            return self._by_completion(index, hop)
        parent = self._told_parent(index)
        if parent is None:
            parent = self._inferred_parent(index)
        if self._texts[parent].kind is Kind.DOCUMENT:
            return self._by_document(index, parent)
        if self._was_there(parent, item):
            return self._by_completion(index, parent)
        return self._by_document(index, 0)

    def _told_parent(self, index: int) -> int | None:
        """The one that asked, if the recording names it and it was asked for before."""
        url = self._texts[index].source.found_by_url
        parent = self._by_url.get(url.partition("#")[0]) if url is not None else None
        return parent if parent is not None and parent < index else None

    def _inferred_parent(self, index: int) -> int:
        item = self._texts[index].source
        for other in self._preloading:
            if other < index and item.url in self._texts[other].preloads and self._was_there(other, item):
                return other
        spelling = [
            other for other in self._spelling.get(item.url, ()) if other < index and self._was_there(other, item)
        ]
        if spelling:
            return min(spelling, key=lambda other: (_RANK.get(self._texts[other].kind, _RANK_OTHERS), other))
        referer = next((value for name, value in item.request_headers if name.lower() == "referer"), None)
        parent = self._by_url.get(referer) if referer is not None else None
        return parent if parent is not None and parent < index and self._was_there(parent, item) else 0

    def _was_there(self, parent: int, item: RecordedExchange) -> bool:
        """Whether a parent had begun to arrive when a request was made."""
        first_ms = self._texts[parent].source.first_byte_ms
        return first_ms is None or item.asked_ms >= first_ms - _NOISE_MS

    def _by_completion(self, index: int, parent: int) -> CopyDiscovery:
        item, complete_ms = self._texts[index].source, self._texts[parent].source.complete_ms
        return CopyDiscovery(parent, "complete", 0, _think_time(item.asked_ms, complete_ms))

    def _by_document(self, index: int, parent: int) -> CopyDiscovery:
        item, document = self._texts[index].source, self._texts[parent]
        size_bytes = len(document.copy.body)
        if item.url in document.preloads:
            return CopyDiscovery(
                parent, "bytes", 0, _think_time(item.asked_ms, document.source.first_byte_ms), "header"
            )
        place = document.place_of(item)
        if place is not None:
            share = document.share_at(place)
            if (
                document.asks_by_script(item, place)
                and (blocker := self._blocker(index, parent, place, share)) is not None
            ):
                return self._by_completion(index, blocker)
            at_bytes = min(size_bytes, int(share * size_bytes) + 1)
            return CopyDiscovery(parent, "bytes", at_bytes, _think_time(item.asked_ms, document.time_of(share)), "text")
        share = document.share_arrived(item.asked_ms)
        if share < 1.0:
            return CopyDiscovery(parent, "bytes", int(share * size_bytes))
        return self._by_completion(index, parent)

    def _blocker(self, index: int, parent: int, place: int, share: float) -> int | None:
        """What a script within a document had to wait for: the last blocking script before it, else the last style sheet.

        None if there is neither, if the document itself came later, or if the request did not wait for it.
        """
        before = [item for item in self._blocking(parent) if item[0] < place and item[1] < index]
        if not before:
            return None
        _, blocker = max([item for item in before if self._texts[item[1]].kind is Kind.SCRIPT] or before)
        complete_ms, there_ms = self._texts[blocker].source.complete_ms, self._texts[parent].time_of(share)
        if complete_ms is None or (there_ms is not None and complete_ms <= there_ms):
            return None
        return blocker if self._texts[index].source.asked_ms >= complete_ms - _NOISE_MS else None

    def _blocking(self, parent: int) -> list[tuple[int, int]]:
        """What in a document's text its own scripts wait for: (character, index)."""
        if parent not in self._blocking_by_document:
            places = (
                (self._texts[parent].place_of(text.source), index)
                for index, text in enumerate(self._texts)
                if text.blocks_scripts
            )
            self._blocking_by_document[parent] = [(at, index) for at, index in places if at is not None]
        return self._blocking_by_document[parent]


def _think_time(asked_ms: float, allowed_ms: float | None) -> float:
    """The time between the moment when a request was possible and the request."""
    return 0.0 if allowed_ms is None else min(max(0.0, asked_ms - allowed_ms), float(MAX_DELAY_MS))
