"""The page loads in a HAR, and which entries are of which.

A HAR lists its pages and each entry names its own; those that name none count for the page that was loading at their time.
Proxies such as mitmproxy list no pages: there every navigation of a window begins one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urljoin

from mixedsched.errors import UsageError, nearest_hint
from mixedsched.sites.har.entries import Entry, HarLog, PageMark

_BEFORE_MS = 1000.0  # an entry without a page may be this much older than its page: clocks differ


@dataclass(frozen=True, slots=True)
class HarPage:
    """One page load. number: from 1. entries: in the order of the file. before: entries older than all pages, in the first."""

    number: int
    id: str
    title: str
    entries: tuple[Entry, ...]
    before: tuple[Entry, ...] = ()


@dataclass(slots=True)
class _Open:
    id: str
    title: str
    entries: list[Entry] = field(default_factory=list)


def pages_of(log: HarLog) -> list[HarPage]:
    """All page loads that have entries; at least one."""
    opened, before = _listed(log) if log.pages else ([], [])
    if not any(page.entries for page in opened):
        opened, before = _navigations(log.entries)
    filled = [page for page in opened if page.entries]
    return [
        HarPage(number, page.id, page.title, tuple(page.entries), tuple(before) if number == 1 else ())
        for number, page in enumerate(filled, start=1)
    ]


def page_called(pages: Sequence[HarPage], wanted: str | None) -> HarPage:
    """The page with this id, or this number from 1; the first for None. Raises UsageError, which lists them."""
    if wanted is None:
        return pages[0]
    by_id = {page.id: page for page in reversed(pages)}
    if wanted in by_id:
        return by_id[wanted]
    if wanted.isdecimal() and 1 <= int(wanted[:9]) <= len(pages):
        return pages[int(wanted) - 1]
    raise UsageError(
        f"there is no page '{wanted}' in this HAR", fix=f"{nearest_hint(wanted, by_id)}, or 1..{len(pages)}"
    )


def _listed(log: HarLog) -> tuple[list[_Open], list[Entry]]:
    """The pages as listed, and the entries of none that are older."""
    opened = {mark.id: _Open(mark.id, mark.title) for mark in log.pages}
    in_time = sorted((mark for mark in log.pages if mark.started_ms is not None), key=_start_of)
    before: list[Entry] = []
    for entry in log.entries:
        if entry.pageref in opened:
            opened[entry.pageref].entries.append(entry)
        elif (mark := _loading_at(entry, in_time)) is not None:
            opened[mark.id].entries.append(entry)
        elif in_time and entry.started_ms is not None:
            before.append(entry)
        else:
            opened[log.pages[0].id].entries.append(entry)
    return list(opened.values()), before


def _start_of(mark: PageMark) -> float:
    return mark.started_ms or 0.0


def _loading_at(entry: Entry, in_time: Sequence[PageMark]) -> PageMark | None:
    """The page that had begun last when the entry was made."""
    if entry.started_ms is None:
        return None
    index = bisect_right(in_time, entry.started_ms, key=_start_of)
    if index == 0 and in_time and entry.started_ms >= _start_of(in_time[0]) - _BEFORE_MS:
        index = 1
    return in_time[index - 1] if index else None


def _navigations(entries: Sequence[Entry]) -> tuple[list[_Open], list[Entry]]:
    """A page for each navigation that is no redirect's; one with everything where none can be told."""
    opened: list[_Open] = []
    before: list[Entry] = []
    promised: set[str] = set()  # where redirects of the present page's navigation lead
    for entry in entries:
        if _is_navigation(entry):
            if entry.url not in promised:
                opened.append(_Open(f"page_{len(opened) + 1}", entry.url))
                promised = set()
            if target := redirect_target(entry):
                promised.add(target)
        (opened[-1].entries if opened else before).append(entry)
    if not opened:
        return [_Open("page_1", "", before)], []
    return opened, before


def _is_navigation(entry: Entry) -> bool:
    return (
        entry.request_header("sec-fetch-dest") == "document"
        and entry.request_header("sec-fetch-mode") == "navigate"
        and entry.request.method.upper() == "GET"
    )


def redirect_target(entry: Entry) -> str | None:
    """Where a redirect leads, without fragment; None for all other answers."""
    if not 300 <= entry.response.status < 400:
        return None
    location = entry.response_header("location") or entry.response.redirect_url
    try:
        return urljoin(entry.url, location).partition("#")[0] if location else None
    except ValueError:
        return None
