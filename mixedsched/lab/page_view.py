"""One page load as charts need it: requests joined with what the server logged and when their bytes arrived."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from mixedsched.lab.model import Arrival, Run
from mixedsched.model.request import Kind

T = TypeVar("T")
_Address = tuple[str, str]  # host, and path with query

SAME_TIME_MS = 60.0  # by which the browser's two accounts of one request may differ

_KIND_BY_RESOURCE_TYPE: Mapping[str, Kind] = {
    "document": Kind.DOCUMENT,
    "stylesheet": Kind.STYLESHEET,
    "font": Kind.FONT,
    "script": Kind.SCRIPT,
    "image": Kind.IMAGE,
    "media": Kind.MEDIA,
    "texttrack": Kind.MEDIA,
    "xhr": Kind.XHR,
    "fetch": Kind.XHR,
    "eventsource": Kind.XHR,
}


@dataclass(frozen=True, slots=True)
class SeenResponse:
    """One response of a page load; times in ms since the navigation started."""

    name: str  # path, with the host in front where it is not the page's own
    url: str
    path: str
    kind: Kind
    signal: str  # what the browser asked for, such as "u=2, i"; "" when the server's log has no such request
    chromium_priority: str
    placement: str  # where the scheduler put it; "" likewise
    protocol: str
    size_bytes: float
    start_ms: float  # the page asked for it
    request_ms: float  # the request left
    end_ms: float
    finished: bool
    arrivals: tuple[Arrival, ...]  # when its bytes came, with the same zero; empty without a network log
    asked_by: str = ""  # name of what asked for it; "" if that was not recorded
    asked_how: str = ""  # by DevTools' word: parser, script, preload, preflight, other
    # (name, bytes) of what came between its request and its first byte, most first.
    ahead: tuple[tuple[str, int], ...] = ()

    @property
    def first_byte_ms(self) -> float | None:
        """When its first bytes came, within the request's own time; None without a network log."""
        if not self.arrivals:
            return None
        return min(max(self.arrivals[0].from_ms, self.request_ms), self.end_ms)


def responses_of(run: Run) -> tuple[SeenResponse, ...]:
    """The responses of a run in the order in which they were requested. Missing fields become zero or empty.

    The n-th request of an address is joined with the n-th log entry of that address. Arrivals count from the first QUIC event,
    which comes with the first request: that is the shift between both clocks (a few ms of doubt).
    """
    requests = _requests(run)
    logged = _grouped((_address(entry.get("authority"), entry.get("path")), entry) for entry in run.placements)
    own_host = urlsplit(str(requests[0].get("url", ""))).netloc if requests else ""
    found = []
    for item, arrivals in zip(requests, _arrivals_of(requests, run.arrivals), strict=True):
        entries = logged.get(_address_of(item, logged)) or [{}]
        found.append(_response(item, own_host, entries.pop(0), arrivals))
    return tuple(replace(item, ahead=_ahead_of(item, found)) for item in found)


def _ahead_of(response: SeenResponse, among: Sequence[SeenResponse]) -> tuple[tuple[str, int], ...]:
    """What the connection carried while the response waited for its first byte."""
    until_ms = response.first_byte_ms
    if until_ms is None:
        return ()
    sizes: Counter[str] = Counter()
    for item in among:
        if item is not response:
            came = (run.size_bytes for run in item.arrivals if response.request_ms < run.to_ms <= until_ms)
            sizes[item.name] += sum(came)
    return tuple(
        sorted(((name, size) for name, size in sizes.items() if size), key=lambda entry: (-entry[1], entry[0]))
    )


def losses_of(run: Run) -> tuple[tuple[float, int], ...]:
    """(when it showed, in ms since the navigation started; packets) of all losses on the way to the browser, in order."""
    shift_ms = _shift_ms(_requests(run))
    return tuple(sorted((at_ms + shift_ms, packets) for item in run.quic for at_ms, packets in item.losses))


def hero_of(run: Run, responses: Sequence[SeenResponse]) -> SeenResponse | None:
    """The response with the image of the largest paint; None where that is text, or is not known.

    It is the image that was loaded just when, by the browser's account, the one of the largest paint was; where there is none,
    the first that the site's manifest flags so.
    """
    observed: Mapping[str, Any] = run.page_load.get("observed") or {}
    begin_ms, end_ms = observed.get("lcp_load_start_ms"), observed.get("lcp_load_end_ms")
    if not isinstance(begin_ms, int | float) or not isinstance(end_ms, int | float):
        return None
    images = [item for item in responses if item.kind in {Kind.IMAGE, Kind.MEDIA, Kind.OTHER}]
    apart_ms = [abs(item.request_ms - begin_ms) + abs(item.end_ms - end_ms) for item in images]
    if images and min(apart_ms) <= 2 * SAME_TIME_MS:
        return images[apart_ms.index(min(apart_ms))]
    return next((item for item in responses if item.url in run.heroes), None)


