"""Studies in a database: what is planned stays, a block is one worker's at a time, and no load is lost or counted twice."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy import create_engine, text

from mixedsched.errors import MissingPartError, MixedschedError, UsageError
from mixedsched.world.store import (
    Lease,
    LeaseLostError,
    NewLoad,
    PlannedBlock,
    PlannedPlace,
    QuarantinedError,
    StudyStore,
    UnreachableDatabaseError,
    shown_address,
)

LONG_S, OVER_S = 60.0, -1.0  # a lease that lasts, and one that has run out when it begins
ARMS = ("A", "B")


@pytest.fixture
def store(address: str) -> Iterator[StudyStore]:
    with StudyStore(address) as opened:
        yield opened


@pytest.fixture
def study(store: StudyStore) -> int:
    """Two places of three blocks each, in turns."""
    number = store.save_study("s", {"name": "s"}, {"version": "1"})
    store.add_places(number, places(2, 3))
    return number


def places(count: int, blocks: int) -> list[PlannedPlace]:
    return [
        PlannedPlace(n, f"site{n}", "4g", {"digest": n}, [PlannedBlock(b, b * 10 + n) for b in range(1, blocks + 1)])
        for n in range(count)
    ]


def load(arm: str, status: str = "ok", lcp_ms: float = 1.0) -> NewLoad:
    return NewLoad(arm, ARMS.index(arm), 7, status, "", {"lcp_ms": lcp_ms, "tbt_ms": None}, {"of": arm})


def both() -> list[NewLoad]:
    return [load(arm) for arm in ARMS]


def numbers(leases: list[Lease]) -> list[tuple[int, int]]:
    return [(item.place_id, item.number) for item in leases]


class TestPlans:
    def test_a_study_is_known_by_its_name_and_takes_a_new_definition(self, store: StudyStore) -> None:
        first = store.save_study("s", {"blocks": 1}, {"v": 1})
        assert store.save_study("s", {"blocks": 2}, {"v": 2}) == first
        assert [(item.name, item.definition, item.facts) for item in store.studies()] == [
            ("s", {"blocks": 2}, {"v": 2})
        ]

    def test_facts_that_somebody_has_added_meanwhile_stay(self, store: StudyStore) -> None:
        """A worker pins its browser while somebody opens the sites of the same study, which may take minutes."""
        study = store.save_study("s", {}, {"v": 1})
        store.pin(study, {"browser": "156"})
        store.save_study("s", {}, {"v": 1, "gates": []})
        assert store.studies()[0].facts == {"v": 1, "browser": "156", "gates": []}

    def test_facts_that_several_change_at_the_same_moment_are_of_all_and_the_definition_stays(
        self, store: StudyStore
    ) -> None:
        """Machines add their browsers' versions while somebody plans more blocks."""
        study = store.save_study("s", {"blocks": 1}, {"browsers": []})
        together = Barrier(4, timeout=30)

        def change(browser: str) -> None:
            together.wait()
            store.change_facts(study, lambda facts: {**facts, "browsers": sorted([*facts["browsers"], browser])})

        with ThreadPoolExecutor(4) as pool:
            grown = pool.submit(lambda: (together.wait(), store.save_study("s", {"blocks": 2}, {"v": 2})))
            list(pool.map(change, "abc"))
            grown.result()
        (kept,) = store.studies()
        assert (kept.definition, kept.facts) == ({"blocks": 2}, {"browsers": ["a", "b", "c"], "v": 2})

    def test_a_new_study_may_be_stored_by_several_at_the_same_moment(self, store: StudyStore) -> None:
        together = Barrier(4, timeout=30)

        def stored(fact: str) -> list[int]:
            numbers = []
            for name in range(10):
                together.wait()
                numbers.append(store.save_study(str(name), {}, {fact: True}))
            return numbers

        with ThreadPoolExecutor(4) as pool:
            first, *others = pool.map(stored, "abcd")
        assert others == [first] * 3
        assert all(item.facts == dict.fromkeys("abcd", True) for item in store.studies())

    def test_places_and_blocks_are_added_to_those_that_are_there(self, store: StudyStore, study: int) -> None:
        before = store.places(study)
        store.add_places(study, places(3, 4))
        assert store.places(study)[:2] == before
        assert [(item.open, item.done) for item in store.counts(study)] == [(4, 0)] * 3

    def test_what_is_planned_again_keeps_what_is_done(self, store: StudyStore, study: int) -> None:
        worker = store.join("w", "m", {})
        [lease] = store.lease(study, worker, 1, LONG_S)
        store.add_all(worker, [(lease, both(), True)])
        store.add_places(study, places(2, 3))
        assert [(item.open, item.done) for item in store.counts(study)] == [(2, 1), (3, 0)]


