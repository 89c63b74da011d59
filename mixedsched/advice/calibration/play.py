"""Plays measured loads again on rung `stack`: tasks that any process can do, and a memory of what was played."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.stack import play_stack
from mixedsched.errors import PageLoadError
from mixedsched.lab.model import Arm
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.model.scheme import configure
from mixedsched.world import catalog

_NOT_PLAYED = (
    "name",
    "source",
    "document_ms_per_kb",
    "decode_ms_per_kb",
    "paint_ms",
)  # constants without effect on requests


@dataclass(frozen=True)
class Task:
    """One load to play. seed: of what the network does."""

    page: Page
    arm: Arm
    network: Profile
    seed: int
    model: BrowserModel

    @cached_property
    def key(self) -> str:
        """Equal for tasks that come to the same times."""
        constants = {name: value for name, value in asdict(self.model).items() if name not in _NOT_PLAYED}
        page = [{**item.model_dump(mode="json"), "flags": sorted(item.flags)} for item in self.page.resources]
        facts = [page, asdict(self.arm), self.network.facts(), self.seed, constants]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Times:
    """By resource id, in ms since navigation."""

    first_byte_ms: Mapping[str, float]
    complete_ms: Mapping[str, float]


class Workers(Protocol):
    """Does tasks, on all cores, and gives their results in order; None where the network does not let a load come to an end.

    on_result: told each result as soon as it and all before it are there, with its place among the tasks.
    """

    def __call__(
        self, tasks: Sequence[Task], on_result: Callable[[int, Times | None], None] = ...
    ) -> Sequence[Times | None]: ...


def play_task(task: Task) -> Times | None:
    scheme = configure(task.arm.scheme, SCHEMES, catalog.load_mapping, task.arm.mapping)
    try:
        load = play_stack(Discoveries.of(task.page, task.model), scheme, task.network, seed=task.seed)
    except PageLoadError:
        return None
    return Times(
        {item.id: item.first_byte_ms for item in load.resources}, {item.id: item.complete_ms for item in load.resources}
    )


class Memory:
    """Plays tasks with workers, and remembers, in a file, so that what was interrupted goes on.

    subject: fingerprint of the programs that play; what others have played does not count.
    """

    def __init__(self, workers: Workers, file: Path, subject: str) -> None:
        self._workers = workers
        self._file = file
        self._subject = subject
        self._known: dict[str, Times | None] = self._read()

    def play(self, tasks: Sequence[Task]) -> list[Times | None]:
        """Raises what the workers raise; what they gave before is kept."""
        missing = list({task.key: task for task in tasks if task.key not in self._known}.values())
        if missing:
            with self._file.open("a", encoding="utf-8") as file:

                def keep(place: int, times: Times | None) -> None:
                    key = missing[place].key
                    self._known[key] = times
                    file.write(json.dumps([self._subject, key, None if times is None else _listed(times)]) + "\n")
                    file.flush()

                self._workers(missing, keep)
        return [self._known[task.key] for task in tasks]

    def _read(self) -> dict[str, Times | None]:
        known: dict[str, Times | None] = {}
        try:
            lines = self._file.read_text(encoding="utf-8").splitlines()
        except OSError:
            return known
        for line in lines:
            try:
                subject, key, listed = json.loads(line)
                if subject == self._subject:
                    known[key] = None if listed is None else Times(*listed)
            except (ValueError, TypeError):
                continue  # the line that a killed process was writing
        return known


def _listed(times: Times) -> list[dict[str, float]]:
    return [dict(times.first_byte_ms), dict(times.complete_ms)]
