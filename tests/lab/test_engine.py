"""Carrying out a plan: nothing twice, nothing lost, failures redone and counted, whatever interrupts."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.errors import InputError, MixedschedError, UsageError
from mixedsched.lab.engine import MAX_ATTEMPTS, carry_out, missing_blocks, read_run, run_record, runs_left, stored_runs
from mixedsched.lab.model import Arrival, Connection, Plan, Run, RunStatus
from mixedsched.lab.results import ExperimentFacts, continued, refuse_other_versions
from mixedsched.world.store import Store, StoredExperiment
from tests.examples import examples
from tests.lab.scripted import InterruptedRunError, ScriptedLab, Silent, plan, store_in


def go(made: Plan, folder: Path, lab: ScriptedLab) -> list[Run]:
    with store_in(folder) as store:
        store.save_plan(made.digest, made.to_dict(), {})
        asyncio.run(carry_out(made, store, lab, Silent()))
        return stored_runs(store, made.digest)


def keys(runs: list[Run]) -> Counter[tuple[int, int, str]]:
    return Counter((run.block, run.attempt, run.arm) for run in runs)


def test_every_block_is_run_once_in_the_planned_order_warm_up_first(tmp_path: Path) -> None:
    made = plan(blocks=4)
    runs = go(made, tmp_path, ScriptedLab())
    assert [(run.block, run.arm) for run in runs] == [
        (block.index, arm) for block in made.blocks for arm in block.order
    ]
    assert {run.attempt for run in runs} == {1}


def test_arms_of_a_block_meet_the_same_network(tmp_path: Path) -> None:
    lab = ScriptedLab()
    go(plan(blocks=4), tmp_path, lab)
    assert lab.seeds[0::2] == lab.seeds[1::2]
    assert len(set(lab.seeds)) == 5


@examples(15)
@given(interruptions=st.lists(st.integers(0, 9), max_size=4))
def test_whenever_it_is_interrupted_it_ends_with_every_block_exactly_once(
    interruptions: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, made = tmp_path_factory.mktemp("store"), plan(blocks=4)
    for interrupt_at in interruptions:
        try:
            go(made, folder, ScriptedLab(interrupt_at=interrupt_at))
        except InterruptedRunError:
            continue
    runs = go(made, folder, ScriptedLab())
    assert keys(runs) == {(block.index, 1, arm): 1 for block in made.blocks for arm in block.order}
    assert runs_left(made, runs) == 0


def test_a_failed_run_voids_its_block_which_is_run_again_whole_over_another_network(tmp_path: Path) -> None:
    lab = ScriptedLab(
        lambda arm, block, attempt: RunStatus.FAILED if (arm, block, attempt) == ("B", 1, 1) else RunStatus.OK
    )
    runs = go(plan(blocks=3), tmp_path, lab)
    of_block = [(run.attempt, run.arm, run.status) for run in runs if run.block == 1]
    assert [status for attempt, _, status in of_block if attempt == 2] == [RunStatus.OK, RunStatus.OK]
    assert any(status is RunStatus.FAILED for _, _, status in of_block), "failures stay stored"
    assert all(run.attempt == 1 for run in runs if run.block != 1)


def test_a_block_that_always_fails_is_left_out_and_the_others_go_on(tmp_path: Path) -> None:
    lab = ScriptedLab(lambda _arm, block, _attempt: RunStatus.INVALID if block == 1 else RunStatus.OK)
    made = plan(blocks=3)
    runs = go(made, tmp_path, lab)
    assert max(run.attempt for run in runs if run.block == 1) == MAX_ATTEMPTS
    assert missing_blocks(made, runs) == (1,)
    assert {run.block for run in runs if run.status is RunStatus.OK} == {0, 2, 3}


def test_what_failed_before_is_tried_again_by_the_same_command(tmp_path: Path) -> None:
    made = plan(blocks=2)
    broken = ScriptedLab(lambda _arm, block, _attempt: RunStatus.FAILED if block == 2 else RunStatus.OK)
    assert missing_blocks(made, go(made, tmp_path, broken)) == (2,)
    again = ScriptedLab(lambda _arm, _block, attempt: RunStatus.FAILED if attempt < MAX_ATTEMPTS + 3 else RunStatus.OK)
    assert missing_blocks(made, go(made, tmp_path, again)) == ()
    assert {run.block for run in again.made} == {2}


def test_a_warm_up_that_failed_leaves_no_block_missing(tmp_path: Path) -> None:
    lab = ScriptedLab(lambda _arm, block, _attempt: RunStatus.INVALID if block == 0 else RunStatus.OK)
    made = plan(blocks=2)
    assert missing_blocks(made, go(made, tmp_path, lab)) == ()


def test_extending_leaves_its_trace() -> None:
    facts = ExperimentFacts(title="a").planned(plan(blocks=6)).planned(plan(blocks=6)).planned(plan(blocks=12))
    assert facts.to_dict() == {"title": "a", "history": [6, 12]}


def test_records_of_a_newer_version_are_refused() -> None:
    with pytest.raises(InputError, match="newer version"):
        read_run({**run_record(Run(1, 1, "A", 0, RunStatus.OK)), "schema": 99})
    with pytest.raises(InputError, match="newer version"):
        Plan.from_dict({**plan().to_dict(), "schema": 99})


def test_more_blocks_are_added_to_what_is_there(tmp_path: Path) -> None:
    go(plan(blocks=2), tmp_path, ScriptedLab())
    lab = ScriptedLab()
    go(plan(blocks=5), tmp_path, lab)
    assert {run.block for run in lab.made} == {3, 4, 5}


def test_a_run_survives_storage() -> None:
    run = Run(
        block=1,
        attempt=2,
        arm="A",
        position=0,
        status=RunStatus.INVALID,
        reason="late",
        started_at="2026-01-01T00:00:00+00:00",
        cost_s=9.5,
        page_load={"metrics": {"lcp_ms": 1.5}},
        arrivals=(Arrival("/", 1.0, 2.0, 3, 4),),
        placements=({"path": "/"},),
        heroes=("https://a.test/hero.jpg",),
        quic=(Connection("a.test", "first", "", 700, 900, 50, 2, ((12.0, 1), (14.0, 1))),),
    )
    assert read_run(json.loads(json.dumps(run_record(run)))) == run
    assert run.metric("lcp_ms") == 1.5


def test_a_run_stored_before_connections_were_kept_is_still_read() -> None:
    record = run_record(Run(1, 1, "A", 0, RunStatus.OK, arrivals=(Arrival("/", 1.0, 2.0, 3, 4),), lost_packets=5))
    old = {key: value for key, value in record.items() if key not in {"quic", "schema"}} | {"schema": 1}
    old["arrivals"] = [
        {key: value for key, value in item.items() if key != "blocked_bytes"} for item in old["arrivals"]
    ]
    run = read_run(old)
    assert (run.hol_bytes, run.quic, run.lost_packets) == (None, (), 5)


def test_a_stored_run_cannot_be_stored_again(tmp_path: Path) -> None:
    made = plan()
    with store_in(tmp_path) as store:
        store.save_plan(made.digest, made.to_dict(), {})
        store.add_run(made.digest, 0, 1, "A", {})
        with pytest.raises(ValueError, match="stored already"):
            store.add_run(made.digest, 0, 1, "A", {})


def test_only_the_same_experiment_by_the_same_programs_is_continued() -> None:
    stored = StoredExperiment(plan().digest, plan(blocks=9).to_dict(), {"versions": {"chromium": "1"}})
    assert len(continued(plan(blocks=4), stored).blocks) == 10
    assert len(continued(plan(blocks=12), stored).blocks) == 13
    assert continued(plan(), None) == plan()
    with pytest.raises(UsageError, match="another experiment"):
        continued(plan(seed=5), stored)
    refuse_other_versions(stored, {"chromium": "1"})
    refuse_other_versions(None, {"chromium": "2"})
    with pytest.raises(UsageError, match="chromium 1 -> 2"):
        refuse_other_versions(stored, {"chromium": "2"})


def test_a_database_of_a_newer_version_or_no_database_is_refused(tmp_path: Path) -> None:
    with store_in(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as connection, connection:
        connection.execute("INSERT INTO mixedsched_schema VALUES (99)")
    with pytest.raises(MixedschedError, match="newer version"):
        store_in(tmp_path)
    (tmp_path / "rubbish").write_bytes(b"this is no database at all" * 100)
    with pytest.raises(MixedschedError, match="cannot use the database"):
        Store(f"sqlite:///{tmp_path / 'rubbish'}")
