"""A measured load, interpreted: which resources matter when, which image is the largest paint, what was held back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any
from urllib.parse import urlsplit

from mixedsched.advice.changes.change import Key
from mixedsched.advice.changes.page_change import PageModel, with_resources
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.lab.model import Run
from mixedsched.lab.page_view import SAME_TIME_MS, SeenResponse, hero_of, path_of, responses_of
from mixedsched.model.page import Page, Resource
from mixedsched.model.priority import Priority, parse_field
from mixedsched.model.request import ChromiumPriority, Flag, Kind, chromium_priority_of

HELD_BACK_MS = 150.0  # from asking to requesting: more than a renderer's own delays
_PROMOTED = {ChromiumPriority.HIGH, ChromiumPriority.VERY_HIGH}  # what Chromium makes of images that it sees on screen


class PaintRole(IntEnum):
    """How much the first screen needs a resource: the lower, the more."""

    DOCUMENT = 0
    BLOCKING = 1
    HERO = 2
    FONT = 3
    VISIBLE = 4
    SCRIPT = 5
    REST = 6

    def yields_to(self, other: PaintRole) -> bool:
        """Whether its bytes are late bytes to the other. The largest paint and fonts are equals: people wait for both."""
        return self > other and (other, self) != (PaintRole.HERO, PaintRole.FONT)


@dataclass(frozen=True, slots=True)
class SeenResource:
    """A resource of the page in one load."""

    key: Key
    resource: Resource
    role: PaintRole
    response: SeenResponse

    @property
    def held_back_ms(self) -> float:
        """Between being asked for and requested."""
        return max(0.0, self.response.request_ms - self.response.start_ms)


@dataclass(frozen=True, slots=True)
class Look:
    """One measured load of today's site."""

    run: Run
    seen: tuple[SeenResource, ...]  # in order of request
    hero: Key | None  # None where the largest paint is text
    model: PageModel  # the page as this load showed it
    rtt_ms: float

    @property
    def fcp_ms(self) -> float:
        return self.run.metric("fcp_ms")

    @property
    def lcp_ms(self) -> float:
        return self.run.metric("lcp_ms")

    def by_key(self) -> dict[Key, SeenResource]:
        return {item.key: item for item in self.seen}


def look_at(run: Run, page: Page, hosts: Sequence[str], rtt_ms: float) -> Look:
    """Join what was measured with what the site says. run: an ok one. hosts: of the site."""
    responses = _first_of_each(run, hosts)
    shown = hero_of(run, list(responses.values()))
    hero = next((key for key, response in responses.items() if response is shown), None)
    observed = _observed_page(page, responses, hero, run.metric("fcp_ms"))
    blocking = frozenset(PaintNeeds.of(observed).blocking)
    by_path = observed.by_path()
    seen = tuple(
        SeenResource(key, by_path[key], _role(by_path[key], observed, hero, blocking), response)
        for key, response in responses.items()
        if key in by_path
    )
    return Look(run, seen, hero, _model(observed, seen), rtt_ms)


def _first_of_each(run: Run, hosts: Sequence[str]) -> dict[Key, SeenResponse]:
    """The page's own responses by key, in order of request; icons, which are asked for after the load, are left out."""
    found: dict[Key, SeenResponse] = {}
    for item in responses_of(run):
        host = urlsplit(item.url).hostname
        if host in hosts and not _is_icon(item):
            found.setdefault((hosts.index(host), path_of(item.url)), item)
    return found


def _is_icon(response: SeenResponse) -> bool:
    return response.path.partition("?")[0].endswith(".ico")


def _observed_page(page: Page, responses: Mapping[Key, SeenResponse], hero: Key | None, fcp_ms: float) -> Page:
    """The page without what was never asked for, with what the manifest does not know, and with the signals really sent."""
    known = page.by_path()
    asked = {known[key].id for key in responses if key in known} | {page.main.id}
    resources = [page.main] if page.main.key not in responses else []
    for key, response in responses.items():
        if key not in known:
            resources.append(_unknown(key, response, page))
            continue
        item = _observed(known[key], response, hero == key, fcp_ms)
        has_finder = item.found_by is None or item.found_by in asked
        resources.append(item if has_finder else item.model_copy(update=_found_late(page)))
    resources.sort(key=lambda item: item.id != page.main.id)  # the document first, whatever the order of requests
    return with_resources(page, resources)


