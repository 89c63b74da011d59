"""One simulated load: a task is a scenario, a delivery scheme and a seed. A player plays tasks in this process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

from mixedsched.core.metrics.paint import PaintEstimate, PaintNeeds
from mixedsched.core.schedulers import COMPARED, SCHEMES, SERVER_SCHEMES
from mixedsched.core.sim.load import PlayedLoad
from mixedsched.core.sim.pipe import PipeOptions, play_pipe
from mixedsched.core.sim.playback import Discoveries
from mixedsched.errors import PageLoadError
from mixedsched.lab.play.scenario import Scenario
from mixedsched.model.mapping import PriorityMapping
from mixedsched.model.page import Page
from mixedsched.model.scheme import SERVERS, ConfiguredScheme, MappingLoader, configure, split_specs
from mixedsched.world import catalog
from mixedsched.world.server.qlog_files import QlogFile

R_co = TypeVar("R_co", covariant=True)
Result = TypeVar("Result")

SCENARIOS_KEPT = 32  # by a player, ready to be played again
SCHEMES_KEPT = 256
ALL_SCHEMES = "all"
_GROUPS = {ALL_SCHEMES: COMPARED, SERVERS: SERVER_SCHEMES}


class SchemeChoice(Protocol):
    """A delivery scheme to play; can be sent to another process."""

    def __hash__(self) -> int: ...

    @property
    def code(self) -> str:
        """Names it: equal for equal choices."""

    def configured(self, load_mapping: MappingLoader) -> ConfiguredScheme:
        """Ready to be played. Raises UsageError, MappingError."""


@dataclass(frozen=True, slots=True)
class Taught:
    """A scheme that has learned from visits, the page as it is at the next one, and what the record of its load tells."""

    scheme: ConfiguredScheme
    page: Page
    facts: Mapping[str, Any]


@runtime_checkable
class LearningScheme(Protocol):
    """A scheme choice that depends on what is played: it learns from visits of this page first."""

    def taught(self, scenario: Scenario, seed: int, scheme: ConfiguredScheme) -> Taught:
        """Play the visits. scheme: before any of them. Raises PageLoadError where the network never lets one end."""


@dataclass(frozen=True, slots=True)
class NamedScheme:
    """A scheme as users write it."""

    spec: str  # name and parameters: "mixed:alpha=0.5"
    mapping: str | None = None  # name or file of a priority table, instead of the scheme's own

    @property
    def code(self) -> str:
        return self.spec if self.mapping is None else f"{self.spec} @{self.mapping}"

    def configured(self, load_mapping: MappingLoader) -> ConfiguredScheme:
        return configure(self.spec, SCHEMES, load_mapping, self.mapping)


def read_schemes(text: str, mapping: str | None = None) -> tuple[NamedScheme, ...]:
    """A list such as "sequential,mixed:alpha=0.5"; `all` stands for COMPARED, `servers` for the models of other servers.
    mapping: a table for all of them.

    All are checked. Raises UsageError, MappingError.
    """
    specs = [name for spec in split_specs(text) for name in _GROUPS.get(spec, (spec,))]
    schemes = tuple(NamedScheme(spec, mapping) for spec in specs)
    for scheme in schemes:
        scheme.configured(catalog.load_mapping)
    return schemes


@dataclass(frozen=True, slots=True)
class Task:
    """One load to play."""

    scenario: Scenario
    scheme: SchemeChoice
    seed: int = 0  # of what the network does; without effect on rung `pipe`
    qlog: Path | None = None  # the file for a trace of both connections, on rung `stack`


class Reader(Protocol[R_co]):
    """Reads what is wanted off the loads of one scenario. It is made in the process that plays them, once for a scenario."""

    @property
    def until(self) -> Collection[str] | None:
        """Ids of the resources with which loads may end; None for whole loads."""

    def read(self, task: Task, load: PlayedLoad | PageLoadError) -> R_co:
        """The result. load: an error where the network does not let it come to its end."""


class StorableReader(Reader[R_co], Protocol[R_co]):
    """A reader whose results are plain values."""

    result: ClassVar[Any]  # their type, which pydantic turns into JSON and back

    def __init__(self, scenario: Scenario) -> None: ...


MakeReader = Callable[[Scenario], Reader[Result]]
"""A class, or something else that can be sent to another process."""


class Simulator(Protocol[R_co]):
    """Plays tasks and gives their results in their order: the pool, or what remembers results in front of it."""

    def play(self, tasks: Sequence[Task], /) -> Sequence[R_co]: ...


class PaintReader:
    """Estimated paints, of loads that end with the last of them; None where that never comes."""

    result: ClassVar[Any] = PaintEstimate | None

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._needs = PaintNeeds.of(scenario.page)
        self.until = self._needs.awaited(scenario.hero_needs)

    def read(self, _: Task, load: PlayedLoad | PageLoadError) -> PaintEstimate | None:
        if isinstance(load, PageLoadError):
            return None
        times, scenario = LoadTimes.of(load), self._scenario
        return self._needs.estimate(times.first_byte_ms, times.complete_ms, scenario.model, scenario.hero_needs)


@dataclass(frozen=True, slots=True)
class LoadTimes:
    """When the first byte and all of each resource were there: by id, in ms since navigation."""

    first_byte_ms: Mapping[str, float]
    complete_ms: Mapping[str, float]

    @classmethod
    def of(cls, load: PlayedLoad) -> LoadTimes:
        return cls(
            {item.id: item.first_byte_ms for item in load.resources},
            {item.id: item.complete_ms for item in load.resources},
        )


class TimesReader:
    """The times of whole loads; None for those that never end."""

    result: ClassVar[Any] = LoadTimes | None
    until = None

    def __init__(self, _: Scenario) -> None:
        pass

    def read(self, _: Task, load: PlayedLoad | PageLoadError) -> LoadTimes | None:
        return None if isinstance(load, PageLoadError) else LoadTimes.of(load)


class Player(Generic[Result]):
    """Plays tasks in this process. What a scenario needs is made with its first load, and kept for the next ones."""

    def __init__(self, reader: MakeReader[Result]) -> None:
        self._reader = reader
        self._configured = scheme_loader()
        self._ready: dict[int, tuple[Scenario, Reader[Result], Discoveries]] = {}  # by identity of the scenario

    def play(self, task: Task) -> Result:
        """Raises what is wrong with the scheme (UsageError, MappingError); of a load that never ends the reader is told."""
        scheme = self._configured(task.scheme)
        _, reader, discoveries = self._ready.get(id(task.scenario)) or self._prepared(task.scenario)
        try:
            load: PlayedLoad | PageLoadError = _play(task, discoveries, scheme)
        except PageLoadError as error:
            load = error
        return reader.read(task, load)

    def _prepared(self, scenario: Scenario) -> tuple[Scenario, Reader[Result], Discoveries]:
        if len(self._ready) == SCENARIOS_KEPT:
            del self._ready[next(iter(self._ready))]
        reader = self._reader(scenario)
        ready = (scenario, reader, Discoveries.of(scenario.page, scenario.model, reader.until))
        self._ready[id(scenario)] = ready
        return ready


def play_whole(task: Task) -> PlayedLoad:
    """One load to its last byte, on the network itself even if seeds vary it. Raises PageLoadError where it never ends."""
    task = replace(task, scenario=replace(task.scenario, is_varied=False))
    return _play(task, Discoveries.of(task.scenario.page, task.scenario.model), scheme_loader()(task.scheme))


def _play(task: Task, discoveries: Discoveries, scheme: ConfiguredScheme) -> PlayedLoad:
    scenario = task.scenario
    if isinstance(task.scheme, LearningScheme):
        taught = task.scheme.taught(scenario, task.seed, scheme)
        awaited = discoveries.awaited
        until = None if awaited is None else [scenario.page.resources[place].id for place in awaited]
        discoveries = Discoveries.of(taught.page, scenario.model, until)
        load = _play_by(task, discoveries, taught.scheme)
        return replace(load, facts={**load.facts, **taught.facts})
    return _play_by(task, discoveries, scheme)


def _play_by(task: Task, discoveries: Discoveries, scheme: ConfiguredScheme) -> PlayedLoad:
    scenario = task.scenario
    if isinstance(scenario.link, PipeOptions):
        return play_pipe(discoveries, scheme, scenario.link)
    # Here, because aioquic takes longer to import than a page to play.
    from mixedsched.core.sim.stack import play_stack

    network, write, close = scenario.network_of(task.seed), None, _nothing
    if task.qlog is not None:
        file = QlogFile(task.qlog)
        write, close = file.write, file.flush
    try:
        return play_stack(
            discoveries,
            scheme,
            network,
            seed=task.seed,
            congestion_control=scenario.congestion_control,
            in_order=scenario.in_order,
            raises=scenario.raises,
            qlog=write,
        )
    finally:
        close()


def scheme_loader() -> Callable[[SchemeChoice], ConfiguredScheme]:
    """Makes schemes ready. It reads each table once, however many schemes name it; a new loader reads it anew.

    What it gives raises UsageError, MappingError.
    """

    @cache
    def read(name: str, switches: tuple[tuple[str, str], ...]) -> PriorityMapping:
        return catalog.load_mapping(name, dict(switches))

    def load_mapping(name: str, switches: Mapping[str, str]) -> PriorityMapping:
        return read(name, tuple(sorted(switches.items())))

    @lru_cache(SCHEMES_KEPT)
    def load(scheme: SchemeChoice) -> ConfiguredScheme:
        return scheme.configured(load_mapping)

    return load


def _nothing() -> None:
    pass
