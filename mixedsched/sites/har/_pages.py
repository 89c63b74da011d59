"""The page loads in a HAR, which entries are of which, and which of these become exchanges.

A HAR lists its pages and each entry names its own; those that name none count for the page that was loading at their time.
Proxies such as mitmproxy list no pages: there every navigation of a window begins one.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from mixedsched.errors import UsageError, nearest_hint
from mixedsched.sites.har._entries import HarEntry, HarLog, PageMark
from mixedsched.sites.har._requests import resource_type
from mixedsched.sites.recorded.names import origin_of
from mixedsched.sites.recorded.records import LeftOut
from mixedsched.sites.site.paths import absolute

_BEFORE_MS = 1000.0  # an entry without a page may be this much older than its page: clocks differ


@dataclass(frozen=True, slots=True)
class HarPage:
    """One page load."""

    number: int
    """Counted from 1."""
    id: str
    title: str
    entries: tuple[HarEntry, ...]
    """All entries, in the order of the file."""
    before: tuple[HarEntry, ...] = ()
    """Entries older than all pages, in the first."""


@dataclass(slots=True)
class _Open:
    id: str
    title: str
    entries: list[HarEntry] = field(default_factory=list)


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
    found = by_id.get(wanted) or next((page for page in pages if str(page.number) == wanted), None)
    if found is not None:
        return found
    raise UsageError(
        f"there is no page '{wanted}' in this HAR", fix=f"{nearest_hint(wanted, by_id)}, or 1..{len(pages)}"
    )


def _listed(log: HarLog) -> tuple[list[_Open], list[HarEntry]]:
    """The pages as listed, and the entries of none that are older."""
    opened = {mark.id: _Open(mark.id, mark.title) for mark in log.pages}
    in_time = sorted((mark for mark in log.pages if mark.started_ms is not None), key=_start_of)
    before: list[HarEntry] = []
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


def _loading_at(entry: HarEntry, in_time: Sequence[PageMark]) -> PageMark | None:
    """The page that had begun last when the entry was made."""
    if entry.started_ms is None:
        return None
    index = bisect_right(in_time, entry.started_ms, key=_start_of)
    if index == 0 and in_time and entry.started_ms >= _start_of(in_time[0]) - _BEFORE_MS:
        index = 1
    return in_time[index - 1] if index else None


def _navigations(entries: Sequence[HarEntry]) -> tuple[list[_Open], list[HarEntry]]:
    """A page for each navigation that does not follow a redirect; one with everything if there is none."""
    opened: list[_Open] = []
    before: list[HarEntry] = []
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


def _is_navigation(entry: HarEntry) -> bool:
    return (
        entry.request_header("sec-fetch-dest") == "document"
        and entry.request_header("sec-fetch-mode") == "navigate"
        and entry.request.method.upper() == "GET"
    )


def redirect_target(entry: HarEntry) -> str | None:
    """The target of a redirect, without fragment; None for all other answers."""
    if not 300 <= entry.response.status < 400:
        return None
    location = entry.response_header("location") or entry.response.redirect_url
    return (absolute(location, entry.url) or None) if location else None


NOT_MODIFIED = 304
_SWITCHING_PROTOCOLS = 101
_SPACE = 0x20  # and control characters below it
_SHOWN_URL_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Selected:
    """entries: in the order of the file. from_cache: how many of them came from the browser's cache, which a first visit asks
    the network for."""

    entries: tuple[HarEntry, ...]
    left_out: tuple[LeftOut, ...]
    from_cache: int


def select(page: HarPage) -> Selected:
    """Sort out what cannot be answered again: what failed, what was no HTTP, what only the browser's cache knows."""
    left_out = [_left_out(entry, "it was asked for before the page") for entry in page.before]
    known = {_key(entry) for entry in page.entries if not _why_not(entry) and not _is_cached(entry)}
    kept: list[HarEntry] = []
    from_cache = 0
    for entry in page.entries:
        why, is_cached = _why_not(entry), _is_cached(entry)
        if not why and is_cached:
            why = _why_not_cached(entry, known)
        if why:
            left_out.append(_left_out(entry, why))
            continue
        kept.append(entry)
        known.add(_key(entry))
        from_cache += is_cached
    return Selected(tuple(kept), tuple(left_out), from_cache)


def _key(entry: HarEntry) -> tuple[str, str]:
    return entry.request.method.upper(), entry.url


def _left_out(entry: HarEntry, why: str) -> LeftOut:
    url = entry.url if len(entry.url) <= _SHOWN_URL_CHARACTERS else f"{entry.url[:_SHOWN_URL_CHARACTERS]}…"
    return LeftOut(url, why, entry.request.method.upper() or "GET")


def _why_not(entry: HarEntry) -> str:
    scheme = entry.url.partition(":")[0].lower()
    status, type_name = entry.response.status, resource_type(entry)
    if scheme in {"ws", "wss"} or type_name == "websocket" or status == _SWITCHING_PROTOCOLS:
        return "it is a web socket"
    if scheme not in {"http", "https"}:
        return f"{scheme}: addresses are not fetched from a server"
    if origin_of(entry.url) is None or any(ord(sign) <= _SPACE for sign in entry.url):
        return "its address is malformed"
    if type_name == "preflight" or entry.request.method.upper() == "OPTIONS":
        return "the server answers CORS preflights by itself"
    if status == 0:
        return "it was blocked or failed: there is no response"
    return ""


def _is_cached(entry: HarEntry) -> bool:
    return bool(entry.from_cache) or entry.response.status == NOT_MODIFIED


def _why_not_cached(entry: HarEntry, known: set[tuple[str, str]]) -> str:
    if _key(entry) in known:
        return "it came from the browser's cache, and was fetched before"
    if not entry.response.content.text and not entry.response.content.size_bytes:
        return "it came from the browser's cache, and neither its body nor its size is in the HAR"
    return ""
