"""The start of a search: the page as loads show it or its manifest has it, and the earliest paints that networks allow it."""

import glob
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from mixedsched.advice.changes.candidates import TAG_ACTIONS, candidates_of, candidates_of_page
from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.findings import findings_of
from mixedsched.advice.changes.html_change import Document
from mixedsched.advice.changes.look import Look, look_at
from mixedsched.advice.changes.observed import page_model, scenario_of
from mixedsched.advice.changes.page_change import PageModel, document_of
from mixedsched.advice.tuner._contest import bench_of, plain_eps
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.job import TuneJob
from mixedsched.advice.tuner.result import Role
from mixedsched.advice.tuner.space import Space
from mixedsched.core.metrics.paint import PaintEstimate, PaintNeeds
from mixedsched.lab.bench import Surroundings
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import Simulator, Task
from mixedsched.model.mapping import Override
from mixedsched.model.page import PAGE_FORMAT, Page
from mixedsched.model.priority import Priority
from mixedsched.model.request import Flag, Kind
from mixedsched.world.store import Store

# The earliest paints that a network allows a page: played on rung stack with nothing in the way of what a paint waits for. Two
# plays, of which the earlier one counts: a page of nothing else; and the whole page with all else behind. (A sender that has
# nothing to send does not learn how fast the link is, so that other bytes in pauses may help what comes later.) It is an
# estimate, to be compared with simulated paints only.


_METRICS = ("fcp_ms", "lcp_ms", "si_ms")


def bounds(
    scenes: Sequence[Scenario], seeds: Callable[[Scenario], Sequence[int]], simulator: Simulator[PaintEstimate | None]
) -> dict[str, PaintEstimate]:
    """By name of the scene: medians over seeds of the earliest of each paint, 0 where no load ever ends."""
    plays = [
        (scene.name, metrics, Task(played, way, seed))
        for scene in scenes
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
        scene.name: [
            PaintEstimate(*(found.get((scene.name, metric, seed), 0.0) for metric in _METRICS)) for seed in seeds(scene)
        ]
        for scene in scenes
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


# The page as one load under plain `eps` shows it on each network, or as its manifest has it


@dataclass(frozen=True, slots=True)
class View:
    """The page as each network shows it."""

    scenes: tuple[Scenario, ...]
    models: tuple[PageModel, ...]
    costs_s: dict[str, float]  # of its load there; empty where none was made
    changes: tuple[Change, ...]  # to the document, worth a try
    document: Document | None  # the page's own, if there is a site

    def space(self, schemes: Sequence[str]) -> Space:
        """The candidates to search, for these schemes."""
        hero_needs = dict.fromkeys(name for scene in self.scenes for name in scene.hero_needs)
        return Space.of([scene.page for scene in self.scenes], schemes, hero_needs=hero_needs)


def view_of_manifest(job: TuneJob) -> View:
    """Without a browser: as `simulate` plays it. Its hero is the image that is flagged so, or there is none."""
    page, site = job.subject.page, job.subject.site
    model, document = PageModel(page, {}), document_of(site) if site is not None else None
    scenes = tuple(Scenario(model.played(), network, model.hero_needs, job.model) for network in job.networks)
    changes = candidates_of_page(page, document)
    return View(scenes, (model,) * len(scenes), {}, tuple(changes), document)


async def look(job: TuneJob, world: Surroundings, store: Store) -> View:
    """One load on each network. Raises MixedschedError if the page cannot be loaded."""
    site = job.subject.site
    assert site is not None, "only sites are loaded"
    looks: dict[str, Look] = {}
    costs_s: dict[str, float] = {}
    for network in job.networks:
        world.say(f"looking at {job.subject.name} as browsers ask for it, over {network.name}")
        looking = replace(plain_eps("look", Role.BASELINE), on=job.server.on if job.server is not None else "")
        async with bench_of(job, world, store, "look", [looking]) as bench:
            run = (await bench.look(network))["look"]
        looks[network.name] = look_at(run, site.page, site.hosts, network.rtt_ms)
        costs_s[network.name] = run.cost_s
    document = document_of(site)
    findings = [item for network in job.networks for item in findings_of(looks[network.name], network.down.rate_bps)]
    models = tuple(page_model(found, site.page, site.hosts, job.model) for found in looks.values())
    scenes = tuple(scenario_of(model, network, job.model) for model, network in zip(models, job.networks, strict=True))
    if site.application is not None:
        world.say("lines of HTML are left out: edges forward the document unchanged")
    changes = candidates_of(list(looks.values()), findings, document)
    wanted = [item for item in changes if item.action in TAG_ACTIONS or (job.server is not None and item.is_html)]
    return View(scenes, models, costs_s, tuple(wanted if site.application is None else ()), document)


def hero_note(view: View) -> str:
    """A sentence for a page whose largest paint waits for no image; "" for others."""
    page = view.scenes[0].page
    if any(Flag.HERO in item.flags for item in page.resources):
        return ""
    if PaintNeeds.of(page).largest:
        return "The page has no image that is known to be its largest paint; those of its first screen stand for it."
    if any(item.kind is Kind.IMAGE for item in page.resources):
        return "The largest paint of the page waits for no image, so it is estimated like the first."
    return "The page has no images: its largest paint is text, and estimated like its first."
