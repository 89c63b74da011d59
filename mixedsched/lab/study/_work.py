"""What a worker of a study needs to know."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from mixedsched.lab.play.task import MakeReader
from mixedsched.lab.play.values import SimulatedValues, ValuesReader
from mixedsched.lab.study._keeper import LEASE_S
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.places import Place
from mixedsched.world.store import NewLoad, StudyStore

LABORATORY = "laboratory"
"""A fact of studies on rung `browser`: versions of Chromium and whatever else the loads depend on, beside our programs."""


class StudyObserver(Protocol):
    """Follows a study's progress. Its methods may be called from another thread."""

    def left(self, loads: int, machines: Sequence[str]) -> None:
        """How many loads all workers still have to make, and their machines by name: told at the start and now and then."""

    def loading(self, place: Place, block: int, arm: str) -> None:
        """A measured load begins."""

    def loaded(self, place: Place, block: int, load: NewLoad) -> None:
        """It is over, or played."""


class UnobservedStudy:
    """An observer that takes no notice."""

    def left(self, loads: int, machines: Sequence[str]) -> None:
        pass

    def loading(self, place: Place, block: int, arm: str) -> None:
        pass

    def loaded(self, place: Place, block: int, load: NewLoad) -> None:
        pass


@dataclass(frozen=True)
class Work:
    """Some places of a stored study, opened."""

    store: StudyStore
    study_id: int
    study: Study
    places: Mapping[int, Place]  # by id
    folder: Path  # for what a load leaves while it is under way
    observer: StudyObserver = field(default_factory=UnobservedStudy)
    jobs: int | None = None  # processes that simulate; None for one per processor
    reader: MakeReader[SimulatedValues] = ValuesReader  # what is wanted of simulated loads
    has_time: Callable[[], bool] = lambda: True  # asked before each simulated load; once it says no, no other begins
    lease_s: float = LEASE_S  # so long after its last sign of life a worker's blocks go to others
    readmit: bool = False  # work although this machine was quarantined before
