"""A page as measured loads show it, for playback by a browser model: what was really requested, when it was known, and how.

Unlike `changes.look`, nothing is tied to the moment at which the browser let a request go: withholding is the model's affair.
The manifest's flags stay, because the server that was measured knew those and no others.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mixedsched.advice.changes.look import Look, look_at
from mixedsched.advice.changes.page_change import PageModel, with_resources
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.lab.model import Run
from mixedsched.lab.page_view import SAME_TIME_MS
from mixedsched.lab.play.scenario import Scenario
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.page import Page, Resource
from mixedsched.model.profile import Profile
from mixedsched.model.request import ChromiumPriority, Flag, Kind

AT_LAYOUT_MS = 300.0  # by which what is asked for at the first layout may come after the last thing that blocked it


@dataclass(frozen=True, slots=True)
class ObservedPage:
    """A page and what its paints wait for. hero_needs: ids of what must be there before the hero can be drawn."""

    page: Page
    needs: PaintNeeds
    hero_needs: tuple[str, ...] = ()


def as_listed(page: Page) -> ObservedPage:
    """The page of the manifest, without any load."""
    return ObservedPage(page, PaintNeeds.of(page))


def as_gated(run: Run, page: Page, hosts: Sequence[str], rtt_ms: float) -> ObservedPage:
    """For playback without a browser model, which needs gates: the moments until which the browser held requests back."""
    look = look_at(run, page, hosts, rtt_ms)
    played = look.model.played()
    return ObservedPage(played, PaintNeeds.of(played), look.model.hero_needs)


def as_observed(runs: Sequence[Run], page: Page, hosts: Sequence[str], rtt_ms: float) -> ObservedPage:
    """For playback by a browser model that withholds requests.

    runs: ok ones, of any schemes. The first shows signals and the largest image; all together show what a resource waits for,
    and how long: what is the same under all schemes is the page, the rest is the network. hosts: of the site.
    """
    looks = [look_at(run, page, hosts, rtt_ms) for run in runs]
    first, listed = looks[0], page.by_path()
    moments = [_moments(look) for look in looks]
    resources = []
    for item in first.model.page.resources:
        changes = {**_signal(item, listed.get(item.key)), **_known(item, first, moments)}
        resources.append(item.model_copy(update=changes))
    asked_ms = {item.resource.id: item.response.start_ms for item in first.seen}
    # As Chromium came to know them.
    resources.sort(key=lambda item: (item.id != page.main.id, asked_ms.get(item.id, 0.0)))
    observed = with_resources(page, resources)
    hero = next((item.id for item in first.model.page.resources if item.key == first.hero), None)
    needs = replace(PaintNeeds.of(observed), largest=() if hero is None else (hero,))
    return ObservedPage(observed, needs, first.model.hero_needs)


def page_model(found: Look, page: Page, hosts: Sequence[str], browser: BrowserModel) -> PageModel:
    """The page to play with this browser. page, hosts: of the site.

    A load says when the real browser let each request go. Where `browser` withholds requests itself, what counts is when the
    page made them known, or they would be held back twice.
    """
    if not browser.withholds:
        return found.model
    known = as_observed([found.run], page, hosts, found.rtt_ms).page
    seen_flags = {item.id: item.flags for item in found.model.page.resources}
    resources = [item.model_copy(update={"flags": seen_flags[item.id]}) for item in known.resources]
    return replace(found.model, page=with_resources(page, resources), gated=frozenset())


def scenario_of(model: PageModel, network: Profile, browser: BrowserModel) -> Scenario:
    """How a page is simulated wherever the real browser has the last word: seeds vary the network, as loads vary."""
    return Scenario(model.played(), network, model.hero_needs, browser, is_varied=True)


def _signal(item: Resource, listed: Resource | None) -> dict[str, Any]:
    """Flags and priority to play with. What became High because it was seen on the screen, the model hurries by itself."""
    if listed is None:
        return {"flags": frozenset()}
    seen = item.kind is Kind.IMAGE and bool(listed.flags & {Flag.ABOVE_FOLD, Flag.HERO})
    is_promoted = seen and item.chromium_priority is ChromiumPriority.HIGH
    priority = listed.chromium_priority if is_promoted else item.chromium_priority
    return {"flags": listed.flags, "chromium_priority": priority}


@dataclass(frozen=True, slots=True)
class _Moments:
    """One load by resource id, in ms: when each was asked for, requested and complete; when nothing blocked any more."""

    asked_ms: Mapping[str, float]
    requested_ms: Mapping[str, float]
    complete_ms: Mapping[str, float]
    layout_ms: float


def _moments(look: Look) -> _Moments:
    blocking = set(PaintNeeds.of(look.model.page).blocking)
    complete_ms = {item.resource.id: item.response.end_ms for item in look.seen}
    return _Moments(
        {item.resource.id: item.response.start_ms for item in look.seen},
        {item.resource.id: item.response.request_ms for item in look.seen},
        complete_ms,
        max((at_ms for name, at_ms in complete_ms.items() if name in blocking), default=0.0),
    )


def _known(item: Resource, look: Look, moments: Sequence[_Moments]) -> dict[str, Any]:
    """Changes of how a resource is found, so that playback knows it when the browser knew it."""
    main = look.model.page.main
    names = (item.id, item.found_by, main.id)
    usable = [load for load in moments if all(name in load.asked_ms for name in names)]
    if not usable or item.found_by is None:
        return {}
    parent = look.model.page.by_id()[item.found_by]
    after_main = _Waits([load.asked_ms[item.id] - load.complete_ms[main.id] for load in usable])
    late = {
        "found_by": main.id,
        "found_when": "complete",
        "found_at_bytes": 0,
        "delay_ms": max(0.0, after_main.median_ms),
    }
    if parent.kind is Kind.STYLESHEET and item.kind in {Kind.FONT, Kind.IMAGE}:
        after_layout = _Waits([load.asked_ms[item.id] - load.layout_ms for load in usable])
        is_near = -SAME_TIME_MS <= after_layout.median_ms <= AT_LAYOUT_MS
        return {} if is_near and after_layout.spread_ms <= after_main.spread_ms + SAME_TIME_MS else late
    if item.found_when == "bytes":
        after_parent = _Waits([load.asked_ms[item.id] - load.complete_ms[parent.id] for load in usable])
        return late if after_parent.median_ms > AT_LAYOUT_MS else {}
    event_ms = [
        (load.complete_ms if item.found_when == "complete" else load.requested_ms)[parent.id] for load in usable
    ]
    gap = _Waits([load.asked_ms[item.id] - at_ms for load, at_ms in zip(usable, event_ms, strict=True)])
    if after_main.spread_ms + SAME_TIME_MS < gap.spread_ms:
        return late
    return {"delay_ms": gap.median_ms} if gap.median_ms > item.delay_ms + SAME_TIME_MS else {}


class _Waits:
    """How long after some event a resource was asked for, over several loads. spread_ms: mean deviation from the median."""

    def __init__(self, waits_ms: Sequence[float]) -> None:
        self.median_ms = statistics.median(waits_ms)
        self.spread_ms = statistics.fmean(abs(wait_ms - self.median_ms) for wait_ms in waits_ms)
