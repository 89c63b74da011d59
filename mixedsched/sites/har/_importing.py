"""One page load of a HAR as exchanges, ready to be written as a recording, and the facts that go with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from mixedsched.errors import SiteError
from mixedsched.model.request import Kind
from mixedsched.sites.har._bodies import Bodies, SentBody, Synthesise
from mixedsched.sites.har._entries import HarEntry, HarLog
from mixedsched.sites.har._pages import NOT_MODIFIED, HarPage, Selected, redirect_target, select
from mixedsched.sites.har._placement import Placement, Text
from mixedsched.sites.har._requests import Priorities, initiator_of, kind_of, mime_of
from mixedsched.sites.recorded.records import FoundHow, RecordedExchange, RecordingFacts


@dataclass(frozen=True, slots=True)
class HarTimes:
    """asked_ms: since 1970 when it leaves `times_of`, None if it is not told. Others as in RecordedExchange."""

    asked_ms: float | None
    first_byte_ms: float | None = None
    complete_ms: float | None = None

    def since(self, start_ms: float, otherwise_ms: float) -> HarTimes:
        """Relative to a start; nothing is before it. otherwise_ms: when an entry without a time counts as asked for."""
        if self.asked_ms is None:
            return HarTimes(otherwise_ms)
        first_ms, complete_ms = self.first_byte_ms, self.complete_ms
        return HarTimes(
            _rounded(self.asked_ms - start_ms),
            None if first_ms is None else _rounded(first_ms - start_ms),
            None if complete_ms is None else _rounded(complete_ms - start_ms),
        )


def times_of(entry: HarEntry) -> HarTimes:
    """The times of an entry, as its tool means them.

    DevTools, Firefox: startedDateTime is when the page asked, and all of `timings` but ssl (within connect) follow one another.
    chrome-har: it is when the request left the queue; `_queued` is what it waited there. WebPageTest: it is when the request
    left; `_created` (else `_all_start`) and `_load_start` tell how long the page had waited by then. mitmproxy: it is when
    the request reached it; its `connect` lies before that, or is none of the request's.
    """
    started_ms, timings = entry.started_ms, entry.timings
    if started_ms is None:
        return HarTimes(None)
    if entry.load_start_ms is not None:
        return _of_webpagetest(entry, started_ms, entry.load_start_ms)
    is_after_connect = timings.blocked is None and timings.dns is None  # mitmproxy has neither
    before = (timings.send,) if is_after_connect else (timings.blocked, timings.dns, timings.connect, timings.send)
    asked_ms = started_ms - (timings.queued or 0.0)
    if timings.wait is None:
        return HarTimes(asked_ms, None, None if entry.time_ms is None else started_ms + entry.time_ms)
    first_byte_ms = started_ms + sum(part or 0.0 for part in before) + timings.wait
    return HarTimes(asked_ms, first_byte_ms, first_byte_ms + (timings.receive or 0.0))


def _of_webpagetest(entry: HarEntry, started_ms: float, load_start_ms: float) -> HarTimes:
    created_ms = entry.created_ms if entry.created_ms is not None else entry.all_start_ms
    waited_ms = max(0.0, load_start_ms - created_ms) if created_ms is not None else 0.0
    first_ms = None if entry.ttfb_ms is None else started_ms + entry.ttfb_ms
    complete_ms = None if entry.load_ms is None else started_ms + entry.load_ms
    return HarTimes(started_ms - waited_ms, first_ms, complete_ms)


def _rounded(time_ms: float) -> float:
    return max(0.0, round(time_ms, 3))


_OK, _CLIENT_ERROR = 200, 400
_TITLE_CHARACTERS = 200
Progress = Callable[[int, int], None]  # entries done, entries in all


@dataclass(frozen=True, slots=True)
class ImportedPage:
    """exchanges: in the order in which requests left. facts: without name and licence, which the user gives.

    recorded, synthesised: how many bodies the HAR had, and how many were made at their size.
    """

    exchanges: tuple[RecordedExchange, ...]
    facts: RecordingFacts
    recorded: int
    synthesised: int


@dataclass(frozen=True, slots=True)
class _Read:
    """An entry with what was read from it."""

    entry: HarEntry
    kind: Kind
    mime: str
    times: HarTimes


def imported(
    log: HarLog, page: HarPage, synthesise: Synthesise, progress: Progress = lambda _done, _total: None
) -> ImportedPage:
    """The exchanges of a page load.

    synthesise: makes a body of (kind, content type, size in bytes, seed) where the HAR has none.
    Raises SiteError if the page has no document, or more bytes than a site can have.
    """
    selected = select(page)
    main = _main_of(selected, page)
    reads = _in_order(selected.entries, main)
    maker = Bodies(synthesise)
    bodies: list[SentBody] = []
    for done, read in enumerate(reads):
        progress(done, len(reads))
        bodies.append(maker.of(read.entry, read.kind, read.mime))
    exchanges = _exchanges(log, reads, bodies)
    origins = Counter[str](body.origin for body in bodies if body.data)
    notes = tuple(_sentences(log, main, selected, origins, maker.counts))
    facts = _facts(log, page, main, selected, notes)
    return ImportedPage(exchanges, facts, origins["recorded"], origins["synthesised"])


def _main_of(selected: Selected, page: HarPage) -> HarEntry:
    """The entry with which the page begins, a redirect or its document: what has the page's title, as DevTools writes it,
    else the first that is a document."""
    documents = [
        entry for entry in selected.entries if entry.request.method.upper() == "GET" and kind_of(entry) is Kind.DOCUMENT
    ]
    if not documents:
        failed = next((f"{item.url}: {item.why}" for item in selected.left_out), "nothing of it is an HTML document")
        raise SiteError(
            f"the page '{page.id}' has no document",
            why=failed,
            fix="save a HAR of a load that worked; `mixedsched import` has --page, for another page of this one",
        )
    if all(entry.response.status // 100 == 3 for entry in documents):
        why = f"{documents[-1].url} is answered with a redirect, and what it leads to is not in the HAR, or leads back"
        raise SiteError(f"the page '{page.id}' has no document", why=why, fix="save a load that ends at a page")
    titled = (entry for entry in documents if entry.url == page.title.partition("#")[0])
    return next(titled, documents[0])


def has_document(page: HarPage) -> bool:
    """Whether the HAR has the body of the page's own document, behind its redirects. Raises SiteError if there is none."""
    selected = select(page)
    entry = _main_of(selected, page)
    by_url = {item.url: item for item in reversed(selected.entries) if item.request.method.upper() == "GET"}
    for _ in selected.entries:
        entry = by_url.get(redirect_target(entry) or "", entry)
    return any(item.url == entry.url and item.response.content.text for item in selected.entries)


