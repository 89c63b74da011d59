"""A scheme finder's loads: every page on every network under every scheme, and what its reader must know of them."""

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from mixedsched.advice.finder.regret import Loads, find
from mixedsched.advice.finder.result import FinderResult
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.core.sim.load import Rung
from mixedsched.errors import MixedschedError
from mixedsched.lab.play.scenario import SEEDS, Scenario
from mixedsched.lab.play.stored import PlayedLoads
from mixedsched.lab.play.task import NamedScheme, Task
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile

_NAMED_MOST = 5  # places in a sentence

LoadName = tuple[str, str, str]  # site, network, scheme


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
    def places(self) -> dict[tuple[str, str], Scenario]:
        """By site and network."""
        return {
            (site, network.name): Scenario(page, network, model=self.model)
            for site, page in self.pages.items()
            for network in self.networks
        }

    @property
    def random_networks(self) -> list[str]:
        """Those on which loads differ by seed; on rung pipe nothing does."""
        return [network.name for network in self.networks if self.rung == "stack" and network.is_random]

    def seeds_on(self, network: str) -> int:
        return self.seeds if network in self.random_networks else 1

    @cached_property
    def tasks(self) -> list[tuple[LoadName, Task]]:
        """All loads; first seeds come first, so that a short time costs seeds before it costs sites."""
        return [
            ((*place, spec), Task(on if self.rung == "stack" else on.on_pipe, scheme, self.first_seed + number))
            for number in range(self.seeds)
            for place, on in self.places.items()
            if number < self.seeds_on(place[1])
            for spec, scheme in ((spec, NamedScheme(spec)) for spec in self.schemes)
        ]

    @property
    def digest(self) -> str:
        """Names the job, for its folder."""
        places = [(place, scenario.digest) for place, scenario in self.places.items()]
        facts = [places, self.schemes, self.rung, self.seeds, self.first_seed]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:8]


def carry_out(
    job: FinderJob, simulated: PlayedLoads[PaintEstimate | None], is_over: Callable[[], bool]
) -> tuple[FinderResult, list[str], bool]:
    """Play as much as the time allows, and say who wins where and what one scheme everywhere costs.

    Returns the result, notes for its readers, and whether Ctrl-C ended it. Raises MixedschedError if no place was played under
    every scheme, or no load came to its end; KeyboardInterrupt if that is because of Ctrl-C.
    """
    found: dict[int, PaintEstimate | None] = {}
    stopped = False
    try:
        found.update(simulated.results([task for _, task in job.tasks], is_over))
    except KeyboardInterrupt:
        stopped = True
    result = find(_by_name(job, found), job.objective, job.random_networks, random.Random(job.first_seed))
    if not result.places:
        if stopped:
            raise KeyboardInterrupt
        raise MixedschedError(
            "the time was too short for a single place",
            why=f"{len(found)} of {len(job.tasks)} loads are done, and stored",
            fix="the same command with a larger --budget goes on; or name fewer sites or schemes",
        )
    if not any(place.winner for place in result.places):
        raise MixedschedError(
            "no load came to its end", why="the network never lets one end", fix="choose another --link"
        )
    return result, [*_notes(result, job), *(["Stopped early; the same command goes on."] if stopped else [])], stopped


def _by_name(job: FinderJob, found: Mapping[int, PaintEstimate | None]) -> Loads:
    """Results without gaps in their seeds. found: by number of the task."""
    loads: dict[LoadName, list[PaintEstimate | None]] = {}
    for number, (name, task) in enumerate(job.tasks):
        own = loads.setdefault(name, [])
        if number in found and len(own) == task.seed - job.first_seed:
            own.append(found[number])
    return loads


def _notes(result: FinderResult, job: FinderJob) -> Iterator[str]:
    """Sentences on what there was no time for, and on unusual ways of playing."""
    short = [place for place in result.places if place.seeds < job.seeds_on(place.network)]
    if short:
        fewest = min(place.seeds for place in short)
        yield (
            f"Time was short: {len(short)} of {len(job.places)} places have fewer seeds than the {job.seeds} planned, "
            f"{fewest} at least. The same command with a larger --budget goes on."
        )
    if result.left_out:
        named = ", ".join(map(str, result.left_out[:_NAMED_MOST]))
        rest = len(result.left_out) - _NAMED_MOST
        more = f" and {rest} more" if rest > 0 else ""
        yield f"Left out, as the time did not allow even one load under every scheme: {named}{more}."
    if any(not place.is_sure for place in result.places):
        yield "Places marked with ? have a single seed of a random network: which schemes tie there is not known."
    if job.rung == "pipe":
        yield "Played on rung pipe: an ideal link without loss, so networks differ in rate and round trip alone."
    if result.best_mean is not None and result.best_mean.share is None and len(result.places) > 1:
        yield f"{len(result.sites)} sites are too few to say how well the answer would hold for others."
