"""The earliest paints that a network allows a page: played on rung stack with nothing in the way of what a paint waits for.

Two plays, of which the earlier one counts: a page of nothing else; and the whole page with all else behind. (A sender that has
nothing to send does not learn how fast the link is, so that other bytes in pauses may help what comes later.) It is an
estimate like all that is simulated: for comparing with simulated paints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.result import Estimates
from mixedsched.advice.tuner.targets import literal
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import Simulator, Task
from mixedsched.model.mapping import Override
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.model.priority import Priority
from mixedsched.model.request import Flag, Kind

_METRICS = ("fcp_ms", "lcp_ms", "si_ms")


@dataclass(frozen=True, slots=True)
class _Play:
    """place: of the scene that is bound. scene: what is played for it. metrics: for which it counts."""

    place: int
    scene: Scenario
    ways: tuple[Candidate, ...]
    metrics: tuple[str, ...]


def bounds(
    scenes: Sequence[Scenario],
    names: Sequence[str],
    seeds: Callable[[Scenario], Sequence[int]],
    workers: Simulator[Estimates | None],
) -> dict[str, Estimates]:
    """By name of the scene; medians over seeds of the earliest of each paint, 0 where no load ever ends."""
    plays = [play for place, scene in enumerate(scenes) for play in _plays(place, scene)]
    tasks = [
        (play, Task(play.scene, candidate, seed))
        for play in plays
        for candidate in play.ways
        for seed in seeds(play.scene)
    ]
    results = workers.play([task for _, task in tasks])
    found: dict[tuple[int, str, int], list[float]] = {}
    for (play, task), estimates in zip(tasks, results, strict=True):
        for metric in play.metrics if estimates is not None else ():
            found.setdefault((play.place, metric, task.seed), []).append(getattr(estimates, metric))
    return {
        name: Estimates.median_of([_earliest(found, place, seed) for seed in seeds(scene)])
        for place, (scene, name) in enumerate(zip(scenes, names, strict=True))
    }


def lowered(bound: Estimates, known: Iterable[Estimates]) -> Estimates:
    """The bound, or what was seen to be earlier: with losses, a page of fewer packets loses other ones."""
    everything = [bound, *known]
    return Estimates(
        min(item.fcp_ms for item in everything),
        min(item.lcp_ms for item in everything),
        min(item.si_ms for item in everything),
    )


def _earliest(found: Mapping[tuple[int, str, int], Sequence[float]], place: int, seed: int) -> Estimates:
    return Estimates(*(min(found.get((place, metric, seed), ()), default=0.0) for metric in _METRICS))


def _plays(place: int, scene: Scenario) -> list[_Play]:
    """What is played for one scene. What paints of one kind need, those behind it need too."""
    page, needs = scene.page, PaintNeeds.of(scene.page)
    first = [needs.main, *needs.blocking]
    largest = [*first, *needs.largest, *scene.hero_needs]
    images = [item.id for item in page.resources if item.kind is Kind.IMAGE and Flag.ABOVE_FOLD in item.flags]
    counts: dict[frozenset[str], tuple[str, ...]] = {}
    for number, names in enumerate((first, largest, [*largest, *images]), start=1):
        counts[_with_finders(page, names)] = _METRICS[:number]
    plays = []
    for needed, metrics in counts.items():
        plays.append(_Play(place, _bare(scene, needed), _ways(_bare(scene, needed).page, needed), metrics))
        plays.append(_Play(place, scene, _ways(page, needed), _METRICS))
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
    """The scene without what is not needed."""
    resources = tuple(item for item in scene.page.resources if item.id in needed)
    needs = tuple(name for name in scene.hero_needs if name in needed)
    return replace(scene, page=Page(format=PAGE_FORMAT, name=scene.page.name, resources=resources), hero_needs=needs)


def _ways(page: Page, needed: frozenset[str]) -> tuple[Candidate, ...]:
    """Orders among what is needed, all else behind it: as signalled, and the rest of the document last, too."""
    behind = tuple(
        Override(literal(item.path), Priority(6), "no paint waits for it")
        for item in page.resources
        if item.id not in needed
    )
    document = Override(literal(page.main.path), Priority(5), "its end is of no use to a paint")
    ways = (Candidate("eps", overrides=behind), Candidate("eps", overrides=(document, *behind)))
    return ways if behind else (Candidate("sequential"), *ways)
