"""Visits made of loads on rung `pipe`, where there is no server to listen to, and beacons of simulated loads."""

from mixedsched.core.learning.visit import Beacon, SeenNetwork, SeenRequest, Visit
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.lab.play.scenario import Scenario
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.page import Page, Resource
from mixedsched.model.request import Flag, Kind

_POINTS = 40


def visit_of(load: PlayedLoad, scenario: Scenario) -> Visit:
    """What a server could know of the load: times at the server are those of the client, as the pipe has no delay."""
    page, times = load.page, load.times()
    by_id = page.by_id()
    paints = _paints(load, scenario.model)
    layout_ms = paints.fcp_ms - scenario.model.paint_ms
    requests = tuple(
        SeenRequest(
            path=by_id[item.id].path,
            kind=by_id[item.id].kind,
            mime=by_id[item.id].mime,
            size_bytes=by_id[item.id].body_bytes,
            priority=by_id[item.id].chromium_priority,
            incremental=by_id[item.id].incremental,
            requested_ms=item.requested_ms,
            referrer=_referrer(page, by_id[item.id]),
            raised=scenario.model.finds_at_layout and _is_in_view(by_id[item.id]) and item.complete_ms > layout_ms,
            first_byte_ms=item.first_byte_ms,
            last_byte_ms=item.complete_ms,
            sent_bytes=by_id[item.id].body_bytes,
        )
        for item in load.resources
    )
    main = times[page.main.id]
    step_ms = (main.complete_ms - main.first_byte_ms) / _POINTS
    progress = tuple(
        (main.first_byte_ms + step_ms * point, page.main.body_bytes * point // _POINTS) for point in range(_POINTS + 1)
    )
    return Visit(requests, progress, SeenNetwork(), load.scheme)


def beacon_of(load: PlayedLoad, model: BrowserModel) -> Beacon:
    """What a visitor's browser would tell of the load."""
    paints, needs, times = _paints(load, model), PaintNeeds.of(load.page), load.times()
    largest = max(needs.largest, key=lambda name: (times[name].complete_ms, name), default=None)
    path = None if largest is None else needs.resources[largest].path
    return Beacon(paints.fcp_ms, paints.lcp_ms, path)


def _paints(load: PlayedLoad, model: BrowserModel):  # type: ignore[no-untyped-def]
    needs, times = PaintNeeds.of(load.page), load.times()
    return needs.estimate(
        {name: item.first_byte_ms for name, item in times.items()},
        {name: item.complete_ms for name, item in times.items()},
        model,
    )


def _referrer(page: Page, item: Resource) -> str | None:
    if item is page.main:
        return None
    by_id = page.by_id()
    parent = page.main if item.found_by is None else by_id[item.found_by]
    return parent.path if parent.kind is Kind.STYLESHEET else page.main.path


def _is_in_view(item: Resource) -> bool:
    return item.kind is Kind.IMAGE and bool(item.flags & {Flag.HERO, Flag.ABOVE_FOLD})
