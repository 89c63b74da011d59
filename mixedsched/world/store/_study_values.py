"""What goes into a database of studies and comes out of it. Plain values only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A study without its places."""

    id: int
    name: str
    definition: Mapping[str, Any]
    facts: Mapping[str, Any]  # versions that all its loads must share, and the like


@dataclass(frozen=True, slots=True)
class PlannedBlock:
    """A block to be worked on."""

    number: int  # in its place, from 1
    rank: int  # blocks of lower ranks come first


@dataclass(frozen=True, slots=True)
class PlannedPlace:
    """A site over a link, with its blocks."""

    number: int  # in the order of the study
    site: str
    link: str
    facts: Mapping[str, Any]
    blocks: Sequence[PlannedBlock]


@dataclass(frozen=True, slots=True)
class StoredPlace:
    """A place without its blocks."""

    id: int
    number: int
    site: str
    link: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredLoad:
    """One load as results need it."""

    place_id: int
    block: int  # its number in the place
    attempt: int
    arm: str
    position: int  # in the order of the block
    seed: int
    status: str
    reason: str
    values: Mapping[str, float | None]  # by metric key
    machine: str


@dataclass(frozen=True, slots=True)
class NewLoad:
    """One load to be stored."""

    arm: str
    position: int
    seed: int
    status: str
    reason: str
    values: Mapping[str, float | None]
    record: Mapping[str, Any] | None = None  # everything else that is known of it


@dataclass(frozen=True, slots=True)
class StoredWorker:
    """A process that works, or has worked, on studies."""

    id: int
    name: str
    machine: str
    facts: Mapping[str, Any]
    state: str  # active, quarantined or gone
    reason: str
    silent_s: float  # since its last sign of life
    blocks: int  # that it works on


@dataclass(frozen=True, slots=True)
class BlockCounts:
    """Blocks of a place by state."""

    place_id: int
    open: int = 0
    leased: int = 0
    done: int = 0
    failed: int = 0
    revoked: int = 0  # of earlier versions: not wanted any more