class TestLeases:
    def test_blocks_come_by_rank_and_each_to_one_worker(self, store: StudyStore, study: int) -> None:
        ours, theirs = store.join("a", "m", {}), store.join("b", "m", {})
        first, second = store.lease(study, ours, 4, LONG_S), store.lease(study, theirs, 4, LONG_S)
        ids = [item.id for item in store.places(study)]
        assert numbers(first) == [(ids[0], 1), (ids[1], 1), (ids[0], 2), (ids[1], 2)]
        assert numbers(second) == [(ids[0], 3), (ids[1], 3)]
        assert store.lease(study, ours, 4, LONG_S) == []

    def test_a_worker_may_ask_for_blocks_of_one_place(self, store: StudyStore, study: int) -> None:
        place = store.places(study)[1].id
        found = store.lease(study, store.join("a", "m", {}), 9, LONG_S, places=[place])
        assert numbers(found) == [(place, 1), (place, 2), (place, 3)]

    def test_a_lease_that_ran_out_is_anothers_and_its_former_holder_is_refused(
        self, store: StudyStore, study: int
    ) -> None:
        late, next_one = store.join("a", "m", {}), store.join("b", "m2", {})
        [old] = store.lease(study, late, 1, OVER_S)
        [new] = store.lease(study, next_one, 1, LONG_S)
        assert (old.block_id, new.token) == (new.block_id, old.token + 1)
        with pytest.raises(LeaseLostError):
            store.add_all(late, [(old, both(), False)])
        with pytest.raises(LeaseLostError):
            store.finish(old, late)
        store.add_all(next_one, [(new, both(), True)])
        assert [(item.arm, item.machine) for item in store.loads(study)] == [("A", "m2"), ("B", "m2")]

    def test_a_sign_of_life_keeps_a_lease(self, store: StudyStore, study: int) -> None:
        ours, theirs = store.join("a", "m", {}), store.join("b", "m", {})
        [lease] = store.lease(study, ours, 1, OVER_S)
        assert store.beat(ours, LONG_S) == "active"
        assert lease.block_id not in [item.block_id for item in store.lease(study, theirs, 9, LONG_S)]
        store.finish(lease, ours)

    def test_a_worker_that_leaves_frees_its_blocks(self, store: StudyStore, study: int) -> None:
        ours, theirs = store.join("a", "m", {}), store.join("b", "m", {})
        [lease] = store.lease(study, ours, 1, LONG_S)
        store.leave(ours, "quarantined", "too slow")
        assert store.lease(study, theirs, 1, LONG_S)[0].block_id == lease.block_id
        first, _ = store.workers()
        assert (first.state, first.reason, first.blocks) == ("quarantined", "too slow", 0)

    def test_one_lost_lease_among_many_does_not_lose_the_others(self, store: StudyStore, study: int) -> None:
        ours, theirs = store.join("a", "m", {}), store.join("b", "m2", {})
        [lost] = store.lease(study, ours, 1, OVER_S)
        store.lease(study, theirs, 1, LONG_S)
        [kept] = store.lease(study, ours, 1, LONG_S)
        assert store.add_all(ours, [(lost, both(), True), (kept, both(), True)]) == [lost]
        assert {(item.place_id, item.block) for item in store.loads(study)} == {(kept.place_id, kept.number)}


def test_a_worker_of_before_the_clock_began_anew_is_not_silent_for_less_than_no_time(
    store: StudyStore, address: str
) -> None:
    """With SQLite that is the time since the system was started."""
    store.join("one", "here", {})
    engine = create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(text("UPDATE worker SET beat_s = beat_s + 1000"))
    engine.dispose()
    assert [item.silent_s for item in store.workers()] == [0.0]


