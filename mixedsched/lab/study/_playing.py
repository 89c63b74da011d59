"""Plays leased blocks of a simulated study on all processors, many at a time."""

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass

from mixedsched.lab.learning.taught import TaughtScheme, is_adaptive
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.task import NamedScheme, Task
from mixedsched.lab.play.values import SimulatedValues
from mixedsched.lab.study._keeper import Ending, Keeper
from mixedsched.lab.study._work import Work
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.places import SimulatedPlace, seed_of
from mixedsched.world.store import Lease, NewLoad

LOT_OF_PIPE = 16  # loads, of milliseconds each, that a process is sent at a time
# So many seconds of work are leased at once: less asks the database too often, more would be missed by others.
LEAST_AT_ONCE_S, MOST_AT_ONCE_S = 2.0, 8.0
FIRST_BLOCKS, MOST_BLOCKS = 8, 1024


@dataclass(slots=True)
class _BlockInHand:
    lease: Lease
    left: int  # arms that are still to be played
    has_failed: bool = False


def play_blocks(work: Work, keeper: Keeper) -> None:
    """Play every block that can be leased, as long as there is time."""
    under_way: dict[int, tuple[_BlockInHand, Task, int]] = {}  # by place in the row of tasks, with the arm's position
    lot = LOT_OF_PIPE if work.study.rung == "pipe" else 1
    with Pool(work.reader, work.jobs) as pool:
        for number, result in pool.results_as_played(_tasks(work, keeper, under_way), lot):
            block, task, position = under_way.pop(number)
            if not keeper.has_lost(block.lease):
                _take(work, keeper, block, task, position, result)


def schemes_of(study: Study) -> list[NamedScheme | TaughtScheme]:
    """The arms of a simulated study."""
    mapping = None if study.mapping is None else study.located(study.mapping)
    return [
        TaughtScheme.of(spec, study.visits) if study.visits and is_adaptive(spec) else NamedScheme(spec, mapping)
        for spec in study.arms
    ]


def _tasks(work: Work, keeper: Keeper, under_way: dict[int, tuple[_BlockInHand, Task, int]]) -> Iterator[Task]:
    """The loads of blocks, which are leased as they are needed."""
    numbers = itertools.count()
    schemes = schemes_of(work.study)
    for lease in _leases(work, keeper):
        place = work.places[lease.place_id]
        assert isinstance(place, SimulatedPlace), "a study is of one rung"
        missing = [(position, scheme) for position, scheme in enumerate(schemes) if scheme.spec not in lease.done]
        if not missing:  # it was stopped between its last load and its end
            keeper.keep(lease, None, "done")
        block = _BlockInHand(lease, len(missing))
        for position, scheme in missing:
            if not work.has_time():
                return
            task = Task(place.scenario, scheme, seed_of(work.study, lease.number))
            under_way[next(numbers)] = block, task, position
            yield task


def _leases(work: Work, keeper: Keeper) -> Iterator[Lease]:
    most = FIRST_BLOCKS
    began_s = time.monotonic()
    # Of these places alone: meanwhile others may have added some that are not open here.
    while leases := keeper.lease(work.study_id, most, list(work.places)):
        yield from leases
        passed_s, began_s = time.monotonic() - began_s, time.monotonic()
        if passed_s < LEAST_AT_ONCE_S:
            most = min(MOST_BLOCKS, most * 2)
        elif passed_s > MOST_AT_ONCE_S:
            most = max(1, most // 2)


def _take(work: Work, keeper: Keeper, block: _BlockInHand, task: Task, position: int, result: SimulatedValues) -> None:
    assert isinstance(task.scheme, NamedScheme | TaughtScheme)
    status = "failed" if result.error else "ok"
    load = NewLoad(task.scheme.spec, position, task.seed, status, result.error, result.values)
    block.left -= 1
    block.has_failed |= bool(result.error)
    # Played again, a load that has failed would only fail again.
    over: Ending | None = None if block.left else "failed" if block.has_failed else "done"
    keeper.keep(block.lease, load, over)
    work.observer.loaded(work.places[block.lease.place_id], block.lease.number, load)
