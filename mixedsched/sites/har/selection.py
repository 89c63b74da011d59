"""Which entries of a page load become exchanges, and why the others do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mixedsched.sites.har.entries import Entry
from mixedsched.sites.har.kinds import resource_type
from mixedsched.sites.har.pages import HarPage
from mixedsched.sites.recorded.facts import LeftOut
from mixedsched.sites.recorded.hosts import origin_of

NOT_MODIFIED = 304
_SWITCHING_PROTOCOLS = 101
_SPACE = 0x20  # and control characters below it
_SHOWN_URL_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Selected:
    """entries: in the order of the file. from_cache: how many of them came from the browser's cache, which a first visit asks
    the network for."""

    entries: tuple[Entry, ...]
    left_out: tuple[LeftOut, ...]
    from_cache: int


def select(page: HarPage) -> Selected:
    """Sort out what cannot be answered again: what failed, what was no HTTP, what only the browser's cache knows."""
    left_out = [_left_out(entry, "it was asked for before the page") for entry in page.before]
    fetched = {_key(entry) for entry in page.entries if not _why_not(entry) and not _is_cached(entry)}
    kept: list[Entry] = []
    from_cache: set[tuple[str, str]] = set()
    for entry in page.entries:
        why = _why_not(entry)
        if not why and _is_cached(entry):
            why = _why_not_cached(entry, fetched | from_cache)
            if not why:
                from_cache.add(_key(entry))
        if why:
            left_out.append(_left_out(entry, why))
        else:
            kept.append(entry)
    return Selected(tuple(kept), tuple(left_out), len(from_cache))


def reasons(left_out: Sequence[LeftOut]) -> dict[str, int]:
    """How many were left out for each reason, in the order of first appearance."""
    counts: dict[str, int] = {}
    for item in left_out:
        counts[item.why] = counts.get(item.why, 0) + 1
    return counts


def _key(entry: Entry) -> tuple[str, str]:
    return entry.request.method.upper(), entry.url


def _left_out(entry: Entry, why: str) -> LeftOut:
    url = entry.url if len(entry.url) <= _SHOWN_URL_CHARACTERS else f"{entry.url[:_SHOWN_URL_CHARACTERS]}…"
    return LeftOut(url, why, entry.request.method.upper() or "GET")


def _why_not(entry: Entry) -> str:
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


def _is_cached(entry: Entry) -> bool:
    return bool(entry.from_cache) or entry.response.status == NOT_MODIFIED


def _why_not_cached(entry: Entry, known: set[tuple[str, str]]) -> str:
    if _key(entry) in known:
        return "it came from the browser's cache, and was fetched before"
    if not entry.response.content.text and not entry.response.content.size_bytes:
        return "it came from the browser's cache, and neither its body nor its size is in the HAR"
    return ""
