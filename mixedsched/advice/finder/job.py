"""A scheme finder's loads, a study of every page on every network under every scheme, and what its reader must know of them."""

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

from mixedsched.advice.finder.regret import Loads, find
from mixedsched.advice.finder.result import FinderResult
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.core.sim.load import Rung
from mixedsched.errors import MixedschedError
from mixedsched.lab.machine import machine_facts, own_versions
from mixedsched.lab.model import RunStatus
from mixedsched.lab.play.scenario import SEEDS, Scenario
from mixedsched.lab.play.stored import PLAYING_CODE
from mixedsched.lab.play.values import PaintValuesReader
from mixedsched.lab.study.definition import STUDY_FORMAT, Study
from mixedsched.lab.study.places import Place, SimulatedPlace, StudySite
from mixedsched.lab.study.session import planned_work, study_store
from mixedsched.lab.study.work import StudyObserver, carry_out_study
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.units import few
from mixedsched.world.store import StoredLoad

_NAMED_MOST = 5  # places in a sentence


@dataclass(frozen=True)
class FinderJob:
    """The pages, networks and schemes to compare, and how to play them."""

    pages: Mapping[str, Page]  # by the name that results have for them
    networks: tuple[Profile, ...]
    schemes: tuple[str, ...]  # with parameters, already checked
    objective: Mapping[str, float]  # weights by metric key
    rung: Rung = "stack"
    seeds: int = SEEDS  # of networks on which loads differ
    first_seed: int = 1
    model: BrowserModel = IDEAL

    @cached_property
    def places(self) -> dict[int, SimulatedPlace]:
        """By number, site by site."""
        every = enumerate(product(self.pages.items(), self.networks))
        return {
            number: SimulatedPlace(StudySite(site, site), network.name, self._scenario(page, network))
            for number, ((site, page), network) in every
        }

    def _scenario(self, page: Page, network: Profile) -> Scenario:
        scenario = Scenario(page, network, model=self.model)
        return scenario if self.rung == "stack" else scenario.on_pipe

    @property
    def random_networks(self) -> list[str]:
        """Those on which loads differ by seed; on rung pipe nothing does."""
        return list(dict.fromkeys(place.link for place in self.places.values() if not place.is_exact))

    def seeds_on(self, network: str) -> int:
        return self.seeds if network in self.random_networks else 1

    @property
    def study(self) -> Study:
        """First blocks come first, so that a short time costs seeds before it costs sites.

        Its name is that of the job and of what plays it, so that loads of another one in the same folder do not count.
        """
        versions = json.dumps(own_versions(PLAYING_CODE), sort_keys=True)
        return Study.from_dict(
            {
                "format": STUDY_FORMAT,
                "name": f"finder-{self.digest}-{hashlib.sha256(versions.encode()).hexdigest()[:6]}",
                "rung": self.rung,
                "sites": list(self.pages),
                "links": [network.name for network in self.networks],
                "arms": self.schemes,
                "baseline": self.schemes[0],
                "blocks": self.seeds,
                "seed": self.first_seed,
                "browser_model": self.model.name,
            }
        )

    @property
    def digest(self) -> str:
        """Names the job, for its folder."""
        places = [((place.site.name, place.link), place.scenario.digest) for place in self.places.values()]
        facts = [places, self.schemes, self.rung, self.seeds, self.first_seed]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:8]


def carry_out(
    job: FinderJob, folder: Path, has_time: Callable[[], bool], observer: StudyObserver, say: Callable[[str], None]
) -> tuple[FinderResult, list[str], bool]:
    """Play as much as the time allows, and say who wins where and what one scheme everywhere costs.

    folder: of the results, where loads are stored. has_time: asked before each load. say: takes remarks. Returns the result,
    notes for its readers, and whether Ctrl-C ended it. Raises MixedschedError if no place was played under every scheme, or no
    load came to its end; KeyboardInterrupt if that is because of Ctrl-C.
    """
    stopped = False
    with study_store(folder, None) as store:
        work = planned_work(job.study, lambda: job.places, store, folder, say)
        work = replace(work, reader=PaintValuesReader, has_time=has_time, observer=observer)
        try:
            carry_out_study(work, {"machine": machine_facts()}, say)
        except KeyboardInterrupt:
            stopped = True
        loads = _by_name(job, ((work.places[load.place_id], load) for load in store.loads(work.study_id)))
    result = find(loads, job.objective, job.random_networks, random.Random(job.first_seed))
    if not result.places:
        if stopped:
            raise KeyboardInterrupt
        done, planned = sum(map(len, loads.values())), sum(job.seeds_on(network) for _, network, _ in loads)
        raise MixedschedError(
            "the time was too short for a single place",
            why=f"{done} of {planned} loads are done, and stored",
            fix="the same command with a larger --budget continues; or name fewer sites or schemes",
        )
    if not any(place.winner for place in result.places):
        raise MixedschedError(
            "no load ever finished", why="the network loses too much, or is too slow", fix="choose another --link"
        )
    return result, [*_notes(result, job), *(["Stopped early; the same command continues."] if stopped else [])], stopped


def _by_name(job: FinderJob, stored: Iterable[tuple[Place, StoredLoad]]) -> Loads:
    """Results without gaps in their blocks. stored: in the order of blocks."""
    places = [(place.site.name, place.link) for place in job.places.values()]
    loads: dict[tuple[str, str, str], list[PaintEstimate | None]] = {
        (*place, spec): [] for place in places for spec in job.schemes
    }
    for place, load in stored:
        own = loads[place.site.name, place.link, load.arm]
        if len(own) == load.block - 1:
            paints = {key: value for key, value in load.values.items() if value is not None}
            own.append(PaintEstimate(**paints) if load.status == RunStatus.OK else None)
    return loads


def _notes(result: FinderResult, job: FinderJob) -> Iterator[str]:
    """Sentences on what there was no time for, and on unusual ways of playing."""
    short = [place for place in result.places if place.seeds < job.seeds_on(place.network)]
    if short:
        fewest = min(place.seeds for place in short)
        yield (
            f"Time was short: {len(short)} of {len(job.places)} places have fewer seeds than the {job.seeds} planned, "
            f"{fewest} at least. The same command with a larger --budget continues."
        )
    if result.left_out:
        named = few([str(item) for item in result.left_out], _NAMED_MOST)
        yield f"Left out, as the time did not allow even one load under every scheme: {named}."
    if any(not place.is_sure for place in result.places):
        yield "Places marked with ? have a single seed of a random network: which schemes tie there is not known."
    if job.rung == "pipe":
        yield "Played on rung pipe: an ideal link without loss, so networks differ in rate and round trip alone."
    if result.best_mean is not None and result.best_mean.share is None and len(result.places) > 1:
        yield f"{len(result.sites)} sites are too few to say how well the answer would hold for others."
