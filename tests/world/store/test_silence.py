"""A worker that is cut off in the middle of a transaction holds nobody up: PostgreSQL takes back what it has locked."""

import time

import pytest
from sqlalchemy import text

from benchmarks._postgres import Postgres
from mixedsched.world.store import (
    NewLoad,
    PlannedBlock,
    PlannedPlace,
    StudyStore,
    UnreachableDatabaseError,
    _database,
    _studies,
)
from mixedsched.world.store._database import answering

LOCK = text("SELECT id FROM block FOR UPDATE")


@pytest.fixture
def url(postgres: Postgres, request: pytest.FixtureRequest) -> str:
    return postgres.new_database(request.node.name[-40:])


def test_what_a_silent_transaction_holds_is_free_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with StudyStore(url) as store:
        study = store.save_study("s", {"name": "s"}, {})
        store.add_places(study, [PlannedPlace(0, "site", "4g", {}, [PlannedBlock(1, 1)])])
        worker = store.join("lively", "m", {})
        [lease] = store.lease(study, worker, 1, 60.0)
        monkeypatch.setattr(_database, "_SILENT_MS", 200)
        silent = _database.open_database(url)

        def hold_and_fall_silent() -> None:
            with answering(), silent.begin() as connection:
                connection.execute(LOCK)
                store.finish(lease, worker)  # would wait for as long as the other is silent
                connection.execute(LOCK)  # it has come back

        with pytest.raises(UnreachableDatabaseError):  # and is to begin again
            hold_and_fall_silent()
        silent.dispose()
        assert store.counts(study)[0].done == 1


def test_what_is_held_for_too_long_is_tried_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_database, "_LOCKED_MS", 200)
    with StudyStore(url) as store, StudyStore(url) as other:
        study = store.save_study("s", {"name": "s"}, {})
        store.add_places(study, [PlannedPlace(0, "site", "4g", {}, [PlannedBlock(1, 1)])])
        worker = store.join("lively", "m", {})
        [lease] = store.lease(study, worker, 1, 60.0)
        with other._write() as connection:
            connection.execute(LOCK)
            with pytest.raises(UnreachableDatabaseError):
                store.finish(lease, worker)
        store.finish(lease, worker)
        assert store.counts(study)[0].done == 1


def test_loads_may_be_read_slowly(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a pager: what only reads holds nobody up."""
    monkeypatch.setattr(_database, "_SILENT_MS", 100)
    monkeypatch.setattr(_studies, "_ROWS_AT_A_TIME", 1)
    with StudyStore(url) as store:
        study = store.save_study("s", {"name": "s"}, {})
        store.add_places(study, [PlannedPlace(0, "site", "4g", {}, [PlannedBlock(1, 1)])])
        worker = store.join("lively", "m", {})
        [lease] = store.lease(study, worker, 1, 60.0)
        store.add_all(worker, [(lease, [NewLoad(arm, 0, 1, "ok", "", {}) for arm in "ABCDEFGH"], True)])
        loads = store.loads(study)
        first = next(loads)
        time.sleep(0.5)
        assert [first.arm, *(load.arm for load in loads)] == [*"ABCDEFGH"]
