"""Which exchanges a site is made of: those of the page, those that it has besides, and those that it must do without."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import quote

from mixedsched.errors import SiteError
from mixedsched.model.request import Kind
from mixedsched.sites.recorded.coding import DECODED_BYTES_MAX, coding_of, decode_body
from mixedsched.sites.recorded.names import origin_of
from mixedsched.sites.recorded.records import LeftOut, RecordedExchange
from mixedsched.sites.site.paths import absolute

MAX_EXCHANGES = 10_000
MAX_TOTAL_BYTES = 200_000_000

_OK, _PARTIAL = 200, 206
_WITHOUT_BODY = frozenset({204, 205})
_CANNOT_BE_SERVED = {
    304: "the body was in the recorder's cache",
    412: "it answers a condition",
    416: "it answers a range",
}
_UNCHANGED = "\t\n" + "".join(map(chr, range(0x20, 0x7F)))
_RANGE = re.compile(r"bytes\s+([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18}|\*)(?![0-9])", re.IGNORECASE)
_ONLY_A_REDIRECT = "a redirect to the page, from a host that has nothing else: the copy begins at the page"
_LISTED_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Selection:
    """The exchanges that a site is made of."""

    main: RecordedExchange  # the page's document
    page: tuple[RecordedExchange, ...]  # GETs of the page, main first, in the order asked; every address once
    besides: tuple[RecordedExchange, ...]  # redirects that led to the document, requests with other methods
    left_out: tuple[LeftOut, ...]
    doubled: int  # requests for what was asked before
    notes: tuple[str, ...]


def select(exchanges: Sequence[RecordedExchange], url: str, more: Sequence[RecordedExchange] = ()) -> Selection:
    """Sort the exchanges of a load out. url: of the page, before or after its redirects. more: what is besides the page anyway.

    Raises SiteError if there are none, too many, or too many bytes, and if none of them is the page's document.
    """
    _check_bounds([*exchanges, *more])
    sieve = _Sieve()
    once, doubled = _once(sieve.usable(exchanges))
    gets = [item for item in once if item.method == "GET"]
    main = _main_of(gets, url, sieve.left_out)
    way = _way_to(main, gets)
    until_then = {main.url, *(item.url for item in way)}
    followers = [item for item in gets if item.url not in until_then]
    others = [*(item for item in once if item.method != "GET"), *sieve.usable(more)]
    known = {_authority(item) for item in (main, *followers, *others)}
    left_out = (
        *sieve.left_out,
        *(LeftOut(item.url, _ONLY_A_REDIRECT) for item in way if _authority(item) not in known),
    )
    besides = (*(item for item in way if _authority(item) in known), *others)
    notes = tuple(note for item in (main, *followers, *others) if (note := _note_on_part(item)))
    return Selection(main, (main, *followers), besides, left_out, doubled, notes)


def _check_bounds(exchanges: Sequence[RecordedExchange]) -> None:
    if not exchanges:
        raise SiteError("the recording is empty", why="it has no exchanges")
    if len(exchanges) > MAX_EXCHANGES:
        raise SiteError(f"the recording has {len(exchanges)} exchanges", why=f"a site can have {MAX_EXCHANGES}")
    total_bytes = sum(len(item.body) for item in exchanges)
    if total_bytes > MAX_TOTAL_BYTES:
        raise SiteError(
            f"the recording has {total_bytes / 1e6:.0f} MB of bodies",
            why=f"a site can have {MAX_TOTAL_BYTES / 1e6:.0f}",
        )


class _Sieve:
    """Keeps exchanges as they can be served. left_out: those that cannot, with the reason."""

    def __init__(self) -> None:
        self.left_out: list[LeftOut] = []
        self._room_bytes = DECODED_BYTES_MAX  # for all that was sent compressed

    def usable(self, exchanges: Sequence[RecordedExchange]) -> list[RecordedExchange]:
        return [kept for item in exchanges if (kept := self._usable(item)) is not None]

    def _usable(self, item: RecordedExchange) -> RecordedExchange | None:
        item = replace(item, url=item.url.partition("#")[0], method=item.method.upper(), headers=_in_ascii(item))
        if item.status in _WITHOUT_BODY:
            item = replace(item, body=b"")
        why = _why_unusable(item)
        if not why and item.body and item.status != _PARTIAL:
            why = self._why_undecodable(item)
        if why:
            self.left_out.append(LeftOut(item.url, why, item.method))
            return None
        status = _OK if item.status == _PARTIAL else item.status
        return replace(item, status=status, encoding=coding_of(item.encoding) if item.body else None)

    def _why_undecodable(self, item: RecordedExchange) -> str:
        try:
            if coding_of(item.encoding) is not None:
                self._room_bytes -= len(decode_body(item.body, item.encoding, self._room_bytes))
        except SiteError as error:
            return str(error)
        return ""


def _in_ascii(item: RecordedExchange) -> tuple[tuple[str, str], ...]:
    """The header fields, with the target of a redirect as browsers read it: what is not printable ASCII is percent-encoded."""
    return tuple((name, _encoded(value) if name.lower() == "location" else value) for name, value in item.headers)


def _encoded(location: str) -> str:
    data = location.encode("utf-8", "replace")
    with suppress(UnicodeError):  # unless each byte was taken for a character
        data = location.encode("latin-1").decode().encode()
    return quote(data, safe=_UNCHANGED)


def _why_unusable(item: RecordedExchange) -> str:
    times = (item.asked_ms, item.first_byte_ms, item.complete_ms)
    if any(time is not None and not (math.isfinite(time) and time >= 0) for time in times):
        return "its times are not times"
    if origin_of(item.url) is None:
        return "it is not an http or https address"
    if item.method not in _LISTED_METHODS:
        return f"requests with {item.method} are not kept"
    if not 200 <= item.status <= 599:
        return "it failed" if item.status <= 0 else f"status {item.status} ends no exchange"
    if item.status in _CANNOT_BE_SERVED:
        return f"status {item.status}: {_CANNOT_BE_SERVED[item.status]}"
    if item.status == _PARTIAL and not _is_beginning(item):
        return "only a part from its middle was recorded"
    if is_redirect(item) and not any(value.strip() for value in item.header("location")):
        return f"status {item.status} without a location"
    return ""


def _is_beginning(item: RecordedExchange) -> bool:
    """Whether a partial response begins at the beginning, so that it can be served as a whole one."""
    found = _range_of(item)
    return found is not None and int(found[1]) == 0 and not item.encoding


def _note_on_part(item: RecordedExchange) -> str:
    """What is missing of a response that was partial; "" for all others."""
    found = _range_of(item)
    if found is None or found[2] == "*" or int(found[2]) <= len(item.body):
        return ""
    return f"{item.url}: the first {len(item.body)} of {found[2]} bytes were recorded, and are all that is served"


def _range_of(item: RecordedExchange) -> re.Match[str] | None:
    return _RANGE.match("".join(item.header("content-range")[:1]))


def _once(exchanges: Sequence[RecordedExchange]) -> tuple[list[RecordedExchange], int]:
    """Every method and address once, at the place and time of the first request, with the last answer that succeeded.

    So it is in the study: its server gives the last 200 that was recorded, whatever was asked for first.
    """
    kept: dict[tuple[str, str], RecordedExchange] = {}
    for item in exchanges:
        key = item.method, item.url
        first = kept.setdefault(key, item)
        if first is not item and _supersedes(item, first):
            kept[key] = _answered_as(first, item)
    return list(kept.values()), len(exchanges) - len(kept)


def _supersedes(later: RecordedExchange, first: RecordedExchange) -> bool:
    """Whether a later answer stands for the first: not if it is less than that, or what a script made of the document."""
    if later.status != _OK or first.status != _OK:
        return later.status == _OK
    if first.kind is Kind.DOCUMENT and later.kind is not Kind.DOCUMENT:
        return False
    if first.body_origin == "recorded" and later.body_origin != "recorded":
        return False
    # The whole response was made of a partial one; of several that begin at the beginning the longest has the most.
    return not later.header("content-range") or bool(
        first.header("content-range") and len(later.body) > len(first.body)
    )


def _answered_as(first: RecordedExchange, later: RecordedExchange) -> RecordedExchange:
    """The first request with a later answer. A first one that failed told nothing but when it was asked."""
    if first.status != _OK:
        return replace(later, asked_ms=first.asked_ms)
    return replace(
        first,
        headers=later.headers,
        mime=later.mime,
        body=later.body,
        encoding=later.encoding,
        body_origin=later.body_origin,
    )


def _main_of(gets: Sequence[RecordedExchange], url: str, left_out: Sequence[LeftOut]) -> RecordedExchange:
    """The page's document: what is at `url` after redirects, else the first document."""
    by_url = {item.url: item for item in gets}
    at = by_url.get(url.partition("#")[0])
    for _ in range(len(gets)):
        if at is None or not is_redirect(at):
            break
        at = next((by_url.get(target) for target in redirect_targets(at)), None)
    if at is not None and not is_redirect(at):
        return at
    document = next((item for item in gets if item.kind is Kind.DOCUMENT and not is_redirect(item)), None)
    if document is None:
        failed = next((f"{item.url}: {item.why}" for item in left_out), "nothing of it is an HTML document")
        raise SiteError("the recording lacks the page's document", why=failed)
    return document


def _way_to(main: RecordedExchange, gets: Sequence[RecordedExchange]) -> list[RecordedExchange]:
    """The redirects that led to the document, in their order."""
    way: list[RecordedExchange] = []
    wanted = main.url
    for item in reversed(gets[: gets.index(main)]):
        if is_redirect(item) and wanted in redirect_targets(item):
            way.insert(0, item)
            wanted = item.url
    return way


def _authority(item: RecordedExchange) -> str:
    origin = origin_of(item.url)
    return origin.authority if origin is not None else ""


def is_redirect(item: RecordedExchange) -> bool:
    """Whether it leads elsewhere."""
    return item.status // 100 == 3


def redirect_targets(item: RecordedExchange) -> list[str]:
    """The targets of a redirect: absolute addresses without fragments. What is no address leads nowhere."""
    return [target for value in item.header("location") if (target := absolute(value, item.url))]
