"""What is said about the loads of a live page."""

from collections.abc import Iterator

from mixedsched.lab.live import Changing, LiveView, NotLoaded, Unrepeated
from mixedsched.report.svg import shortened
from mixedsched.units import counted, format_bytes, format_ms

_NAMED_MOST = 8
_ADDRESS_CHARACTERS = 120


def live_lines(view: LiveView) -> list[str]:
    """A sentence each: what a load was, what loads did not repeat, what was not loaded."""
    return list(_lines(view))


def _lines(view: LiveView) -> Iterator[str]:
    if not view.loads:
        yield "live: no load counts, so nothing is known about differences between loads"
        return
    least, most = view.requests
    requests = counted(least, "request") if least == most else f"{least} to {most} requests"
    low, high = view.size_bytes
    size = format_bytes(low) if low == high else f"{format_bytes(low)} to {format_bytes(high)}"
    yield f"live: {counted(view.loads, 'load')} of {requests}, {size} decoded"
    times = [f"{arm} {format_ms(ms)}" for arm, ms in view.application_ms.items() if ms is not None]
    if times:
        yield f"live: median time until the application began to send the document: {', '.join(times)}"
    for item in view.changing[:_NAMED_MOST]:
        yield f"not repeated: {_changing(item, view.loads)}"
    if len(view.changing) > _NAMED_MOST:
        yield f"not repeated: and {len(view.changing) - _NAMED_MOST} more"
    if not view.changing:
        yield "live: all loads asked for the same addresses, and got the same number of bytes; contents are not compared"
    for place in view.elsewhere[:_NAMED_MOST]:
        yield f"not loaded, as it is not the application's: {_elsewhere(place)}"
    if len(view.elsewhere) > _NAMED_MOST:
        yield f"not loaded: {len(view.elsewhere) - _NAMED_MOST} more origins"


def _changing(item: Unrepeated, loads: int) -> str:
    address = shortened(item.address, _ADDRESS_CHARACTERS)
    of = f"in {item.loads} of {loads} loads"
    match item.what:
        case Changing.ADDRESS if item.values == 1:
            return f"{address} was asked for {of}"
        case Changing.ADDRESS:
            return f"{address} had {item.values} addresses {of}"
        case Changing.SIZE:
            return f"{address} had {item.values} sizes {of}, {item.least:,.0f} to {item.most:,.0f} bytes"
        case Changing.STATUS:
            return f"{address} had {item.values} statuses {of}, {item.least:.0f} to {item.most:.0f}"


def _elsewhere(item: NotLoaded) -> str:
    requests, loads = counted(item.requests, "request"), counted(item.loads, "load")
    return f"{item.origin}, {requests} in {loads}, such as {shortened(item.example, _ADDRESS_CHARACTERS)}"