def _in_order(entries: Sequence[HarEntry], main: HarEntry) -> list[_Read]:
    """The entries as they were asked for, the page's beginning first; those without a time stay behind their neighbour."""
    start = times_of(main).asked_ms
    latest_ms, reads = 0.0, []
    for entry in (main, *(entry for entry in entries if entry is not main)):
        told = times_of(entry)
        times = told.since(start if start is not None else told.asked_ms or 0.0, latest_ms)
        latest_ms = times.asked_ms or 0.0
        reads.append(_Read(entry, kind_of(entry), mime_of(entry), times))
    return reads[:1] + sorted(reads[1:], key=lambda read: read.times.asked_ms or 0.0)


def _exchanges(log: HarLog, reads: Sequence[_Read], bodies: Sequence[SentBody]) -> tuple[RecordedExchange, ...]:
    priorities = Priorities(log)
    placement = Placement(
        [
            Text(read.entry.url, read.kind, body.text)
            for read, body in zip(reads, bodies, strict=True)
            if read.kind in {Kind.DOCUMENT, Kind.STYLESHEET}
        ]
    )
    parents = _Parents(reads)
    return tuple(
        _exchange(read, body, priorities, placement, parents) for read, body in zip(reads, bodies, strict=True)
    )


def _exchange(
    read: _Read, body: SentBody, priorities: Priorities, placement: Placement, parents: _Parents
) -> RecordedExchange:
    entry, times = read.entry, read.times
    priority, incremental = priorities.of(entry)
    found_by_url, found_how = parents.of(read)
    return RecordedExchange(
        method=entry.request.method.upper() or "GET",
        url=entry.url,
        status=_OK if entry.response.status == NOT_MODIFIED else entry.response.status,
        headers=entry.response.headers,
        mime=read.mime,
        kind=read.kind,
        body=body.data,
        encoding=body.encoding,
        asked_ms=times.asked_ms or 0.0,
        first_byte_ms=times.first_byte_ms,
        complete_ms=times.complete_ms,
        request_headers=entry.request.headers,
        body_origin=body.origin,
        found_by_url=found_by_url,
        found_how=found_how,
        priority=priority,
        incremental=incremental,
        flags=placement.flags(entry.url, read.kind, priority, was_raised=priorities.was_raised(entry)),
    )


