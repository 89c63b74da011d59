"""Pages under schemes: each combination played once, with a record of its load."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mixedsched.core.sim.load import PageLoad, Rung
from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.core.sim.record import Recorder, Weighting
from mixedsched.errors import PageLoadError
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import NamedScheme, Task
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.world.server.qlog_files import SUFFIX


@dataclass(frozen=True, slots=True)
class Simulation:
    """Which loads to play."""

    pages: tuple[Page, ...]
    schemes: tuple[NamedScheme, ...]
    link: Profile | PipeOptions
    send_buffers_bytes: tuple[int, ...] = (0,)  # of rung `pipe`; rung `stack` has no send buffer to set
    seed: int = 1
    congestion_control: str = "cubic"
    model: BrowserModel = IDEAL
    qlog_folder: Path | None = None  # gets a trace of each load on rung `stack`

    @property
    def rung(self) -> Rung:
        return "stack" if isinstance(self.link, Profile) else "pipe"

    @property
    def loads_per_page(self) -> int:
        return len(self.schemes) * len(self.send_buffers_bytes)

    @property
    def total(self) -> int:
        """Loads of all pages."""
        return len(self.pages) * self.loads_per_page

    def tasks(self) -> Iterator[Task]:
        """All loads in the order of their results: by page, then scheme, then send buffer."""
        for page in self.pages:
            scenarios = [
                Scenario(page, link, model=self.model, congestion_control=self.congestion_control)
                for link in self._links()
            ]
            for scheme in self.schemes:
                qlog = self.qlog_folder / trace_name(page.name, scheme.spec) if self.qlog_folder is not None else None
                for scenario in scenarios:
                    yield Task(scenario, scheme, self.seed, qlog)

    def _links(self) -> list[Profile | PipeOptions]:
        if isinstance(self.link, Profile):
            return [self.link]
        return [replace(self.link, send_buffer_bytes=size_bytes) for size_bytes in self.send_buffers_bytes]


def trace_name(page: str, scheme: str) -> str:
    """The file that a load's trace goes into."""
    return f"{_safe_name(page)}--{_safe_name(scheme)}{SUFFIX}"


def _safe_name(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z.=_-]+", "_", text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A load that was played, or could not be finished."""

    record: dict[str, Any]
    """Its JSON object, without the order on the wire, and without its resources unless they are kept. One that
    failed has its `error` instead of times."""
    line: str  # the whole object as JSON, if lines are kept
    load: PageLoad | None  # if loads are kept; None for one that failed

    @property
    def error(self) -> str:
        """Why the load failed; empty where it did not."""
        return str(self.record.get("error", ""))


class RecordReader:
    """Outcomes of whole loads."""

    until = None

    def __init__(
        self,
        scenario: Scenario,
        *,
        weighting: Weighting = "bytes",
        sample_ms: float | None = None,
        keep_lines: bool = False,
        keep_resources: bool = False,
        keep_loads: bool = False,
    ) -> None:
        self._recorder = Recorder(scenario.page, weighting, sample_ms, scenario.model)
        self._keep_lines = keep_lines
        self._keep_resources = keep_resources
        self._keep_loads = keep_loads

    def read(self, _: Task, load: PageLoad) -> Outcome:
        record = self._recorder.record(load)
        line = json.dumps(record, allow_nan=False) if self._keep_lines else ""
        del record["order"]
        if not self._keep_resources:
            del record["resources"]
        return Outcome(record, line, load if self._keep_loads else None)

    def failed(self, task: Task, error: PageLoadError) -> Outcome:
        link = task.scenario.link
        record = {
            "page": task.scenario.page.name,
            "scheme": task.scheme.code,
            "rung": task.scenario.rung,
            "send_buffer_bytes": link.send_buffer_bytes if isinstance(link, PipeOptions) else 0,
            "error": str(error),
        }
        return Outcome(record, json.dumps(record) if self._keep_lines else "", None)
