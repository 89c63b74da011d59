"""Loads that are kept for a database: all of them are stored in the end, whatever happens on the way."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from mixedsched.lab.study._keeper import Keeper
from mixedsched.world.store import Lease, NewLoad, PlannedBlock, PlannedPlace, StudyStore, UnreachableDatabaseError

LEASE_S = 60.0


class Disturbed(StudyStore):
    """A database that something happens to, once each."""

    interrupts = False  # Ctrl-C before loads are stored
    overtakes = False  # another worker takes the block before it is given up
    forgets = False  # the answer is lost when a block is given up

    def add_all(self, worker: int, finished: Sequence[tuple[Lease, Sequence[NewLoad], bool]]) -> list[Lease]:
        if self.interrupts and threading.current_thread() is threading.main_thread():
            self.interrupts = False
            raise KeyboardInterrupt
        return super().add_all(worker, finished)

    def give_up(self, lease: Lease, worker: int) -> None:
        if self.overtakes:
            self.leave(worker)
            assert self.lease(1, self.join("another", "there", {}), 1, LEASE_S)
        super().give_up(lease, worker)
        if self.forgets:
            self.forgets = False
            raise UnreachableDatabaseError("the connection is lost")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Disturbed]:
    """With a study of one block."""
    with Disturbed(f"sqlite:///{tmp_path / 'results.sqlite'}") as opened:
        study = opened.save_study("s", {}, {})
        opened.add_places(study, [PlannedPlace(0, "site", "4g", {}, [PlannedBlock(1, 1)])])
        yield opened


@pytest.fixture
def worker(store: Disturbed) -> int:
    return store.join("one", "here", {})


@pytest.fixture
def lease(store: Disturbed, worker: int) -> Lease:
    (found,) = store.lease(1, worker, 1, LEASE_S)
    return found


def load(status: str = "ok") -> NewLoad:
    return NewLoad("A", 0, 7, status, "", {})


def test_what_was_on_its_way_when_ctrl_c_came_is_stored(store: Disturbed, worker: int, lease: Lease) -> None:
    store.interrupts = True
    with Keeper(store, worker, pytest.fail) as keeper:
        keeper.keep(lease, load(), "done")
        with pytest.raises(KeyboardInterrupt):
            keeper.settle()
    assert [(item.block, item.arm) for item in store.loads(1)] == [(1, "A")]
    assert [item.done for item in store.counts(1)] == [1]


def test_a_block_that_goes_to_another_before_it_is_given_up_is_lost_and_the_work_goes_on(
    store: Disturbed, worker: int, lease: Lease
) -> None:
    store.overtakes = True
    with Keeper(store, worker, pytest.fail) as keeper:
        keeper.keep(lease, load("failed"), "failed")
        keeper.settle()
        assert keeper.has_lost(lease)
    assert [(item.leased, item.failed) for item in store.counts(1)] == [(1, 0)]


def test_a_block_that_is_given_up_by_a_call_without_an_answer_is_given_up(
    store: Disturbed, worker: int, lease: Lease
) -> None:
    store.forgets = True
    said: list[str] = []
    with Keeper(store, worker, said.append) as keeper:
        keeper.keep(lease, load("failed"), "failed")
        keeper.settle()
    assert [item.failed for item in store.counts(1)] == [1]
    assert len(said) == 1