def _requests(run: Run) -> list[Mapping[str, Any]]:
    """In the order in which they were made."""
    return sorted(
        (item for item in run.page_load.get("requests") or () if isinstance(item, Mapping)),
        key=lambda item: (_sent_ms(item), _number(item.get("start_ms"))),
    )


def _shift_ms(requests: Sequence[Mapping[str, Any]]) -> float:
    return min(map(_sent_ms, requests), default=0.0)


def _sent_ms(item: Mapping[str, Any]) -> float:
    """When a request left; for one that never did, when the page asked for it."""
    sent_ms = item.get("request_ms")
    return _number(item.get("start_ms") if sent_ms is None else sent_ms)


def path_of(url: str) -> str:
    """Path and query of a URL, as the server logs it; the text itself where it is no URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if not parts.netloc:
        return url
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _response(
    item: Mapping[str, Any], own_host: str, entry: Mapping[str, Any], arrivals: tuple[Arrival, ...]
) -> SeenResponse:
    url, request_ms = _url_of(item), _sent_ms(item)
    logged_kind = str(entry.get("kind", ""))
    by_type = _KIND_BY_RESOURCE_TYPE.get(str(item.get("resource_type", "")).lower(), Kind.OTHER)
    return SeenResponse(
        name=_name_of(url, own_host),
        url=url,
        path=path_of(url),
        kind=Kind(logged_kind) if logged_kind in set(Kind) else by_type,
        signal=str(entry.get("signal") or ""),
        chromium_priority=str(item.get("priority") or entry.get("chromium_priority") or ""),
        placement=str(entry.get("placement") or ""),
        protocol=str(item.get("protocol") or ""),
        size_bytes=_number(item.get("transfer_bytes")) or _number(entry.get("body_bytes")),
        start_ms=min(_number(item.get("start_ms")), request_ms),
        request_ms=request_ms,
        end_ms=max(_number(item.get("end_ms")), request_ms),
        finished=bool(item.get("finished", True)),
        arrivals=arrivals,
        asked_by=_name_of(str(item["asked_by"]), own_host) if item.get("asked_by") else "",
        asked_how=str(item.get("asked_how") or ""),
    )


def _name_of(url: str, own_host: str) -> str:
    """Path and query, with the host in front where it is not the page's own."""
    host = url.split("://", 1)[-1].split("/", 1)[0]
    return path_of(url) if host == own_host else f"{host}{path_of(url)}"


def _host_of(url: str) -> str:
    """The host of a URL, which may lack its scheme; "" where there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def _url_of(item: Mapping[str, Any]) -> str:
    return str(item.get("url", ""))


def _address(authority: object, path: object) -> _Address:
    """Of a log entry or an arrival."""
    return _host_of(f"//{authority or ''}"), path_of(str(path or ""))


def _address_of(item: Mapping[str, Any], known: Collection[_Address]) -> _Address:
    """Of a request; without the host where only the path is known, as in log entries and arrivals of earlier versions."""
    url = _url_of(item)
    address = _host_of(url), path_of(url)
    return address if address in known else ("", address[1])


def _arrivals_of(requests: Sequence[Mapping[str, Any]], arrivals: Iterable[Arrival]) -> list[tuple[Arrival, ...]]:
    """For each request, the arrivals of its address until that is asked for again, with the same zero as the requests."""
    shift_ms = _shift_ms(requests)
    shifted = (replace(item, from_ms=item.from_ms + shift_ms, to_ms=item.to_ms + shift_ms) for item in arrivals)
    came = _grouped((_address(item.authority, item.path), item) for item in shifted)
    places = _grouped((_address_of(item, came), place) for place, item in enumerate(requests))
    found: list[list[Arrival]] = [[] for _ in requests]
    for address, asked in places.items():
        sent_ms = [_sent_ms(requests[place]) for place in asked]
        for arrival in sorted(came.get(address, ()), key=lambda item: item.from_ms):
            found[asked[max(0, bisect_right(sent_ms, arrival.from_ms) - 1)]].append(arrival)
    return [tuple(items) for items in found]


def _grouped(parts: Iterable[tuple[_Address, T]]) -> dict[_Address, list[T]]:
    """The parts of each address, in their order."""
    found: dict[_Address, list[T]] = {}
    for address, part in parts:
        found.setdefault(address, []).append(part)
    return found
