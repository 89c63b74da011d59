"""Pages under schemes, simulated in virtual time: one load as a value, or every combination with a record of each load."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mixedsched.core.sim.load import PlayedLoad, ResourceTimes, Rung
from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.core.sim.record import Recorder, Weighting
from mixedsched.errors import PageLoadError, UsageError
from mixedsched.lab.learning.taught import TaughtScheme, asks_for_beacons, is_adaptive
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import NamedScheme, Task, play_whole
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.world import catalog
from mixedsched.world.server.qlog_files import SUFFIX


@dataclass(frozen=True, slots=True)
class SimulatedLoad:
    """One page under one scheme, simulated in virtual time."""

    load: PlayedLoad
    model: BrowserModel
    # Of the browser, for estimated paints.

    @property
    def page(self) -> Page:
        return self.load.page

    @property
    def scheme(self) -> str:
        """With parameters, as given."""
        return self.load.scheme

    @property
    def finished_ms(self) -> float:
        """When the last response was complete, since navigation."""
        return self.load.finished_ms

    @property
    def resources(self) -> tuple[ResourceTimes, ...]:
        """When each resource was requested, started and completed, in order of request."""
        return self.load.resources

    @property
    def estimate_ms(self) -> dict[str, float]:
        """Estimated paints: `fcp`, `lcp` and `si`, in ms since navigation."""
        estimate: dict[str, float] = self.to_dict()["estimate_ms"]
        return estimate

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `simulate --json`."""
        return Recorder(self.load.page, model=self.model).record(self.load)


def simulate(
    page: Page | str,
    scheme: str,
    *,
    link: Profile | PipeOptions | str | None = None,
    seed: int = 1,
    mapping: str | None = None,
    browser_model: BrowserModel | str = "ideal",
    congestion_control: str = "cubic",
    in_order: bool = False,
    visits: int = 0,
    churn: float = 0.0,
) -> SimulatedLoad:
    """Simulate one page under one scheme. The same arguments always give the same load.

    Args:
        page: A page, or an argument of `load_page`.
        scheme: Name and parameters, as on the command line: "mixed:alpha=0.5".
        link: A network profile or its name: two real QUIC connections use it (rung `stack`). None, or PipeOptions:
            an ideal paced pipe (rung `pipe`), by default that of Marx et al. 2019.
        seed: For the network's losses and jitter.
        mapping: Name or file of a priority table, instead of the scheme's own.
        browser_model: `ideal`, the name of a calibrated model such as `chromium`, or a file.
        congestion_control: At both ends on rung `stack`: "cubic", "reno" or "cubic-2022".
        in_order: Whether rung `stack` delivers all responses in order, as over TCP, so that each waits for losses of all.
        visits: How many visits scheme "adaptive" learns from before the load that is returned.
        churn: The share of the page's URLs that are new at each visit, 0 to 1.

    Raises:
        MixedschedError: UsageError, MappingError, ProfileError, PageError or BrowserModelError for bad arguments;
            PageLoadError if the page cannot finish over the network.
    """
    if isinstance(page, str):
        from mixedsched.sites.pages import load_page  # here, because most pages are given as such

        page = load_page(page)
    model = catalog.load_browser_model(browser_model) if isinstance(browser_model, str) else browser_model
    network = catalog.load_profile(link) if isinstance(link, str) else link or PipeOptions()
    scenario = Scenario(page, network, model=model, congestion_control=congestion_control, in_order=in_order)
    (chosen,) = with_visits((NamedScheme(scheme, mapping),), visits, churn)
    return SimulatedLoad(play_whole(Task(scenario, chosen, seed)), model)


def with_visits(
    schemes: Sequence[NamedScheme], visits: int, churn: float = 0.0, *, beacons: bool = False
) -> tuple[NamedScheme | TaughtScheme, ...]:
    """The schemes, with visits to learn from for `adaptive`. Raises UsageError where there is nobody to learn from them."""
    if not visits:
        if churn or beacons or any(asks_for_beacons(item.spec) for item in schemes):
            raise UsageError("churn and beacons belong to visits", fix="say how many with --visits")
        return tuple(schemes)
    if not any(is_adaptive(item.spec) for item in schemes):
        raise UsageError("--visits is for scheme adaptive", why="no other scheme learns", fix="add it to --scheme")
    if not 0 <= churn <= 1:
        raise UsageError(f"--churn {churn:g} is not possible", why="it is a share of URLs", fix="a number from 0 to 1")
    return tuple(
        TaughtScheme.of(item.spec, visits, churn, beacons=beacons) if is_adaptive(item.spec) else item
        for item in schemes
    )


@dataclass(frozen=True, slots=True)
class Simulation:
    """Which loads to play."""

    pages: tuple[Page, ...]
    schemes: tuple[NamedScheme | TaughtScheme, ...]
    link: Profile | PipeOptions
    send_buffers_bytes: tuple[int, ...] = (0,)  # of rung `pipe`; rung `stack` has no send buffer to set
    seed: int = 1
    congestion_control: str = "cubic"
    in_order: bool = False  # whether responses come in one line on rung `stack`
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
                Scenario(
                    page, link, model=self.model, congestion_control=self.congestion_control, in_order=self.in_order
                )
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
class RecordedLoad:
    """A load that was played, or could not be finished."""

    record: dict[str, Any]
    """Its JSON object, without the order on the wire, and without its resources unless they are kept. One that
    failed has its `error` instead of times."""
    line: str  # the whole object as JSON, if lines are kept
    load: PlayedLoad | None  # if loads are kept; None for one that failed

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

    def read(self, task: Task, load: PlayedLoad | PageLoadError) -> RecordedLoad:
        record = _failure(task, load) if isinstance(load, PageLoadError) else self._recorder.record(load)
        line = json.dumps(record, allow_nan=False) if self._keep_lines else ""
        record.pop("order", None)
        if not self._keep_resources:
            record.pop("resources", None)
        return RecordedLoad(record, line, load if self._keep_loads and isinstance(load, PlayedLoad) else None)


def _failure(task: Task, error: PageLoadError) -> dict[str, Any]:
    link, scheme = task.scenario.link, task.scheme
    assert isinstance(scheme, NamedScheme | TaughtScheme), "a simulation plays no others"
    return {
        "page": task.scenario.page.name,
        "scheme": scheme.spec,
        "rung": task.scenario.rung,
        "send_buffer_bytes": link.send_buffer_bytes if isinstance(link, PipeOptions) else 0,
        "error": str(error),
    }
