"""Page playback: who is found when, the same rules on every rung that plays a page instead of loading it.

Source: the discovery rules of format `mixedsched.page/1`, a superset of those of Marx et al. 2019 (their `childrenStart` is
found when `requested`, their `childrenEnd` when `complete`).
"""

import heapq
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Self

from mixedsched.core.metrics.paint import work_ms
from mixedsched.core.sim._holding import Holding
from mixedsched.core.sim.load import MICROSECONDS_PER_MILLISECOND
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import Kind


@dataclass(frozen=True, slots=True)
class FoundResource:
    """A resource that another one finds."""

    index: int
    """Its place in the page."""
    at_bytes: int
    """Offset in the parent's body at which it is found, where that counts."""
    delay_us: int


@dataclass(frozen=True, slots=True)
class Discoveries:
    """A page's discovery graph by the parents' indexes, made once for many loads."""

    page: Page
    roots: tuple[FoundResource, ...]
    """Resources found by navigation. Lists of children are in the order in which they are found: by offset, then place in the
    page.
    """
    when_requested: tuple[tuple[FoundResource, ...], ...]
    at_bytes: tuple[tuple[FoundResource, ...], ...]
    when_complete: tuple[tuple[FoundResource, ...], ...]
    model: BrowserModel = IDEAL
    """The browser that plays the page; its work on a parent is part of the children's delays."""
    holding: Holding | None = None
    """The requests that the browser withholds; None for none."""
    awaited: frozenset[int] | None = None
    """Places of the resources with which the load ends; None for all of the page."""

    @classmethod
    def of(cls, page: Page, model: BrowserModel = IDEAL, until: Collection[str] | None = None) -> Self:
        """The discoveries of this browser. until: ids of what is of interest; loads end when that is complete, with what
        else is complete by then. None for whole loads."""
        places = {item.id: index for index, item in enumerate(page.resources)}
        roots: list[FoundResource] = []
        found: dict[str, list[list[FoundResource]]] = {
            when: [[] for _ in page.resources] for when in ("requested", "bytes", "complete")
        }
        for index, item in enumerate(page.resources):
            parent = None if item.found_by is None else page.resources[places[item.found_by]]
            delay_ms = item.delay_ms + _before_request_ms(item, parent, model)
            child = FoundResource(index, item.found_at_bytes, round(delay_ms * MICROSECONDS_PER_MILLISECOND))
            if item.found_by is None:
                roots.append(child)
            else:
                found[item.found_when][places[item.found_by]].append(child)
        by_offset = [sorted(children, key=lambda child: (child.at_bytes, child.index)) for children in found["bytes"]]
        return cls(
            page,
            tuple(roots),
            tuple(map(tuple, found["requested"])),
            tuple(map(tuple, by_offset)),
            tuple(map(tuple, found["complete"])),
            model,
            Holding.of(page, model) if model.withholds else None,
            None if until is None else frozenset(places[name] for name in until),
        )


def _before_request_ms(item: Resource, parent: Resource | None, model: BrowserModel) -> float:
    """The time from finding a resource to its request.

    Scripts and style sheets must be worked on to tell what they name. Documents are scanned for that before any work.
    """
    if parent is None:
        return 0.0
    is_worked_on = item.found_when == "complete" and parent.kind in {Kind.SCRIPT, Kind.STYLESHEET}
    return model.ask_ms + (work_ms(parent, model) if is_worked_on else 0.0)


class Playback:
    """One load of a page at its client: given what arrives, it says what to request when.

    Resources are named by their place in the page, times are microseconds since navigation. Its driver calls `start`, asks
    pop_due for requests, sends them at once, and reports delivered body bytes (in order, without gaps) and completions. Found
    at the same moment means requested in page order. request_slot_us: at most one request leaves in this time; 0 = no limit.
    """

    def __init__(self, discoveries: Discoveries, request_slot_us: int = 0) -> None:
        self._discoveries = discoveries
        self._slot_us = request_slot_us
        self._slot_from_us = 0
        self._due: list[tuple[int, int]] = []  # (found, turn among requests that are due at once)
        self._next_child = [0] * len(discoveries.page.resources)  # of at_bytes
        self._awaited = discoveries.awaited
        self._unfinished = len(discoveries.page.resources if self._awaited is None else self._awaited)

    def start(self) -> Self:
        """Navigation begins, at time 0."""
        self._find(self._discoveries.roots, 0)
        return self

    @property
    def is_finished(self) -> bool:
        """Whether every resource of the page that is awaited is complete."""
        return not self._unfinished

    def resource(self, index: int) -> Resource:
        """The request as it would be sent now."""
        return self._discoveries.page.resources[index]

    def next_due_us(self) -> int | None:
        """When the next request leaves, if nothing is found before; None if none is waiting."""
        return max(self._due[0][0], self._slot_from_us) if self._due else None

    def pop_next(self, now_us: int) -> int | None:
        """The next resource whose request leaves by now, if any. What is found with it, at this moment, comes after it."""
        if not self._due or max(self._due[0][0], self._slot_from_us) > now_us:
            return None
        _, index = heapq.heappop(self._due)
        self._slot_from_us = now_us + self._slot_us
        self._find(self._discoveries.when_requested[index], now_us)
        return index

    def pop_due(self, now_us: int) -> list[int]:
        """All resources whose requests leave now, in order."""
        leaving: list[int] = []
        while (index := self.pop_next(now_us)) is not None:
            leaving.append(index)
        return leaving

    def delivered(self, index: int, body_bytes: int, now_us: int) -> None:
        """The response's headers are there, and so many bytes of its body in order."""
        children = self._discoveries.at_bytes[index]
        first = place = self._next_child[index]
        while place < len(children) and children[place].at_bytes <= body_bytes:
            place += 1
        if place > first:
            self._next_child[index] = place
            self._find(children[first:place], now_us)

    def completed(self, index: int, now_us: int) -> None:
        """All of a response is there."""
        self.delivered(index, self._discoveries.page.resources[index].body_bytes, now_us)
        if self._awaited is None or index in self._awaited:
            self._unfinished -= 1
        self._find(self._discoveries.when_complete[index], now_us)

    def take_raised(self) -> Mapping[int, Resource]:
        """What layout has found in view since the last call, as it would be asked for now."""
        return {}

    def _find(self, children: tuple[FoundResource, ...], now_us: int) -> None:
        for child in children:
            heapq.heappush(self._due, (now_us + child.delay_us, child.index))
