"""Plays candidates: tasks that any process can do, and who does them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, Protocol

from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.result import Estimates
from mixedsched.advice.tuner.scene import Scene, Stage
from mixedsched.core.sim.load import PageLoad
from mixedsched.core.sim.pipe import play_pipe
from mixedsched.core.sim.stack import play_stack
from mixedsched.errors import PageLoadError
from mixedsched.model.mapping import PriorityMapping
from mixedsched.model.scheme import ConfiguredScheme
from mixedsched.world import catalog

Rung = Literal["pipe", "stack"]


@dataclass(frozen=True, slots=True)
class Task:
    """One load to play. scene: its place in the list of scenes. seed: of what the network does; without a meaning on pipe."""

    scene: int
    candidate: Candidate
    rung: Rung
    seed: int = 0


class Workers(Protocol):
    """Does tasks and gives what they come to, in their order; None where the network never lets a load end.

    on_result: called for each task that is done, in whatever order. The results are the same from any number of processes.
    """

    def play(
        self, scenes: Sequence[Scene], tasks: Sequence[Task], on_result: Callable[[], None] = ...
    ) -> list[Estimates | None]: ...


class Player:
    """Plays tasks of some scenes, in this process."""

    def __init__(self, scenes: Sequence[Scene]) -> None:
        self._scenes = scenes
        self._stages: dict[int, Stage] = {}
        self._last: tuple[Candidate, ConfiguredScheme] | None = None

    def load(self, task: Task) -> PageLoad:
        """To its last byte, on the network itself, for people to look at.

        Raises PageLoadError where it does not let a load come to an end.
        """
        stage, scheme = self._stage(task.scene), self._configured(task.candidate)
        if task.rung == "pipe":
            return play_pipe(replace(stage.on_pipe, awaited=None), scheme, stage.pipe)
        return play_stack(replace(stage.on_stack, awaited=None), scheme, stage.scene.network, seed=task.seed)

    def play(self, task: Task) -> Estimates | None:
        """The estimated paints of a load; None where the network does not let it come to its last paint."""
        stage, scheme = self._stage(task.scene), self._configured(task.candidate)
        try:
            if task.rung == "pipe":
                load = play_pipe(stage.on_pipe, scheme, stage.pipe)
            else:
                load = play_stack(stage.on_stack, scheme, stage.scene.network_of(task.seed), seed=task.seed)
        except PageLoadError:
            return None
        return estimates_of(load, stage)

    def _stage(self, place: int) -> Stage:
        if place not in self._stages:
            self._stages[place] = Stage.of(self._scenes[place])
        return self._stages[place]

    def _configured(self, candidate: Candidate) -> ConfiguredScheme:
        """A candidate is played several times in a row, and its table is made once."""
        if self._last is None or self._last[0] != candidate:
            self._last = (candidate, candidate.configured(_load_mapping))
        return self._last[1]


class Alone:
    """Workers without processes: this one does it all."""

    def __init__(self) -> None:
        self._scenes: Sequence[Scene] = ()
        self._player = Player(())

    def play(
        self, scenes: Sequence[Scene], tasks: Sequence[Task], on_result: Callable[[], None] = lambda: None
    ) -> list[Estimates | None]:
        if self._scenes is not scenes:
            self._scenes, self._player = scenes, Player(scenes)
        results = []
        for task in tasks:
            results.append(self._player.play(task))
            on_result()
        return results


def estimates_of(load: PageLoad, stage: Stage) -> Estimates:
    """The estimated paints of a load."""
    paints = stage.needs.estimate(
        {item.id: item.first_byte_ms for item in load.resources},
        {item.id: item.complete_ms for item in load.resources},
        stage.scene.model,
        stage.scene.hero_needs,
    )
    return Estimates(paints.fcp_ms, paints.lcp_ms, paints.si_ms)


def play_task(scenes: Sequence[Scene], task: Task) -> Estimates | None:
    """A single one, with everything made anew."""
    return Player(scenes).play(task)


@cache
def _read_mapping(name: str, switches: tuple[tuple[str, str], ...]) -> PriorityMapping:
    return catalog.load_mapping(name, dict(switches))


def _load_mapping(name: str, switches: object) -> PriorityMapping:
    """Files are read once, however many candidates name them."""
    assert isinstance(switches, dict)
    return _read_mapping(name, tuple(sorted(switches.items())))
