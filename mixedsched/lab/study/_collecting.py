"""Loads of a study as they come, in any order, into tables of values; nothing else of a load is kept."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mixedsched.core.metrics import METRICS
from mixedsched.lab.model import RunStatus
from mixedsched.world.store import StoredLoad

OTHER_KEYS = ("score", "finished_ms", "byte_index_ms", "byte_index_atf_ms", "loss_pct")
"""Values of loads that are shown and not compared: Lighthouse's score is better if it is higher."""
VALUE_KEYS = (*(metric.key for metric in METRICS), *OTHER_KEYS)
_MISSING = -1


@dataclass(slots=True)
class LoadsOfPlace:
    """The loads of one place."""

    arms: int
    numbers: array[float] = field(
        default_factory=lambda: array("d")
    )  # VALUE_KEYS of every ok load, one after the other
    attempts: dict[tuple[int, int], array[int]] = field(default_factory=dict)
    """By block and attempt: of each arm, which of the ok loads it is; _MISSING for none."""
    machines: dict[tuple[int, int], str] = field(default_factory=dict)
    attempted: list[int] = field(default_factory=list)  # by arm
    failures: Counter[tuple[int, str, str]] = field(default_factory=Counter)  # by arm, status and reason

    def __post_init__(self) -> None:
        self.attempted = [0] * self.arms

    def add(self, load: StoredLoad, arm: int) -> None:
        self.attempted[arm] += 1
        if load.status != RunStatus.OK:
            self.failures[arm, load.status, load.reason] += 1
            return
        place = load.block, load.attempt
        rows = self.attempts.get(place)
        if rows is None:
            rows = self.attempts[place] = array("q", [_MISSING]) * self.arms
            self.machines[place] = load.machine
        rows[arm] = len(self.numbers) // len(VALUE_KEYS)
        value_of = load.values.get
        self.numbers.extend([math.nan if (value := value_of(key)) is None else value for key in VALUE_KEYS])

    def complete(self) -> dict[int, int]:
        """By block that counts, in their order: the last attempt at it that has an ok load of every arm."""
        return dict(sorted(place for place, rows in self.attempts.items() if _MISSING not in rows))

    def values(self, complete: Mapping[int, int]) -> NDArray[np.float64]:
        """Arms x VALUE_KEYS x blocks; NaN where a value is missing."""
        if not complete:
            return np.empty((self.arms, len(VALUE_KEYS), 0))
        table = np.frombuffer(self.numbers).reshape(-1, len(VALUE_KEYS))
        rows = np.array([self.attempts[place] for place in complete.items()])
        values = np.ascontiguousarray(table[rows].transpose(1, 2, 0))
        values[np.isinf(values)] = np.nan
        return values

    def failed(self, arm: int) -> int:
        return sum(count for (of, _, _), count in self.failures.items() if of == arm)


def collect(loads: Iterable[StoredLoad], places: Iterable[int], arms: Sequence[str]) -> dict[int, LoadsOfPlace]:
    """The loads of these places (ids) by place. Those of other places, or of arms that a study no longer has, are left out."""
    found = {place: LoadsOfPlace(len(arms)) for place in places}
    position = {label: index for index, label in enumerate(arms)}
    for load in loads:
        if load.place_id in found and load.arm in position:
            found[load.place_id].add(load, position[load.arm])
    return found