class TestHalfBlocks:
    def test_the_same_machine_goes_on_where_it_stopped(self, store: StudyStore, study: int) -> None:
        before, after = store.join("m/1", "m", {}), store.join("m/2", "m", {})
        [lease] = store.lease(study, before, 1, OVER_S)
        store.beat(before, LONG_S)
        store.add_all(before, [(lease, [load("A")], False)])
        store.leave(before)
        [again] = store.lease(study, after, 1, LONG_S)
        assert (again.attempt, again.done) == (1, ("A",))

    def test_another_machine_begins_the_block_anew(self, store: StudyStore, study: int) -> None:
        before, after = store.join("m/1", "m", {}), store.join("n/1", "n", {})
        [lease] = store.lease(study, before, 1, LONG_S)
        store.add_all(before, [(lease, [load("A")], False)])
        store.leave(before)
        [again] = store.lease(study, after, 1, LONG_S)
        assert (again.block_id, again.attempt, again.done) == (lease.block_id, 2, ())

    def test_a_failed_load_voids_the_attempt(self, store: StudyStore, study: int) -> None:
        worker = store.join("m/1", "m", {})
        [lease] = store.lease(study, worker, 1, LONG_S)
        store.add_all(worker, [(lease, [load("A", "failed")], False)])
        store.leave(worker)
        assert store.lease(study, store.join("m/2", "m", {}), 1, LONG_S)[0].attempt == 2

    def test_where_blocks_count_in_order_one_behind_which_another_is_done_gets_none(
        self, store: StudyStore, study: int
    ) -> None:
        worker = store.join("w", "m", {})
        first, second, third = store.lease(study, worker, 3, LONG_S, places=[store.places(study)[0].id])
        store.give_up(first, worker)
        store.finish(second, worker)
        store.give_up(third, worker)
        store.reopen(study, in_order=True)
        assert [item.number for item in store.lease(study, worker, 3, LONG_S, places=[first.place_id])] == [3]


class TestLoads:
    def test_a_load_that_is_stored_twice_is_there_once(self, store: StudyStore, study: int) -> None:
        worker = store.join("w", "m", {})
        [lease] = store.lease(study, worker, 1, LONG_S)
        store.add_all(worker, [(lease, both(), False)])
        store.add_all(worker, [(lease, [load("A", lcp_ms=99.0), load("B")], False)])
        stored = list(store.loads(study))
        assert [(item.arm, item.values) for item in stored] == [("A", {"lcp_ms": 1.0}), ("B", {"lcp_ms": 1.0})]

    def test_what_else_is_known_of_loads_is_kept_by_place(self, store: StudyStore, study: int) -> None:
        worker = store.join("w", "m", {})
        [lease] = store.lease(study, worker, 1, LONG_S)
        store.add_all(worker, [(lease, both(), True)])
        assert store.records(lease.place_id) == [{"of": "A"}, {"of": "B"}]


class TestStopping:
    def test_blocks_that_were_given_up_get_another_chance_on_request(self, store: StudyStore, study: int) -> None:
        worker = store.join("w", "m", {})
        [lease] = store.lease(study, worker, 1, LONG_S)
        store.add_all(worker, [(lease, [load("A", "failed")], False)])
        store.give_up(lease, worker)
        assert sum(item.failed for item in store.counts(study)) == 1
        store.reopen(study)
        assert store.lease(study, worker, 1, LONG_S)[0].attempt == 2


class TestRefusals:
    def test_an_address_that_is_none(self) -> None:
        with pytest.raises(UsageError, match="not the address of a database"):
            StudyStore("nonsense")

    def test_a_driver_that_is_not_installed(self) -> None:
        with pytest.raises((MissingPartError, UsageError)):
            StudyStore("mysql+nothere://x/y")

    def test_a_password_is_told_to_nobody(self, tmp_path: Path) -> None:
        pytest.importorskip("psycopg")
        with pytest.raises(UnreachableDatabaseError) as refused:
            StudyStore(f"postgresql://lab:s3cret@/x?host={tmp_path}")
        assert "s3cret" not in str(refused.value)
        assert "postgresql://lab:***@/x" in str(refused.value)
        assert shown_address("postgresql://lab@db.example/x") == "postgresql://lab@db.example/x"

    def test_a_server_that_does_not_answer(self, tmp_path: Path) -> None:
        pytest.importorskip("psycopg")
        with pytest.raises(UnreachableDatabaseError):
            StudyStore(f"postgresql://lab@/x?host={tmp_path}")

    def test_a_database_of_a_newer_version(self, store: StudyStore, address: str) -> None:
        engine = create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
        with engine.begin() as connection:
            connection.execute(text("INSERT INTO mixedsched_schema VALUES (99)"))
        engine.dispose()
        with pytest.raises(MixedschedError, match="its schema is 99"):
            StudyStore(address)


class TestQuarantine:
    def test_a_machine_in_quarantine_may_not_join_again_until_it_is_readmitted(self, store: StudyStore) -> None:
        worker = store.join("m/1", "m", {})
        store.leave(worker, "quarantined", "its loads have become 40 % slower")
        assert store.beat(worker, LONG_S) == "quarantined"
        with pytest.raises(QuarantinedError, match="40 % slower"):
            store.join("m/2", "m", {})
        store.join("n/1", "n", {})
        store.join("m/3", "m", {}, readmit=True)
        store.join("m/4", "m", {})
