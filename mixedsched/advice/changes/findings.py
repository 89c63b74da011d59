"""Resources that come too late, and why: bytes of less important ones in between, or a late discovery. Pure.

Late bytes of a resource are bytes of less important ones that arrived while it was pending. The first round trip after its
request does not count: what arrives then was on its way before the server could know.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from mixedsched.advice.changes.change import Key
from mixedsched.advice.changes.look import Look, PaintRole, SeenResource
from mixedsched.lab.model import Arrival
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import Kind

IMPORTANT = (PaintRole.BLOCKING, PaintRole.HERO, PaintRole.FONT)
MIN_LATE_BYTES = 10_000  # fewer are some eight packets: no order of delivery would be noticed
MIN_LATE_RATIO = 0.1  # of the resource's own size
LATE_DISCOVERY_RTTS = 1.5  # after the document's first byte; a resource that the document names takes less than one
HEAVY_BLOCKING_BYTES = 20_000
NAMED_MOST = 4  # intruders that are named


class Reason(StrEnum):
    """Why a resource is late, or makes others late."""

    CROWDED = "crowded"  # bytes of others came in between
    FOUND_LATE = "found_late"  # it was asked for late
    BLOCKS = "blocks"  # the first paint waits for it


@dataclass(frozen=True, slots=True)
class Intruder:
    """A less important resource whose bytes came while another was pending."""

    key: Key
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LateResource:
    """One resource that comes too late, or makes others do so. Times in ms since navigation, of one load."""

    key: Key
    kind: Kind
    role: PaintRole
    reason: Reason
    size_bytes: int
    asked_ms: float  # the page needs it
    requested_ms: float  # the request left
    first_byte_ms: float
    complete_ms: float
    late_bytes: int = 0  # of all intruders together
    intruders: tuple[Intruder, ...] = ()  # largest first
    chain: tuple[Key, ...] = ()  # what had to come before it was known, the document first
    cost_ms: float = 0.0  # about how much sooner it could be there


def findings_of(look: Look, rate_bps: float | None) -> list[LateResource]:
    """All that comes too late in a load: what matters most first, then what costs most.

    rate_bps: of the link to the browser, None if it has no limit.
    """
    found = [
        item
        for seen in look.seen
        for item in (_crowded(look, seen, rate_bps), _found_late(look, seen), _blocks(look, seen, rate_bps))
        if item is not None
    ]
    return sorted(found, key=lambda item: (item.role, -item.cost_ms, item.key))


def late_arrivals(look: Look) -> dict[Key, tuple[Arrival, ...]]:
    """Arrivals of less important resources while something more important was pending, by resource. For the waterfall."""
    important = [item for item in look.seen if item.role in IMPORTANT]
    found: dict[Key, tuple[Arrival, ...]] = {}
    for item in look.seen:
        windows = [_pending(look, other) for other in important if item.role.yields_to(other.role)]
        late = tuple(
            arrival for arrival in item.response.arrivals if any(_share(arrival, window) >= 0.5 for window in windows)
        )
        if late:
            found[item.key] = late
    return found


def _crowded(look: Look, seen: SeenResource, rate_bps: float | None) -> LateResource | None:
    if seen.role not in IMPORTANT:
        return None
    window = _pending(look, seen)
    amounts = {
        item.key: round(sum(arrival.size_bytes * _share(arrival, window) for arrival in item.response.arrivals))
        for item in look.seen
        if item.role.yields_to(seen.role)
    }
    late_bytes = sum(amounts.values())
    if late_bytes < max(MIN_LATE_BYTES, MIN_LATE_RATIO * seen.response.size_bytes):
        return None
    largest = sorted((key for key, size_bytes in amounts.items() if size_bytes), key=lambda key: (-amounts[key], key))
    cost_ms = late_bytes * 8000 / rate_bps if rate_bps else 0.0
    return _finding(
        seen,
        Reason.CROWDED,
        late_bytes=late_bytes,
        intruders=tuple(Intruder(key, amounts[key]) for key in largest),
        cost_ms=min(cost_ms, max(0.0, window[1] - window[0])),
    )


def _found_late(look: Look, seen: SeenResource) -> LateResource | None:
    """A resource that was asked for long after the document had named all that it names itself."""
    if seen.role not in {PaintRole.HERO, PaintRole.FONT}:
        return None
    known_ms = _document_first_byte_ms(look)
    waited_ms = seen.response.request_ms - known_ms
    if waited_ms < LATE_DISCOVERY_RTTS * look.rtt_ms:
        return None
    return _finding(seen, Reason.FOUND_LATE, chain=_chain(look, seen), cost_ms=waited_ms)


def _blocks(look: Look, seen: SeenResource, rate_bps: float | None) -> LateResource | None:
    """A script that holds up the first paint and is large enough to matter."""
    heavy = seen.role is PaintRole.BLOCKING and seen.resource.kind is Kind.SCRIPT
    if not heavy or seen.response.size_bytes < HEAVY_BLOCKING_BYTES:
        return None
    others = [item.response.end_ms for item in look.seen if item.role <= PaintRole.BLOCKING and item is not seen]
    cost_ms = seen.response.end_ms - max(others, default=0.0)
    if cost_ms <= 0 and rate_bps:
        # It shares the link with the last one.
        cost_ms = min(seen.response.size_bytes * 8000 / rate_bps, seen.response.end_ms) / 2
    return _finding(seen, Reason.BLOCKS, cost_ms=max(0.0, cost_ms))


def _finding(
    seen: SeenResource,
    reason: Reason,
    *,
    cost_ms: float,
    late_bytes: int = 0,
    intruders: tuple[Intruder, ...] = (),
    chain: tuple[Key, ...] = (),
) -> LateResource:
    response = seen.response
    first = response.first_byte_ms
    return LateResource(
        key=seen.key,
        kind=seen.resource.kind,
        role=seen.role,
        reason=reason,
        size_bytes=round(response.size_bytes),
        asked_ms=response.start_ms,
        requested_ms=response.request_ms,
        first_byte_ms=response.request_ms if first is None else first,
        complete_ms=response.end_ms,
        late_bytes=late_bytes,
        intruders=intruders,
        chain=chain,
        cost_ms=cost_ms,
    )


def _pending(look: Look, seen: SeenResource) -> tuple[float, float]:
    """When the server knew of a request and had not finished it, as seen by the browser; in ms."""
    return seen.response.request_ms + look.rtt_ms, seen.response.end_ms


def _share(arrival: Arrival, window: tuple[float, float]) -> float:
    """How much of a run of arrivals lies in a window, 0 to 1; its bytes are taken to come evenly."""
    begin, end = window
    length_ms = arrival.to_ms - arrival.from_ms
    if length_ms <= 0:
        return 1.0 if begin <= arrival.from_ms <= end else 0.0
    return max(0.0, min(end, arrival.to_ms) - max(begin, arrival.from_ms)) / length_ms


def _document_first_byte_ms(look: Look) -> float:
    document = next((item for item in look.seen if item.role is PaintRole.DOCUMENT), None)
    if document is None:
        return 0.0
    first = document.response.first_byte_ms
    return document.response.end_ms if first is None else first


def _chain(look: Look, seen: SeenResource) -> tuple[Key, ...]:
    """All that a resource waited for before it was asked for: its finders, and the last resource that blocked layout."""
    page = look.model.page
    keys = [item.key for item in reversed(list(_finders(page, seen.resource.found_by)))]
    if seen.resource.id in look.model.gated:
        blocking = [
            item
            for item in look.seen
            if item.role is PaintRole.BLOCKING and item.response.end_ms <= seen.response.request_ms
        ]
        last = max(blocking, key=lambda item: item.response.end_ms, default=None)
        if last is not None and last.key not in keys:
            keys.append(last.key)
    return tuple(keys)


def _finders(page: Page, name: str | None) -> Iterable[Resource]:
    by_id = page.by_id()
    while name is not None and name in by_id:
        yield by_id[name]
        name = by_id[name].found_by
