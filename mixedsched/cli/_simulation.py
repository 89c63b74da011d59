"""A simulation: which loads to play, in which order, and one of them played. Fit to be sent to worker processes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim.load import PageLoad, Rung
from mixedsched.core.sim.pipe import PipeOptions, play_pipe
from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.record import Recorder, Weighting
from mixedsched.errors import PageLoadError
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.model.scheme import ConfiguredScheme, configure
from mixedsched.world import catalog
from mixedsched.world.server.qlog_files import SUFFIX, QlogFile


@dataclass(frozen=True, slots=True)
class Pipe:
    """Rung `pipe` with everything set but the send buffer."""

    options: PipeOptions
    name: Rung = "pipe"

    def play(self, discoveries: Discoveries, scheme: ConfiguredScheme, send_buffer_bytes: int) -> PageLoad:
        return play_pipe(discoveries, scheme, replace(self.options, send_buffer_bytes=send_buffer_bytes))


@dataclass(frozen=True, slots=True)
class Stack:
    """Rung `stack` over a network. It has no send buffer to set. qlog_folder: gets a trace of each load; None for none."""

    network: Profile
    seed: int
    congestion_control: str
    qlog_folder: Path | None = None
    name: Rung = "stack"

    def play(self, discoveries: Discoveries, scheme: ConfiguredScheme, send_buffer_bytes: int) -> PageLoad:  # noqa: ARG002
        # Here, because aioquic takes longer to import than a page to play.
        from mixedsched.core.sim.stack import play_stack

        file = None
        if self.qlog_folder is not None:
            file = QlogFile(self.qlog_folder / trace_name(discoveries.page.name, scheme.label))
        try:
            return play_stack(
                discoveries,
                scheme,
                self.network,
                seed=self.seed,
                congestion_control=self.congestion_control,
                qlog=file.write if file is not None else None,
            )
        finally:
            if file is not None:
                file.flush()


def trace_name(page: str, scheme: str) -> str:
    """The file that a load's trace goes into."""
    return f"{_safe_name(page)}--{_safe_name(scheme)}{SUFFIX}"


def _safe_name(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z.=_-]+", "_", text)


class Task(NamedTuple):
    """One load: places in the simulation's pages and schemes, and the send buffer."""

    page: int
    scheme: int
    send_buffer_bytes: int


@dataclass(frozen=True, slots=True)
class Simulation:
    """What to play and what to keep of it.

    schemes: specs, all of them checked. mapping: for all of them, instead of their own. model: of the browser that plays.
    keep_lines, keep_resources, keep_loads: whether an outcome has its JSON line, its completion times, and the load itself.
    """

    pages: tuple[Page, ...]
    schemes: tuple[str, ...]
    mapping: str | None
    rung: Pipe | Stack
    send_buffers_bytes: tuple[int, ...]
    weighting: Weighting
    sample_ms: float | None
    keep_lines: bool = False
    keep_resources: bool = False
    keep_loads: bool = False
    model: BrowserModel = IDEAL

    def tasks(self) -> Iterator[Task]:
        """All loads in the order of their results: by page, then scheme, then send buffer."""
        for page in range(len(self.pages)):
            for scheme in range(len(self.schemes)):
                for send_buffer_bytes in self.send_buffers_bytes:
                    yield Task(page, scheme, send_buffer_bytes)

    @property
    def loads_per_page(self) -> int:
        return len(self.schemes) * len(self.send_buffers_bytes)

    @property
    def total(self) -> int:
        """How many loads."""
        return len(self.pages) * self.loads_per_page


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task.

    figures: the load's record without its wire order, and without its resources unless they are kept; empty where the load
    failed, which `error` then explains. line: its JSON.
    """

    task: Task
    figures: dict[str, Any]
    line: str = ""
    load: PageLoad | None = None
    error: str = ""


class Player:
    """Plays the tasks of a simulation, one at a time; what a page needs is made when its turn comes."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._schemes = [
            configure(spec, SCHEMES, catalog.load_mapping, simulation.mapping) for spec in simulation.schemes
        ]
        self._page = -1  # which page these two are of
        self._discoveries: Discoveries
        self._recorder: Recorder

    def play(self, task: Task) -> Outcome:
        """Play one load. A load that cannot be finished is an outcome too; what is wrong with the input is raised."""
        simulation = self._simulation
        self._turn_to(task.page)
        try:
            load = simulation.rung.play(self._discoveries, self._schemes[task.scheme], task.send_buffer_bytes)
        except PageLoadError as error:
            return self._failure(task, str(error))
        record = self._recorder.record(load)
        line = json.dumps(record, allow_nan=False) if simulation.keep_lines else ""
        del record["order"]
        if not simulation.keep_resources:
            del record["resources"]
        return Outcome(task, record, line, load if simulation.keep_loads else None)

    def _turn_to(self, page: int) -> None:
        if page != self._page:
            simulation = self._simulation
            self._discoveries = Discoveries.of(simulation.pages[page], simulation.model)
            self._recorder = Recorder(
                simulation.pages[page], simulation.weighting, simulation.sample_ms, simulation.model
            )
            self._page = page

    def _failure(self, task: Task, error: str) -> Outcome:
        simulation = self._simulation
        record = {
            "page": simulation.pages[task.page].name,
            "scheme": simulation.schemes[task.scheme],
            "rung": simulation.rung.name,
            "send_buffer_bytes": task.send_buffer_bytes,
            "error": error,
        }
        return Outcome(task, {}, json.dumps(record) if simulation.keep_lines else "", None, error)
