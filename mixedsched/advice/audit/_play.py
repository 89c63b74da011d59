"""Plays editions of a page, which differ from today's in some changes, on all networks."""

from collections.abc import Callable, Mapping, Sequence

from mixedsched.advice.audit._screening import ByNetwork, Changes
from mixedsched.advice.changes.observed import scenario_of
from mixedsched.advice.changes.page_change import PageModel
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.errors import PageLoadError
from mixedsched.lab.play.scenario import seeds_for
from mixedsched.lab.play.task import NamedScheme, Simulator, Task
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.profile import Profile


class EditionPlayer:
    """Plays sets of changes to today's page.

    models: of today's page, by network name. browser: plays all of them. seed: of the audit.
    """

    def __init__(
        self,
        models: Mapping[str, PageModel],
        networks: Sequence[Profile],
        simulator: Simulator[PaintEstimate | None],
        browser: BrowserModel,
        seed: int,
    ) -> None:
        self._models = models
        self._networks = tuple(networks)
        self._simulator = simulator
        self._browser = browser
        self._seeds = seeds_for(seed)

    def under(self, scheme: str) -> Callable[[Sequence[Changes]], list[ByNetwork]]:
        """A function that plays editions under a delivery scheme. Raises PageLoadError where a load never ends."""
        return lambda sets: self._play(NamedScheme(scheme), sets)

    def _play(self, scheme: NamedScheme, sets: Sequence[Changes]) -> list[ByNetwork]:
        tasks = [
            (place, network.name, task)
            for place, changes in enumerate(sets)
            for network in self._networks
            for task in self._tasks(scheme, changes, network)
        ]
        paints: list[dict[str, list[PaintEstimate]]] = [{} for _ in sets]
        for (place, name, _), result in zip(tasks, self._simulator.play([task for *_, task in tasks]), strict=True):
            if result is None:
                raise PageLoadError(
                    f"a simulated load never ends over {name}",
                    why="the network loses too much, or is too slow for the page",
                    fix="choose other --networks",
                )
            paints[place].setdefault(name, []).append(result)
        return [{name: PaintEstimate.median_of(items) for name, items in of_set.items()} for of_set in paints]

    def _tasks(self, scheme: NamedScheme, changes: Changes, network: Profile) -> list[Task]:
        scenario = scenario_of(self._models[network.name].with_changes(changes), network, self._browser)
        return [Task(scenario, scheme, seed) for seed in scenario.few_seeds_of(self._seeds)]
