"""Simulated visits that teach: a page is visited again and again, and its memory decides how the next visit is served."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from mixedsched.core.learning.plan import SAFE, with_plan
from mixedsched.core.learning.state import PageState
from mixedsched.core.learning.visit import Visit
from mixedsched.core.sim.pipe import PipeOptions, play_pipe
from mixedsched.core.sim.playback import Discoveries
from mixedsched.lab.learning.churn import churned
from mixedsched.lab.learning.piped import beacon_of, visit_of
from mixedsched.lab.learning.search import adaptive_scheme, search
from mixedsched.lab.play.scenario import Scenario
from mixedsched.model.page import Page
from mixedsched.model.scheme import ConfiguredScheme

_SEEDS_FROM = 7_000_000  # of visits; apart from those of loads that are told, and of the search
_SEEDS_APART = 10_000


def teach(
    scenario: Scenario,
    visits: int,
    *,
    churn: float = 0.0,
    seed: int = 1,
    beacons: bool = False,
    say: Callable[[int], None] = lambda _: None,
) -> PageState:
    """Play so many visits, each by the order that the earlier ones have taught. say: told the number of each before it."""
    state, rng = PageState.of("/"), random.Random(seed)
    for number in range(1, visits + 1):
        say(number)
        page = page_of_visit(scenario.page, churn, seed, number)
        visit_seed = _SEEDS_FROM + seed * _SEEDS_APART + number
        learn(state, replace(scenario, page=page), visit_seed, rng, beacons=beacons)
        if state.wants_thought or (number == visits and number > 1):
            think(state, scenario)
    return state


def page_of_visit(page: Page, churn: float, seed: int, number: int) -> Page:
    """The page under the names that it has at that visit."""
    return churned(page, churn, random.Random(f"{seed}/{number}"))


def learn(state: PageState, scenario: Scenario, seed: int, rng: random.Random, *, beacons: bool = False) -> None:
    """One visit, by the order that its server would choose."""
    plan = state.choose(rng)
    visit = play_visit(scenario, with_plan(adaptive_scheme(), plan), seed, beacons=beacons)
    state.learn(replace(visit, order=SAFE if plan is None else plan.name))


def think(state: PageState, scenario: Scenario) -> None:
    """Search the orders anew."""
    pipe = scenario.link if isinstance(scenario.link, PipeOptions) else None
    state.propose(search(state.memory, state.classes, scenario.model, pipe=pipe, left=state.guard.left))


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
