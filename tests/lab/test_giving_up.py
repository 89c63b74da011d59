"""When a page is given up: what fails because of it counts, what this machine has spoiled does not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from mixedsched.errors import BusyMachineError, MixedschedError
from mixedsched.lab.engine import (
    MAX_ATTEMPTS,
    MAX_WARM_UP_FAILURES,
    Impatient,
    carry_out,
    missing_blocks,
    no_good_run,
    stored_runs,
)
from mixedsched.lab.model import Run, RunStatus
from tests.lab.scripted import Silent, plan, store_in

LATE = "late_link: packets were held up for 90 ms of the 900 ms before the largest paint (183 of 1648 left late)"
OVERRUN = "overrun_link: the emulator was too slow to take 3 packets down and 0 up"
UNFINISHED = "unfinished: 1 of 9 requests"


class SpoiledLab:
    """Its loads end for these reasons, in turn; the last one stays."""

    def __init__(self, reasons: Sequence[str]) -> None:
        self._reasons = list(reasons)

    async def run(self, *, arm: str, block: int, attempt: int, position: int, link_seed: int) -> Run:
        reason = self._reasons.pop(0) if len(self._reasons) > 1 else self._reasons[0]
        return Run(block, attempt, arm, position, RunStatus.INVALID if reason else RunStatus.OK, reason)


def started(folder: Path, *reasons: str) -> list[Run]:
    """What is stored once an experiment of three blocks has been given these loads."""
    made = plan(blocks=3)
    with store_in(folder) as store:
        store.save_plan(made.digest, made.to_dict(), {})
        asyncio.run(carry_out(made, store, Impatient(SpoiledLab(reasons)), Silent()))
    return stored(folder)


def stored(folder: Path) -> list[Run]:
    with store_in(folder) as store:
        return stored_runs(store, plan(blocks=3).digest)


def test_a_page_that_cannot_be_loaded_at_all_stops_the_experiment(tmp_path: Path) -> None:
    with pytest.raises(MixedschedError, match="the page cannot be loaded: unfinished"):
        started(tmp_path, UNFINISHED)
    assert len(stored(tmp_path)) == MAX_WARM_UP_FAILURES


def test_each_start_is_impatient_anew(tmp_path: Path) -> None:
    for start in (1, 2):
        with pytest.raises(MixedschedError, match="cannot be loaded"):
            started(tmp_path, UNFINISHED)
        assert len(stored(tmp_path)) == start * MAX_WARM_UP_FAILURES


@pytest.mark.parametrize("reason", [LATE, OVERRUN])
def test_a_busy_machine_does_not_speak_against_the_page(reason: str, tmp_path: Path) -> None:
    runs = started(tmp_path, reason, reason, "")
    assert missing_blocks(plan(blocks=3), runs) == ()
    assert [run.reason for run in runs if run.status is not RunStatus.OK] == [reason, reason]


def test_a_machine_that_spoils_every_attempt_at_the_warm_up_is_told_so_at_once(tmp_path: Path) -> None:
    with pytest.raises(BusyMachineError, match="of 3 loads 3 do not count, the last because of late_link"):
        started(tmp_path, LATE)
    assert len(stored(tmp_path)) == MAX_ATTEMPTS


def test_so_is_one_that_spoils_each_attempt_at_its_last_load(tmp_path: Path) -> None:
    with pytest.raises(BusyMachineError, match="of 6 loads 3 do not count, the last because of late_link"):
        started(tmp_path, "", LATE, "", LATE, "", LATE)
    assert len(stored(tmp_path)) == MAX_ATTEMPTS * 2


def test_a_machine_that_becomes_busy_later_is_not_waited_for_without_end(tmp_path: Path) -> None:
    made = plan(blocks=3)
    arms = len(made.arms)
    runs = started(tmp_path, *[""] * arms, LATE)
    assert len(runs) == arms + MAX_ATTEMPTS * (len(made.blocks) - 1)


def test_what_the_page_does_counts_also_between_late_loads(tmp_path: Path) -> None:
    with pytest.raises(MixedschedError, match="cannot be loaded"):
        started(tmp_path, UNFINISHED, LATE, UNFINISHED)


def test_an_error_blames_whom_the_last_load_blames() -> None:
    late, broken = (Run(1, 1, "look", 0, RunStatus.INVALID, reason) for reason in (LATE, UNFINISHED))
    busy, page = no_good_run([broken, late], "slow-4g"), no_good_run([late, broken], "slow-4g")
    assert "this machine is too busy to measure over slow-4g" in str(busy)
    assert "of 2 loads 2 do not count, the last because of late_link: packets were held up for 90 ms" in str(busy)
    assert "run the same command again" in busy.fix
    assert "the page cannot be measured over slow-4g: unfinished" in str(page)
    assert "doctor" in page.fix
