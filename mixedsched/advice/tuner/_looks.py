"""The start of a search: the page as one load under plain `eps` shows it on each network, or as its manifest has it."""

from collections.abc import Sequence
from dataclasses import dataclass

from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.edition import document_of
from mixedsched.advice.changes.findings import findings_of
from mixedsched.advice.changes.html_change import Document
from mixedsched.advice.changes.look import Look, look_at
from mixedsched.advice.changes.observed import page_model, scenario_of
from mixedsched.advice.changes.page_change import PageModel
from mixedsched.advice.tuner._contest import bench_of, plain_eps
from mixedsched.advice.tuner.job import TuneJob
from mixedsched.advice.tuner.result import Role
from mixedsched.advice.tuner.ship.html import changes_from_looks, changes_from_page
from mixedsched.advice.tuner.space import Space
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.lab.bench import Surroundings
from mixedsched.lab.play.scenario import Scenario
from mixedsched.model.request import Flag, Kind
from mixedsched.world.store import Store


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
    changes = changes_from_page(page, document)
    return View(scenes, (model,) * len(scenes), {}, changes, document)


async def look(job: TuneJob, world: Surroundings, store: Store) -> View:
    """One load on each network. Raises MixedschedError if the page cannot be loaded."""
    site = job.subject.site
    assert site is not None, "only sites are loaded"
    looks: dict[str, Look] = {}
    costs_s: dict[str, float] = {}
    for network in job.networks:
        world.say(f"looking at {job.subject.name} as browsers ask for it, over {network.name}")
        async with bench_of(job, world, store, "look", [plain_eps("look", Role.BASELINE)]) as bench:
            run = (await bench.look(network))["look"]
        looks[network.name] = look_at(run, site.page, site.hosts, network.rtt_ms)
        costs_s[network.name] = run.cost_s
    document = document_of(site)
    findings = [item for network in job.networks for item in findings_of(looks[network.name], network.down.rate_bps)]
    models = tuple(page_model(found, site.page, site.hosts, job.model) for found in looks.values())
    scenes = tuple(scenario_of(model, network, job.model) for model, network in zip(models, job.networks, strict=True))
    changes = changes_from_looks(list(looks.values()), findings, document)
    return View(scenes, models, costs_s, changes, document)


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