class _Parents:
    """The parents of requests, in terms of the entries of the page."""

    def __init__(self, reads: Sequence[_Read]) -> None:
        self._kinds = {read.entry.url: read.kind for read in reversed(reads)}
        self._redirected = {
            target: read.entry.url for read in reversed(reads) if (target := redirect_target(read.entry))
        }

    def of(self, read: _Read) -> tuple[str | None, FoundHow | None]:
        """(URL, how) of the one that asked; None where that is to be inferred from bodies, `referer` and times."""
        url = read.entry.url
        if url in self._redirected and self._redirected[url] != url:
            return self._redirected[url], "redirect"
        told = initiator_of(read.entry)
        if told.url is None or told.url not in self._kinds or told.url == url:
            return None, told.how if told.how in {"preload", "script"} else None
        is_style = told.how == "parser" and self._kinds[told.url] is Kind.STYLESHEET
        return told.url, "style" if is_style else told.how


def _sentences(
    log: HarLog, main: HarEntry, selected: Selected, origins: Counter[str], counts: Counter[str]
) -> Iterator[str]:
    """A sentence on each thing that the HAR lacked or that had to be changed."""
    if origins["synthesised"]:
        total = origins["synthesised"] + origins["recorded"]
        yield f"{origins['synthesised']} of {total} bodies are not in the HAR and were synthesised at their sizes"
    if selected.from_cache:
        yield f"{selected.from_cache} responses came from the browser's cache; they are kept, as a first visit asks for them"
    if main.response.status >= _CLIENT_ERROR:
        yield f"the page itself was answered with {main.response.status}"
    if log.unreadable:
        yield f"{log.unreadable} entries of the HAR cannot be read and are left out"
    yield from (f"{count} {text}" for text, count in counts.items())


def _facts(log: HarLog, page: HarPage, main: HarEntry, selected: Selected, notes: tuple[str, ...]) -> RecordingFacts:
    is_title = bool(page.title) and not page.title.startswith(("http:", "https:"))
    record: dict[str, Any] = {"tool": "import", "har_version": log.version}
    named = {"har_creator": log.creator, "browser": log.browser, "page": page.id, "date": _date(main.started_ms)}
    record |= {key: value[:_TITLE_CHARACTERS] for key, value in named.items() if value}
    return RecordingFacts(
        name="",
        url=main.url,
        title=page.title[:_TITLE_CHARACTERS] if is_title else "",
        description=f"Imported from a HAR of {main.url}",
        source=f"a HAR by {log.creator[:_TITLE_CHARACTERS] or 'an unknown tool'}, of {main.url}",
        record=record,
        notes=notes,
        left_out=selected.left_out,
    )


def _date(started_ms: float | None) -> str:
    if started_ms is None:
        return ""
    try:
        return datetime.fromtimestamp(started_ms / 1000, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""
