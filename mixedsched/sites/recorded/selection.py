"""Which exchanges a site is made of: those of the page, those that it has besides, and those that it must do without."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import urldefrag, urljoin

from mixedsched.errors import SiteError
from mixedsched.model.request import Kind
from mixedsched.sites.recorded.coding import coding_of, decode_body
from mixedsched.sites.recorded.names import origin_of
from mixedsched.sites.recorded.records import LeftOut, RecordedExchange

MAX_EXCHANGES = 10_000
MAX_TOTAL_BYTES = 200_000_000

_OK, _PARTIAL = 200, 206
_CANNOT_BE_SERVED = {
    304: "the body was in the recorder's cache",
    412: "it answers a condition",
    416: "it answers a range",
}
_RANGE = re.compile(r"bytes\s+(\d+)-(\d+)/(\d+|\*)", re.IGNORECASE)
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
    left_out: list[LeftOut] = []
    notes: list[str] = []
    usable = [kept for item in exchanges if (kept := _usable(item, left_out, notes)) is not None]
    once, doubled = _once(usable)
    gets = [item for item in once if item.method == "GET"]
    main = _main_of(gets, url, left_out)
    way = _way_to(main, gets)
    followers = [item for item in gets if item is not main and item not in way]
    extra = [kept for item in more if (kept := _usable(item, left_out, notes)) is not None]
    others = [*(item for item in once if item.method != "GET"), *extra]
    known = {_authority(item) for item in (main, *followers, *others)}
    left_out += [LeftOut(item.url, _ONLY_A_REDIRECT) for item in way if _authority(item) not in known]
    besides = (*(item for item in way if _authority(item) in known), *others)
    return Selection(main, (main, *followers), besides, tuple(left_out), doubled, tuple(notes))


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


def _usable(item: RecordedExchange, left_out: list[LeftOut], notes: list[str]) -> RecordedExchange | None:
    """An exchange as it can be served; None, with the reason noted, if it cannot."""
    item = replace(item, url=urldefrag(item.url).url, method=item.method.upper())
    why = _why_unusable(item)
    if why:
        left_out.append(LeftOut(item.url, why, item.method))
        return None
    if item.status == _PARTIAL:
        return _as_whole(item, left_out, notes)
    try:
        coding = coding_of(item.encoding) if item.body else None
        decode_body(item.body, coding)
    except SiteError as error:
        left_out.append(LeftOut(item.url, str(error), item.method))
        return None
    return replace(item, encoding=coding)


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
    if item.status // 100 == 3 and not item.header("location"):
        return f"status {item.status} without a location"
    return ""


def _as_whole(item: RecordedExchange, left_out: list[LeftOut], notes: list[str]) -> RecordedExchange | None:
    """A partial response as a whole one, if it begins at the beginning."""
    found = _RANGE.match("".join(item.header("content-range")[:1]))
    if found is None or int(found[1]) != 0 or item.encoding:
        left_out.append(LeftOut(item.url, "only a part from its middle was recorded", item.method))
        return None
    if found[3] != "*" and int(found[3]) > len(item.body):
        notes.append(
            f"{item.url}: the first {len(item.body)} of {found[3]} bytes were recorded, and are all that is served"
        )
    return replace(item, status=_OK)


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
    return not later.header("content-range")  # the whole response was made of a partial one


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
    at = by_url.get(urldefrag(url).url)
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
    targets = []
    for value in item.header("location"):
        with suppress(ValueError):  # half an IPv6 address
            targets.append(urldefrag(urljoin(item.url, value.strip())).url)
    return targets
