"""Which changes help in simulation: single ones first, then sets of them. Pure but for the `play` it is given.

The best set is found greedily: changes join one by one in the order of what they gain alone, if the set is better with them,
and those that turn out to be idle in company leave again. A cost per member keeps sets small: an owner has to make every
change.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from mixedsched.advice.changes.change import Change
from mixedsched.advice.changes.observed import scenario_of
from mixedsched.advice.changes.own_server import KeptServer
from mixedsched.advice.changes.page_change import PageModel
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.errors import PageLoadError
from mixedsched.lab.play.scenario import LEAST_GAIN, seeds_for
from mixedsched.lab.play.task import NamedScheme, Simulator, Task
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.profile import Profile

COST_OF_A_CHANGE = 0.002
FCP_WEIGHT = 0.25  # of a gain in first paint beside one in largest paint; a loss counts in full


Changes = tuple[Change, ...]
ByNetwork = Mapping[str, PaintEstimate]  # medians over seeds
# Plays today's page (no changes) and editions of it; what it gives has their order.
Play = Callable[[Sequence[Changes]], Sequence[ByNetwork]]


@dataclass(frozen=True, slots=True)
class Tried:
    """A set of changes and what it does in simulation, by network."""

    changes: Changes
    paints: ByNetwork
    score: float
    """The lower the better; 0 is as today."""

    def lcp_change_pct(self, today: ByNetwork, network: str) -> float:
        return (self.paints[network].lcp_ms / today[network].lcp_ms - 1) * 100

    def fcp_change_pct(self, today: ByNetwork, network: str) -> float:
        return (self.paints[network].fcp_ms / today[network].fcp_ms - 1) * 100


@dataclass(frozen=True, slots=True)
class Screening:
    """singles: every candidate, best first. best: the best set, empty changes if nothing helps. simpler: sets of a part of
    its changes (those of the document, those of the server, the best one alone), best first."""

    today: ByNetwork
    singles: tuple[Tried, ...]
    best: Tried
    simpler: tuple[Tried, ...]


def screen(candidates: Sequence[Change], play: Play) -> Screening:
    """Find the best set of changes. play: asked a few times for many editions at once, so that it can use all cores."""
    sets: list[Changes] = [(), *((change,) for change in candidates)]
    today, *paints = play(sets)
    singles = sorted(
        (_tried(changes, found, today) for changes, found in zip(sets[1:], paints, strict=True)),
        key=lambda item: item.score,  # stable: equals stay in the order of the rules
    )
    in_order = [item.changes[0] for item in singles]
    best = _pruned(_grown(in_order, Tried((), today, 0.0), today, play), today, play)
    return Screening(today, tuple(singles), best, _simpler(best, singles, today, play))


def score(paints: ByNetwork, today: ByNetwork, changes: int) -> float:
    """Mean logarithm of the largest paint against today, first paint beside it, and a little for every change."""
    lcp = _mean([math.log(paints[name].lcp_ms / today[name].lcp_ms) for name in today])
    fcp = _mean([math.log(paints[name].fcp_ms / today[name].fcp_ms) for name in today])
    return lcp + (fcp if fcp > 0 else FCP_WEIGHT * fcp) + COST_OF_A_CHANGE * changes


def _tried(changes: Changes, paints: ByNetwork, today: ByNetwork) -> Tried:
    return Tried(changes, paints, score(paints, today, len(changes)))


def _grown(candidates: Sequence[Change], start: Tried, today: ByNetwork, play: Play) -> Tried:
    """Sets that grow by one change at a time. All get their chance: one that harms alone may help in company."""
    best = start
    for change in candidates:
        grown = _tried((*best.changes, change), play([(*best.changes, change)])[0], today)
        if grown.score < best.score - LEAST_GAIN:
            best = grown
    return best


def _pruned(best: Tried, today: ByNetwork, play: Play) -> Tried:
    """The set without what is idle in it."""
    while len(best.changes) > 1:
        smaller = [best.changes[:index] + best.changes[index + 1 :] for index in range(len(best.changes))]
        tried = [_tried(changes, paints, today) for changes, paints in zip(smaller, play(smaller), strict=True)]
        lightest = min(tried, key=lambda item: item.score)
        if lightest.score > best.score + LEAST_GAIN:
            break
        best = lightest
    return best


def _simpler(best: Tried, singles: Sequence[Tried], today: ByNetwork, play: Play) -> tuple[Tried, ...]:
    parts = [
        tuple(change for change in best.changes if change.is_html),
        tuple(change for change in best.changes if not change.is_html),
        *(item.changes for item in singles[:1] if item.changes[0] in best.changes),
    ]
    wanted = [changes for changes in dict.fromkeys(parts) if changes and changes != best.changes]
    tried = [_tried(changes, paints, today) for changes, paints in zip(wanted, play(wanted), strict=True)]
    return tuple(sorted((item for item in tried if item.score < -LEAST_GAIN), key=lambda item: item.score))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


# Playing editions


class EditionPlayer:
    """Plays sets of changes to today's page.

    models: of today's page, by network name. browser: plays all of them. seed: of the audit. own: the server
    that advice is for, if it is for one.
    """

    def __init__(
        self,
        models: Mapping[str, PageModel],
        networks: Sequence[Profile],
        simulator: Simulator[PaintEstimate | None],
        browser: BrowserModel,
        seed: int,
        own: KeptServer | None = None,
    ) -> None:
        self._models = models
        self._networks = tuple(networks)
        self._simulator = simulator
        self._browser = browser
        self._seeds = seeds_for(seed)
        self._own = own

    def under(self, scheme: str) -> Callable[[Sequence[Changes]], list[ByNetwork]]:
        """A function that plays editions under a delivery scheme. Raises PageLoadError where a load never ends."""
        return lambda sets: self.play_models(
            scheme, [{name: model.with_changes(changes) for name, model in self._models.items()} for changes in sets]
        )

    def play_models(self, scheme: str, pages: Sequence[Mapping[str, PageModel]]) -> list[ByNetwork]:
        """Play pages, each given by network. Raises PageLoadError where a load never ends."""
        tasks = [
            (place, network.name, task)
            for place, models in enumerate(pages)
            for network in self._networks
            for task in self._tasks(NamedScheme(scheme), models[network.name], network)
        ]
        paints: list[dict[str, list[PaintEstimate]]] = [{} for _ in pages]
        for (place, name, _), result in zip(tasks, self._simulator.play([task for *_, task in tasks]), strict=True):
            if result is None:
                raise PageLoadError(
                    f"a simulated load never ends over {name}",
                    why="the network loses too much, or is too slow for the page",
                    fix="choose other --networks",
                )
            paints[place].setdefault(name, []).append(result)
        return [{name: PaintEstimate.median_of(items) for name, items in of_set.items()} for of_set in paints]

    def _tasks(self, scheme: NamedScheme, model: PageModel, network: Profile) -> list[Task]:
        scenario, own = scenario_of(model, network, self._browser), self._own
        if own is not None:
            scenario = replace(scenario, raises=own.heeds, in_order=own.in_order)
        return [Task(scenario, scheme, seed) for seed in scenario.few_seeds_of(self._seeds)]
