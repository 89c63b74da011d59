"""A worker of a study in this process: it leases blocks, plays or loads them, and stores every load at once."""

import platform
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

from mixedsched.errors import MixedschedError
from mixedsched.lab.study._identity import is_dead, worker_name
from mixedsched.lab.study._keeper import Keeper
from mixedsched.lab.study._measuring import Measurement
from mixedsched.lab.study._playing import play_blocks
from mixedsched.lab.study._work import StudyObserver, UnobservedStudy, Work
from mixedsched.world.store import StudyStore
from mixedsched.world.system.loops import run_to_end

__all__ = [
    "StudyObserver",
    "UnobservedStudy",
    "Work",
    "carry_out_study",
    "is_unfinished",
    "release_the_dead",
    "tell_progress",
]

LOOK_EVERY_S = 1.0  # at blocks that others work on


def carry_out_study(
    work: Work, facts: Mapping[str, Any], say: Callable[[str], None], machine: str | None = None
) -> Collection[int]:
    """Work until no block is left, those of other workers included, or the time is over.

    Returns ids of places that cannot be loaded here.

    facts: of this machine, stored with the worker. machine: its name in results, by default that of the host. However it
    ends, all that is finished is stored, and the rest given back.
    """
    store = work.store
    release_the_dead(store)
    name = machine or platform.node()
    has_others = not store.is_of_one_machine or any(worker.machine != name for worker in store.workers())
    worker = store.join(worker_name(), name, facts, readmit=work.readmit)
    try:
        with Keeper(store, worker, say, lambda: tell_progress(work), work.lease_s) as keeper:
            keeper.patiently(lambda: tell_progress(work))
            measurement = None if work.study.is_simulated else Measurement(work, keeper, say, is_checked=has_others)
            given_up: Collection[int] = () if measurement is None else measurement.given_up
            while True:
                if measurement is None:
                    play_blocks(work, keeper)
                else:
                    run_to_end(measurement.load_blocks())
                keeper.settle()
                if not (work.has_time() and keeper.patiently(lambda: is_unfinished(work, given_up))):
                    return given_up
                time.sleep(LOOK_EVERY_S)
    finally:
        with suppress(MixedschedError):  # else the leases run out by themselves
            store.leave(worker)


def release_the_dead(store: StudyStore) -> None:
    """Give back at once what workers held whose processes have ended on this machine without doing so themselves."""
    for worker in store.workers():
        if worker.state == "active" and is_dead(worker.name, is_of_this_machine=store.is_of_one_machine):
            store.leave(worker.id)


def is_unfinished(work: Work, given_up: Collection[int] = ()) -> bool:
    """Whether there are blocks that somebody works on, or may have to take over. given_up: ids of places to leave out."""
    wanted = work.places.keys() - set(given_up)
    return any(item.open or item.leased for item in work.store.counts(work.study_id) if item.place_id in wanted)


def tell_progress(work: Work) -> None:
    """Tell the observer how much all workers have left."""
    blocks = sum(item.open + item.leased for item in work.store.counts(work.study_id) if item.place_id in work.places)
    machines = {worker.machine: None for worker in work.store.workers() if worker.state == "active"}
    work.observer.left(blocks * len(work.study.arms), list(machines))
