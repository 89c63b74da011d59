"""Watched requests as exchanges, also those that only scrolling led to, and where in a document they were asked for."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mixedsched.errors import SiteError
from mixedsched.model.request import Kind
from mixedsched.sites.documents.references import base_of
from mixedsched.sites.recorded.coding import decode_text
from mixedsched.sites.recorded.records import FoundHow, LeftOut, RecordedExchange
from mixedsched.sites.recorded.references import position_of
from mixedsched.sites.recorded.selection import MAX_TOTAL_BYTES
from mixedsched.world.browser.observation import Initiator, Observation, ObservedRequest

_HOW: dict[str, FoundHow] = {
    "navigation": "navigation",
    "parser": "parser",
    "script": "script",
    "preload": "preload",
    "redirect": "redirect",
}


def exchange_of(request: ObservedRequest) -> RecordedExchange | LeftOut:
    """The request with its body, as this load had it; why there is none."""
    if request.status <= 0:
        return LeftOut(request.url, request.problem or "no answer came", request.method)
    if request.problem is not None and request.body is None:
        return LeftOut(request.url, request.problem, request.method)
    try:
        body = request.body.read_bytes() if request.body is not None else b""
    except OSError as error:
        return LeftOut(request.url, f"its body is gone: {error.strerror}", request.method)
    return RecordedExchange(
        method=request.method,
        url=request.url,
        status=request.status,
        headers=request.response_headers,
        mime=request.mime,
        kind=request.kind,
        body=body,
        encoding=request.encoding if body else None,
        asked_ms=max(0.0, request.asked_ms),
        first_byte_ms=request.first_byte_ms,
        complete_ms=request.complete_ms,
        request_headers=request.request_headers,
        found_by_url=request.initiator.url,
        found_how=_HOW.get(request.initiator.type),
        priority=request.priority,
        incremental=request.incremental,
        flags=request.flags,
    )


_EXCHANGES_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Scrolled:
    """The exchanges that scrolling led to."""

    exchanges: tuple[RecordedExchange, ...]  # what there is to serve, each address once
    left_out: tuple[LeftOut, ...]


def without_scrolling(observation: Observation) -> Observation:
    """The load as it would be without scrolling."""
    return replace(observation, requests=tuple(item for item in observation.requests if not item.after_scroll))


def asked_when_scrolled(
    observations: Sequence[Observation], known: Collection[tuple[str, str]], known_bytes: int
) -> Scrolled:
    """The exchanges that scrolling led to in any of the loads, in the order of the requests.

    known: method and address of what the loads asked for by themselves, known_bytes: the size of its bodies. What has no room
    beside these is left out: the page itself comes first.
    """
    exchanges: dict[tuple[str, str], RecordedExchange] = {}
    left_out: dict[tuple[str, str], LeftOut] = {}
    for request in (item for observation in observations for item in observation.requests if item.after_scroll):
        key = request.method, request.url
        if key in known or key in exchanges:
            continue
        answer = exchange_of(request)
        has_room = len(exchanges) < _EXCHANGES_MAX
        if isinstance(answer, RecordedExchange) and has_room and known_bytes + len(answer.body) <= MAX_TOTAL_BYTES:
            exchanges[key] = answer
            known_bytes += len(answer.body)
            left_out.pop(key, None)
        else:
            no_room = LeftOut(request.url, "there is no room for all that scrolling leads to", request.method)
            left_out.setdefault(key, answer if isinstance(answer, LeftOut) else no_room)
    return Scrolled(tuple(exchanges.values()), tuple(left_out.values()))


def with_places(exchanges: Iterable[RecordedExchange], initiators: Mapping[str, Initiator]) -> list[RecordedExchange]:
    """The exchanges, with `found_at` where a document's line and column are all that tells it.

    initiators: of each address, as the browser told.
    """
    listed = list(exchanges)
    texts = {item.url: _text_of(item) for item in listed if item.kind is Kind.DOCUMENT}
    return [_placed(item, texts, initiators.get(item.url)) for item in listed]


def _placed(item: RecordedExchange, texts: Mapping[str, str], initiator: Initiator | None) -> RecordedExchange:
    text = texts.get(initiator.url or "", "") if initiator is not None else ""
    if initiator is None or initiator.line is None or not text or initiator.url is None:
        return item
    if position_of(item.url, text, base_of(text, initiator.url)) is not None:
        return item
    return replace(item, found_at=offset_of(text, initiator.line, initiator.column or 0))


def offset_of(text: str, line: int, column: int) -> int:
    """The character at a line and column, both counted from 0; the text's end for what is beyond it."""
    at = 0
    for _ in range(line):
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        at = end + 1
    return min(at + column, len(text))


def _text_of(item: RecordedExchange) -> str:
    try:
        return decode_text(item.body, item.encoding)
    except SiteError:
        return ""
