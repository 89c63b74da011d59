"""How long the programs of a measurement waited for a processor, and packets for the relay."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.lab import diagnostics
from mixedsched.lab.diagnostics import HeldUp, Waits, held_ms, held_up_of, waited_ms
from mixedsched.lab.model import Run, RunStatus

NOBODY = 2**22 + 1  # no process has so high a number on Linux

has_schedstat = pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this system does not tell")


@has_schedstat
def test_two_that_want_one_processor_wait_for_each_other() -> None:
    processor = min(os.sched_getaffinity(0))
    busy = f"import os; os.sched_setaffinity(0, [{processor}])\nwhile True: pass"
    spinning = [subprocess.Popen([sys.executable, "-I", "-S", "-c", busy]) for _ in range(2)]
    try:
        waits = Waits({"first": spinning[0].pid, "second": spinning[1].pid, "nobody": None})
        while True:  # until they have waited; for how long is up to the machine
            told = waits.so_far_ms()
            if (told["first"] or 0) > 5 and (told["second"] or 0) > 5:
                break
        assert told["nobody"] is None
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def test_of_a_process_that_is_not_there_nothing_is_told() -> None:
    assert waited_ms(NOBODY) is None
    assert Waits({"gone": NOBODY}).so_far_ms() == {"gone": None}


@pytest.mark.parametrize("text", ["", "12", "12 x 3", None])
def test_a_system_that_tells_nothing_sensible_tells_nothing(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "7").mkdir()
    if text is not None:
        (tmp_path / "7" / "schedstat").write_text(text)
    monkeypatch.setattr(diagnostics, "_PROCESSES", tmp_path)
    assert waited_ms(7) is None


STALLS = st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 500)), max_size=30)


@given(gaps=STALLS, until_ms=st.floats(0, 100))
def test_time_counts_as_far_as_it_lies_before_the_moment(gaps: list[tuple[int, int]], until_ms: float) -> None:
    stalls, now_us = [], 0
    for gap_us, length_us in gaps:
        stalls.append([now_us + gap_us, now_us + gap_us + length_us])
        now_us = stalls[-1][1]
    told = held_ms({"stalls_us": stalls}, until_ms)
    expected_us = sum(max(0.0, min(to_us, until_ms * 1000) - from_us) for from_us, to_us in stalls)
    assert told == pytest.approx(expected_us / 1000)
    assert told <= max(0.0, until_ms)


def test_a_link_that_keeps_no_account_has_held_nothing_up() -> None:
    assert held_ms({}, 1000.0) == 0


def good_run(arm: str, *stall_us: tuple[int, int], server_ms: float | None = None) -> Run:
    return Run(
        1,
        1,
        arm,
        0,
        RunStatus.OK,
        page_load={"metrics": {"lcp_ms": 1000.0}},
        relay={"punctuality": {"stalls_us": [list(stall) for stall in stall_us]}},
        waited_ms={"server": server_ms, "worker": None},
    )


def test_of_each_arm_the_middle_and_the_worst_load_are_told() -> None:
    runs = [
        good_run("a", (0, 5000), server_ms=4.0),
        good_run("a", (0, 7000), (990_000, 1_500_000), server_ms=8.0),
        good_run("a"),
        replace(good_run("a", (0, 900_000)), status=RunStatus.INVALID),
        good_run("b"),
    ]
    first, second = held_up_of(runs, ["a", "b"])
    assert (first.relay_ms, first.relay_most_ms, first.server_ms, first.worker_ms) == (5.0, 17.0, 6.0, None)
    assert (second.relay_ms, second.server_ms) == (0.0, None)


def test_of_runs_that_were_stored_before_it_was_kept_nothing_is_told() -> None:
    old = Run(1, 1, "a", 0, RunStatus.OK, page_load={"metrics": {"lcp_ms": 1.0}}, relay={"punctuality": {"late": 3}})
    assert held_up_of([old], ["a"]) == [HeldUp("a", None, None, None, None)]
