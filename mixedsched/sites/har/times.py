"""When an entry's request was made and its answer came, in ms from the page's start."""

from __future__ import annotations

from dataclasses import dataclass

from mixedsched.sites.har.entries import Entry


@dataclass(frozen=True, slots=True)
class Times:
    """asked_ms: since 1970 when it leaves `times_of`, None if it is not told. Others as in Exchange."""

    asked_ms: float | None
    first_byte_ms: float | None = None
    complete_ms: float | None = None

    def since(self, start_ms: float, otherwise_ms: float) -> Times:
        """Relative to a start; nothing is before it. otherwise_ms: when an entry without a time counts as asked for."""
        if self.asked_ms is None:
            return Times(otherwise_ms)
        first_ms, complete_ms = self.first_byte_ms, self.complete_ms
        return Times(
            _rounded(self.asked_ms - start_ms),
            None if first_ms is None else _rounded(first_ms - start_ms),
            None if complete_ms is None else _rounded(complete_ms - start_ms),
        )


def times_of(entry: Entry) -> Times:
    """The times of an entry, as its tool means them.

    DevTools, Firefox: startedDateTime is when the page asked, and all of `timings` but ssl (within connect) follow one another.
    chrome-har: it is when the request left the queue; `_queued` is what it waited there. WebPageTest: it is when the request
    left; `_created` (else `_all_start`) and `_load_start` tell how long the page had waited by then. mitmproxy: it is when
    the request reached it; its `connect` lies before that, or is none of the request's.
    """
    started_ms, timings = entry.started_ms, entry.timings
    if started_ms is None:
        return Times(None)
    if entry.load_start_ms is not None:
        return _of_webpagetest(entry, started_ms, entry.load_start_ms)
    is_after_connect = timings.blocked is None and timings.dns is None  # mitmproxy has neither
    before = (timings.send,) if is_after_connect else (timings.blocked, timings.dns, timings.connect, timings.send)
    asked_ms = started_ms - (timings.queued or 0.0)
    if timings.wait is None:
        return Times(asked_ms, None, None if entry.time_ms is None else started_ms + entry.time_ms)
    first_byte_ms = started_ms + sum(part or 0.0 for part in before) + timings.wait
    return Times(asked_ms, first_byte_ms, first_byte_ms + (timings.receive or 0.0))


def _of_webpagetest(entry: Entry, started_ms: float, load_start_ms: float) -> Times:
    created_ms = entry.created_ms if entry.created_ms is not None else entry.all_start_ms
    waited_ms = max(0.0, load_start_ms - created_ms) if created_ms is not None else 0.0
    first_ms = None if entry.ttfb_ms is None else started_ms + entry.ttfb_ms
    complete_ms = None if entry.load_ms is None else started_ms + entry.load_ms
    return Times(started_ms - waited_ms, first_ms, complete_ms)


def _rounded(time_ms: float) -> float:
    return max(0.0, round(time_ms, 3))
