"""Which requests of a page a browser model withholds, for what, and until when."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from mixedsched.core.metrics.paint import PaintNeeds, work_ms
from mixedsched.core.sim.load import MICROSECONDS_PER_MILLISECOND
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import ChromiumPriority, Flag, Kind

NEVER = 0  # a rank that is not withheld
FIRST_WITHHELD = ChromiumPriority.MEDIUM.rank


@dataclass(frozen=True, slots=True)
class Holding:
    """Which requests a browser withholds, and until when: the facts of a page, made once for many loads.

    A place is a resource's index in the page. Tuples have an item for each place, or hold places.
    """

    main: int
    turns: tuple[int, ...]
    """The order in which requests that are due at once leave, by place."""
    places: tuple[int, ...]
    """The reverse of `turns`: places in that order."""
    ranks: tuple[int, ...]
    """Rank of the Chromium priority where a request may be withheld, else NEVER."""
    is_low: tuple[bool, ...]
    """Whether the priority is Medium or below, withheld or not."""
    is_counted: tuple[bool, ...]
    is_counted_early: tuple[bool, ...]
    """Whether it counts as under way: `is_counted` at any time, `is_counted_early` until the parser reaches the body."""
    hosts: tuple[int, ...]
    """Index of the host."""
    work_us: tuple[int, ...]
    """Work of the main thread on the resource."""
    head: tuple[int, ...]
    """Places of what the parser waits for before it reaches the body, in page order."""
    blocking: tuple[int, ...]
    """Places of what the first layout waits for, in page order."""
    at_layout: tuple[bool, ...]
    """Whether a resource is asked for at the first layout."""
    promoted: Mapping[int, Resource]
    """The resources that become High at the first layout, by place."""

    @classmethod
    def of(cls, page: Page, model: BrowserModel) -> Self:
        resources = page.resources
        by_id = page.by_id()
        needs = PaintNeeds.of(page)
        blocking = frozenset(needs.blocking)
        places = sorted(range(len(resources)), key=lambda place: (resources[place].chromium_priority.rank, place))
        turns = {place: turn for turn, place in enumerate(places)}
        exempt = _with_ancestors(blocking | {needs.main}, by_id)
        return cls(
            main=resources.index(page.main),
            turns=tuple(turns[place] for place in range(len(resources))),
            places=tuple(places),
            ranks=tuple(_withheld_rank(item) if item.id not in exempt else NEVER for item in resources),
            is_low=tuple(item.chromium_priority.rank >= FIRST_WITHHELD for item in resources),
            is_counted=tuple(item.kind is not Kind.DOCUMENT for item in resources),
            is_counted_early=tuple(item.kind not in {Kind.DOCUMENT, Kind.XHR} for item in resources),
            hosts=tuple(item.host for item in resources),
            work_us=tuple(round(work_ms(item, model) * MICROSECONDS_PER_MILLISECOND) for item in resources),
            head=_parser_blocking(page, blocking),
            blocking=tuple(place for place, item in enumerate(resources) if item.id in blocking),
            at_layout=tuple(model.finds_at_layout and _is_found_by_style(item, by_id) for item in resources),
            promoted=_promoted(page) if model.finds_at_layout else {},
        )


def _withheld_rank(item: Resource) -> int:
    rank = item.chromium_priority.rank
    return rank if rank >= FIRST_WITHHELD else NEVER


def _with_ancestors(names: frozenset[str], by_id: Mapping[str, Resource]) -> frozenset[str]:
    """These and all their ancestors. If one of those were withheld until these are complete, it would never be asked for."""
    found: dict[str, None] = {}
    for name in names:
        current: str | None = name
        while current is not None and current not in found:
            found[current] = None
            current = by_id[current].found_by
    return frozenset(found)


def _parser_blocking(page: Page, blocking: frozenset[str]) -> tuple[int, ...]:
    """The scripts of the head that the parser waits for, and the style sheets before them, which those wait for."""
    items = [(place, item) for place, item in enumerate(page.resources) if item.id in blocking]
    scripts = [place for place, item in items if item.kind is Kind.SCRIPT and Flag.IN_HEAD in item.flags]
    return tuple(place for place, _ in items if place in scripts or (scripts and place < scripts[-1]))


def _is_found_by_style(item: Resource, by_id: Mapping[str, Resource]) -> bool:
    """Whether a style sheet names it, to be drawn. Other style sheets it names are asked for as soon as they are known."""
    if item.found_by is None or item.kind not in {Kind.FONT, Kind.IMAGE}:
        return False
    return by_id[item.found_by].kind is Kind.STYLESHEET


def _promoted(page: Page) -> dict[int, Resource]:
    """Images of the first screen, once Chromium knows that they are."""
    return {
        place: item.model_copy(update={"chromium_priority": ChromiumPriority.HIGH})
        for place, item in enumerate(page.resources)
        if item.kind is Kind.IMAGE
        and item.flags & {Flag.HERO, Flag.ABOVE_FOLD}
        and item.chromium_priority.rank > ChromiumPriority.HIGH.rank
    }


class Milestones:
    """Told what comes; times in microseconds since navigation.

    body_us: when the parser reaches the body, layout_us: when nothing blocks the first layout any more, both with the main
    thread's work on what they wait for. None until the last of that has come; then known, though they may still lie ahead.
    """

    def __init__(self, holding: Holding) -> None:
        self.body_us: int | None = None
        self.layout_us: int | None = None
        self._holding = holding
        self._begun_us: int | None = None  # the main document's first byte
        self._complete_us: dict[int, int] = {}

    def begun(self, index: int, now_us: int) -> None:
        """Something of a response has come, maybe not for the first time."""
        if self._begun_us is None and index == self._holding.main:
            self._begun_us = now_us
            self._note(now_us)

    def completed(self, index: int, now_us: int) -> None:
        """All of a response has come."""
        if index in self._holding.blocking:
            self._complete_us[index] = now_us
            self._note(now_us)

    def _note(self, now_us: int) -> None:
        if self.body_us is None:
            self.body_us = self._worked_on_us(self._holding.head, now_us)
        if self.layout_us is None:
            self.layout_us = self._worked_on_us(self._holding.blocking, now_us)

    def _worked_on_us(self, places: tuple[int, ...], now_us: int) -> int | None:
        """When the main thread is through with the document and these, one after the other. None while one is missing."""
        if self._begun_us is None:
            return None
        time_us = self._begun_us + self._holding.work_us[self._holding.main]
        for place in places:
            if place not in self._complete_us:
                return None
            time_us = max(time_us, self._complete_us[place]) + self._holding.work_us[place]
        return max(time_us, now_us)
