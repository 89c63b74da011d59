"""The earliest paints that a network allows a page: played on rung stack with nothing in the way of what a paint waits for.

Two plays, of which the earlier one counts: a page of nothing else; and the whole page with all else behind. (A sender that has
nothing to send does not learn how fast the link is, so that other bytes in pauses may help what comes later.) It is an
estimate, to be compared with simulated paints only.
"""

import glob
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.core.metrics.paint import PaintEstimate, PaintNeeds
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import Simulator, Task
from mixedsched.model.mapping import Override
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.model.priority import Priority
from mixedsched.model.request import Flag, Kind

_METRICS = ("fcp_ms", "lcp_ms", "si_ms")


def bounds(
    scenes: Sequence[Scenario],
    names: Sequence[str],
    seeds: Callable[[Scenario], Sequence[int]],
    simulator: Simulator[PaintEstimate | None],
) -> dict[str, PaintEstimate]:
    """By name of the scene: medians over seeds of the earliest of each paint, 0 where no load ever ends."""
    plays = [
        (name, metrics, Task(played, way, seed))
        for scene, name in zip(scenes, names, strict=True)
        for played, ways, metrics in _plays(scene)
        for way in ways
        for seed in seeds(played)
    ]
    found: dict[tuple[str, str, int], float] = {}
    for (name, metrics, task), paints in zip(plays, simulator.play([task for *_, task in plays]), strict=True):
        for metric in metrics if paints is not None else ():
            key = name, metric, task.seed
            found[key] = min(found.get(key, math.inf), getattr(paints, metric))
    earliest = {
        name: [PaintEstimate(*(found.get((name, metric, seed), 0.0) for metric in _METRICS)) for seed in seeds(scene)]
        for scene, name in zip(scenes, names, strict=True)
    }
    return {name: PaintEstimate.median_of(items) for name, items in earliest.items()}


def _plays(scene: Scenario) -> list[tuple[Scenario, tuple[Candidate, ...], tuple[str, ...]]]:
    """The scenes to play for one scene, the ways to deliver each, and the metrics for which it counts.

    Later paints need everything that earlier paints need.
    """
    page, needs = scene.page, PaintNeeds.of(scene.page)
    first = [needs.main, *needs.blocking]
    largest = [*first, *needs.largest, *scene.hero_needs]
    images = [item.id for item in page.resources if item.kind is Kind.IMAGE and Flag.ABOVE_FOLD in item.flags]
    counts: dict[frozenset[str], tuple[str, ...]] = {}
    for number, names in enumerate((first, largest, [*largest, *images]), start=1):
        counts[_with_finders(page, names)] = _METRICS[:number]
    plays = []
    for needed, metrics in counts.items():
        bare = _bare(scene, needed)
        plays += [(bare, _ways(bare.page, needed), metrics), (scene, _ways(page, needed), _METRICS)]
    return plays


def _with_finders(page: Page, names: Iterable[str]) -> frozenset[str]:
    by_id = page.by_id()
    found: set[str] = set()
    for name in names:
        parent: str | None = name
        while parent is not None and parent not in found:
            found.add(parent)
            parent = by_id[parent].found_by
    return frozenset(found)


def _bare(scene: Scenario, needed: frozenset[str]) -> Scenario:
    """The scene with the needed resources alone."""
    resources = tuple(item for item in scene.page.resources if item.id in needed)
    needs = tuple(name for name in scene.hero_needs if name in needed)
    return replace(scene, page=Page(format=PAGE_FORMAT, name=scene.page.name, resources=resources), hero_needs=needs)


def _ways(page: Page, needed: frozenset[str]) -> tuple[Candidate, ...]:
    """Orders among what is needed, all else behind it: as signalled, and the rest of the document last, too."""
    behind = tuple(
        Override(glob.escape(item.path), Priority(6), "no paint waits for it")
        for item in page.resources
        if item.id not in needed
    )
    document = Override(glob.escape(page.main.path), Priority(5), "its end is of no use to a paint")
    ways = (Candidate("eps", overrides=behind), Candidate("eps", overrides=(document, *behind)))
    return ways if behind else (Candidate("sequential"), *ways)
