"""Plays editions of a page on rung `stack`: tasks that any process can do, and what they come to by network."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mixedsched.advice.audit.screening import ByNetwork, Changes, Paints
from mixedsched.advice.changes.change import code_of
from mixedsched.advice.changes.page_change import PageModel
from mixedsched.core.metrics.paint import PaintNeeds
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim.load import PageLoad
from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.stack import play_stack
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.model.scheme import configure
from mixedsched.world import catalog

SEEDS, SEEDS_OF_LARGE_PAGES = 4, 2  # of losses; a link without any is the same for every seed
LARGE_PAGE_BYTES = 3_000_000


@dataclass(frozen=True, slots=True)
class Task:
    """One load to play. seed: of the link's losses. hero_needs: ids of what must be complete before the hero can be drawn."""

    page: Page
    scheme: str
    network: Profile
    seed: int
    hero_needs: tuple[str, ...] = ()


# Does tasks, on all cores, and gives their results in order.
Workers = Callable[[Sequence[Task]], Sequence[Paints]]


def play_load(task: Task) -> PageLoad:
    """Raises PageLoadError where the network does not let it come to an end."""
    scheme = configure(task.scheme, SCHEMES, catalog.load_mapping, None)
    return play_stack(Discoveries.of(task.page), scheme, task.network, seed=task.seed)


def play_task(task: Task) -> Paints:
    """As play_load, the estimated paints."""
    load = play_load(task)
    complete_ms = {item.id: item.complete_ms for item in load.resources}
    first_byte_ms = {item.id: item.first_byte_ms for item in load.resources}
    estimate = PaintNeeds.of(task.page).estimate(first_byte_ms, complete_ms)
    return Paints(estimate.fcp_ms, max([estimate.lcp_ms, *(complete_ms[name] for name in task.hero_needs)]))


class Player:
    """Plays sets of changes on all networks, each set once: what was played is remembered, in a file too.

    models: of today's page, by network name. first_seed: seeds count from it, apart from those of measurements. memory: file
    of earlier results; those of another `subject` are forgotten.
    """

    def __init__(
        self,
        models: Mapping[str, PageModel],
        networks: Sequence[Profile],
        workers: Workers,
        *,
        first_seed: int,
        memory: Path,
        subject: str,
    ) -> None:
        self._models = models
        self._networks = tuple(networks)
        self._workers = workers
        self._first_seed = first_seed
        self._memory = memory
        self._subject = subject
        self._known: dict[str, dict[str, Paints]] = self._remembered()

    def under(self, scheme: str) -> Callable[[Sequence[Changes]], list[ByNetwork]]:
        """What plays editions under a delivery scheme."""
        return lambda sets: self._play(scheme, sets)

    def _play(self, scheme: str, sets: Sequence[Changes]) -> list[ByNetwork]:
        names = [f"{scheme}: {code_of(changes)}" for changes in sets]
        missing = {name: changes for name, changes in zip(names, sets, strict=True) if name not in self._known}
        tasks = [
            (name, network.name, task)
            for name, changes in missing.items()
            for network in self._networks
            for task in self._tasks(scheme, changes, network)
        ]
        paints: dict[tuple[str, str], list[Paints]] = {}
        if tasks:
            for (name, network_name, _), result in zip(tasks, self._workers([task for *_, task in tasks]), strict=True):
                paints.setdefault((name, network_name), []).append(result)
        for (name, network_name), results in paints.items():
            self._known.setdefault(name, {})[network_name] = _median(results)
        if tasks:
            self._remember()
        return [self._known[name] for name in names]

    def _tasks(self, scheme: str, changes: Changes, network: Profile) -> list[Task]:
        model = self._models[network.name].with_changes(changes)
        page = model.played()
        seeds = range(self._first_seed, self._first_seed + seeds_for(page, network))
        return [Task(page, scheme, network, seed, model.hero_needs) for seed in seeds]

    def _remembered(self) -> dict[str, dict[str, Paints]]:
        try:
            stored = json.loads(self._memory.read_bytes())
            if stored["subject"] != self._subject:
                return {}
            return {
                name: {network: Paints(*values) for network, values in by_network.items()}
                for name, by_network in stored["played"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}  # it costs a minute to play again

    def _remember(self) -> None:
        played = {
            name: {network: [paints.fcp_ms, paints.lcp_ms] for network, paints in by_network.items()}
            for name, by_network in self._known.items()
        }
        aside = self._memory.with_suffix(".new")
        aside.write_text(json.dumps({"subject": self._subject, "played": played}), encoding="utf-8")
        aside.replace(self._memory)


def seeds_for(page: Page, network: Profile) -> int:
    """How many loads tell what a page does on a network."""
    if not any(direction.loss.mean_ratio > 0 or direction.may_reorder for direction in (network.down, network.up)):
        return 1
    size_bytes = sum(item.body_bytes for item in page.resources)
    return SEEDS_OF_LARGE_PAGES if size_bytes > LARGE_PAGE_BYTES else SEEDS


def _median(results: Sequence[Paints]) -> Paints:
    return Paints(
        statistics.median(item.fcp_ms for item in results), statistics.median(item.lcp_ms for item in results)
    )