def _observed(item: Resource, response: SeenResponse, is_hero: bool, fcp_ms: float) -> Resource:
    signal = _signal(response, item)
    flags = item.flags - {Flag.HERO}
    if is_hero:
        flags |= {Flag.HERO, Flag.ABOVE_FOLD}
    elif _may_be_visible(response, fcp_ms):
        flags |= {Flag.ABOVE_FOLD}
    return item.model_copy(
        update={"flags": flags, "chromium_priority": chromium_priority_of(signal), "incremental": signal.incremental}
    )


def _signal(response: SeenResponse, item: Resource) -> Priority:
    if not response.signal:
        return Priority(item.chromium_priority.rank, item.incremental)
    return parse_field([response.signal.encode()])


def _may_be_visible(response: SeenResponse, fcp_ms: float) -> bool:
    """Chromium hurries images that it sees on screen. Of those complete before the first paint nothing is known."""
    promoted = response.chromium_priority in {item.value for item in _PROMOTED}
    return response.kind is Kind.IMAGE and (promoted or response.end_ms <= fcp_ms)


def _unknown(key: Key, response: SeenResponse, page: Page) -> Resource:
    """A resource that a script asked for: it comes when the document is there."""
    return Resource(
        id=f"{key[0]}{key[1]}",
        host=key[0],
        path=key[1],
        kind=response.kind,
        body_bytes=int(response.size_bytes),
        chromium_priority=chromium_priority_of(parse_field([response.signal.encode()])),
        incremental=parse_field([response.signal.encode()]).incremental,
        **_found_late(page),
    )


def _found_late(page: Page) -> dict[str, Any]:
    return {"found_by": page.main.id, "found_when": "complete", "found_at_bytes": 0}


def _role(item: Resource, page: Page, hero: Key | None, blocking: frozenset[str]) -> PaintRole:
    if item.id == page.main.id:
        return PaintRole.DOCUMENT
    if item.id in blocking:
        return PaintRole.BLOCKING
    if item.key == hero:
        return PaintRole.HERO
    if item.kind is Kind.FONT:
        return PaintRole.FONT
    if item.kind is Kind.IMAGE and Flag.ABOVE_FOLD in item.flags:
        return PaintRole.VISIBLE
    if item.kind is Kind.SCRIPT and not item.flags & {Flag.ASYNC, Flag.DEFER}:
        return PaintRole.SCRIPT
    return PaintRole.REST


def _model(page: Page, seen: Sequence[SeenResource]) -> PageModel:
    """Gated is what a style names, and what the browser held back, if it really came after the blocking resources."""
    by_id = page.by_id()
    complete_ms = {item.resource.id: item.response.end_ms for item in seen}
    blocking = [item for item in seen if item.role is PaintRole.BLOCKING]
    first_layout_ms = max((item.response.end_ms for item in blocking), default=0.0)
    gated = set()
    for item in seen:
        parent = by_id.get(item.resource.found_by or "")
        styled = parent is not None and parent.kind is Kind.STYLESHEET and item.resource.kind in {Kind.FONT, Kind.IMAGE}
        held_back = item.role > PaintRole.BLOCKING and item.held_back_ms > HELD_BACK_MS
        waited = item.response.request_ms >= first_layout_ms - SAME_TIME_MS
        if item.role > PaintRole.BLOCKING and (styled or held_back) and waited:
            gated.add(item.resource.id)
    return PageModel(page, complete_ms, frozenset(gated), _hero_needs(page))


def _hero_needs(page: Page) -> tuple[str, ...]:
    """All that has to come before the hero is known, but for the document."""
    by_id = page.by_id()
    hero = next((item for item in page.resources if Flag.HERO in item.flags), None)
    needs: list[str] = []
    while hero is not None and hero.found_by is not None and hero.found_by != page.main.id:
        hero = by_id[hero.found_by]
        needs.append(hero.id)
    return tuple(needs)
