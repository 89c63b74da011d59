"""Visits made of loads on rung `pipe`, where there is no server to listen to, and beacons of simulated loads."""

from collections.abc import Mapping

from mixedsched.core.learning.visit import Beacon, SeenNetwork, SeenRequest, Visit
from mixedsched.core.metrics.paint import PaintEstimate, PaintNeeds
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import LoadTimes
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.page import Resource
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
            path=item.path,
            kind=item.kind,
            mime=item.mime,
            size_bytes=item.body_bytes,
            priority=item.chromium_priority,
            incremental=item.incremental,
            requested_ms=seen.requested_ms,
            referrer=_referrer(page.main, item, by_id),
            raised=scenario.model.finds_at_layout and _is_in_view(item) and seen.complete_ms > layout_ms,
            first_byte_ms=seen.first_byte_ms,
            last_byte_ms=seen.complete_ms,
            sent_bytes=item.body_bytes,
        )
        for item, seen in ((by_id[seen.id], seen) for seen in load.resources)
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


def _paints(load: PlayedLoad, model: BrowserModel) -> PaintEstimate:
    times = LoadTimes.of(load)
    return PaintNeeds.of(load.page).estimate(times.first_byte_ms, times.complete_ms, model)


def _referrer(main: Resource, item: Resource, by_id: Mapping[str, Resource]) -> str | None:
    if item is main:
        return None
    parent = main if item.found_by is None else by_id[item.found_by]
    return parent.path if parent.kind is Kind.STYLESHEET else main.path


def _is_in_view(item: Resource) -> bool:
    return item.kind is Kind.IMAGE and bool(item.flags & {Flag.HERO, Flag.ABOVE_FOLD})
