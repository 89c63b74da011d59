"""Finds the NetLog's entry of each request that DevTools told of: same URL, same method, in the same order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from mixedsched.world.browser._observed._told import ToldRequest
from mixedsched.world.browser.netlog import LoggedRequest


@dataclass(frozen=True, slots=True)
class Match:
    """A request that left, or failed to. told, logged: None if that side does not know it; never both. after_scroll: as in
    ObservedRequest.
    """

    told: ToldRequest | None
    logged: LoggedRequest | None
    after_scroll: bool = False

    @property
    def order(self) -> tuple[bool, float, float]:
        """Where it stands: by the log's clock where it was sent, by the page's where it never was; scrolled ones last."""
        if self.logged is not None and self.logged.place is not None:
            assert self.logged.sent_ms is not None
            return self.after_scroll, self.logged.sent_ms, self.logged.place
        if self.told is not None:
            return self.after_scroll, self.told.asked_tick_ms, float("inf")
        assert self.logged is not None
        return self.after_scroll, self.logged.started_ms, float("inf")


def match(
    told: Sequence[ToldRequest], logged: Sequence[LoggedRequest], watched_until_ms: float = float("inf")
) -> tuple[list[Match], int]:
    """The requests in the order in which they left, and how many of the load a cache answered, which are left out.

    What only the log knows (such as reports) is there if a page asked for it, by the end of the watching: when
    DevTools lets go, the emulated device goes, so that pages choose other images, and service workers that were held start.
    """
    waiting: defaultdict[tuple[str, str], deque[LoggedRequest]] = defaultdict(deque)
    for entry in (entry for entry in logged if entry.started_ms <= watched_until_ms):
        waiting[entry.url, entry.method].append(entry)
    matches, cached = [], 0
    for request in told:
        queue = waiting[request.url, request.method]
        if request.from_cache and not (queue and queue[0].place is not None and request.status == 304):
            cached += not request.after_scroll
            if queue and queue[0].place is None:
                queue.popleft()
            continue
        matches.append(Match(request, queue.popleft() if queue else None, request.after_scroll))
    left = [entry for queue in waiting.values() for entry in queue]
    scroll_ms = min((request.asked_tick_ms for request in told if request.after_scroll), default=float("inf"))
    matches += [Match(None, entry, entry.started_ms >= scroll_ms) for entry in left if _is_of_a_page(entry)]
    return sorted(matches, key=lambda item: item.order), cached


def _is_of_a_page(entry: LoggedRequest) -> bool:
    is_http = entry.url.startswith(("http:", "https:"))
    return is_http and entry.initiator is not None and not entry.is_page and entry.place is not None
