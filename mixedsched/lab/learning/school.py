"""Simulated visits that teach: a page is visited again and again, and its memory decides how the next visit is served."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from mixedsched.core.learning.memory import PageMemory
from mixedsched.core.learning.networks import NetworkClass, note
from mixedsched.core.learning.plan import SAFE, Plan, with_plan
from mixedsched.core.learning.visit import Visit
from mixedsched.core.sim.pipe import PipeOptions, play_pipe
from mixedsched.core.sim.playback import Discoveries
from mixedsched.lab.learning.churn import churned
from mixedsched.lab.learning.piped import beacon_of, visit_of
from mixedsched.lab.learning.search import Proposal, adaptive_scheme, search
from mixedsched.lab.play.scenario import Scenario
from mixedsched.model.page import Page
from mixedsched.model.scheme import ConfiguredScheme

LEARNS_AFTER = (3, 10, 30, 100, 300)
"""Numbers of visits after which orders are searched."""
_SEEDS_FROM = 7_000_000  # of visits; apart from those of loads that are told, and of the search
_SEEDS_APART = 10_000


@dataclass(slots=True)
class Pupil:
    """What a server has learned of one page from simulated visits."""

    memory: PageMemory
    classes: list[NetworkClass] = field(default_factory=list)
    proposals: list[Proposal] = field(default_factory=list)

    @property
    def plan(self) -> Plan | None:
        """The order by which the next visit is served; None for the safe one."""
        return self.proposals[0].plan if self.proposals else None


def teach(
    scenario: Scenario,
    visits: int,
    *,
    churn: float = 0.0,
    seed: int = 1,
    beacons: bool = False,
    say: Callable[[int], None] = lambda _: None,
) -> Pupil:
    """Play so many visits, each by the order that the earlier ones have taught. say: told the number of each before it."""
    pupil = Pupil(PageMemory("/"))
    for number in range(1, visits + 1):
        say(number)
        page = page_of_visit(scenario.page, churn, seed, number)
        learn(pupil, replace(scenario, page=page), _SEEDS_FROM + seed * _SEEDS_APART + number, beacons=beacons)
        if number in LEARNS_AFTER or (number == visits and number > 1):
            think(pupil, scenario)
    return pupil


def page_of_visit(page: Page, churn: float, seed: int, number: int) -> Page:
    """The page under the names that it has at that visit."""
    return churned(page, churn, random.Random(f"{seed}/{number}"))


def learn(pupil: Pupil, scenario: Scenario, seed: int, *, beacons: bool = False) -> None:
    """One visit, by the order in force."""
    visit = play_visit(scenario, with_plan(adaptive_scheme(), pupil.plan), seed, beacons=beacons)
    note(pupil.classes, visit.connection)
    if pupil.memory.learn(visit):
        pupil.proposals.clear()
    elif pupil.memory.strange and pupil.proposals:
        pupil.proposals.clear()


def think(pupil: Pupil, scenario: Scenario) -> None:
    """Search the orders anew."""
    pipe = scenario.link if isinstance(scenario.link, PipeOptions) else None
    pupil.proposals = search(pupil.memory, pupil.classes, scenario.model, pipe=pipe)


def play_visit(scenario: Scenario, scheme: ConfiguredScheme, seed: int, *, beacons: bool = False) -> Visit:
    """A visit as its server sees it. Raises PageLoadError where the network never lets it end."""
    discoveries = Discoveries.of(scenario.page, scenario.model)
    if isinstance(scenario.link, PipeOptions):
        load = play_pipe(discoveries, scheme, scenario.link)
        visit = visit_of(load, scenario)
    else:
        from mixedsched.core.sim.stack import play_stack  # here: aioquic takes longer to import than a page to play

        seen: list[Visit] = []
        load = play_stack(
            discoveries,
            scheme,
            scenario.network_of(seed),
            seed=seed,
            congestion_control=scenario.congestion_control,
            in_order=scenario.in_order,
            visited=seen.append,
        )
        (visit,) = seen
    return replace(visit, beacon=beacon_of(load, scenario.model)) if beacons else visit


def safe_names(names: Iterable[str]) -> list[str]:
    """Those that are not the safe order's."""
    return [name for name in names if name != SAFE]
