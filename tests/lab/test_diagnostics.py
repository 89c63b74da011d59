"""What held an arm's loads up on this machine, and what the site did not have: shown with the comparison, voids no run."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.lab import diagnostics
from mixedsched.lab.diagnostics import HeldUp, Waits, held_ms, held_up_of, misses_of, waited_ms
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


def load_of(arm: str, *missed: str, status: RunStatus = RunStatus.OK) -> Run:
    lines: list[dict[str, Any]] = [
        {"method": "GET", "authority": "shop.test", "path": "/", "status": 200, "missed": False},
        {"method": "GET", "authority": "shop.test", "path": "/old", "status": 404},  # a log of an earlier version
        *({"method": "POST", "authority": "shop.test", "path": path, "status": 404, "missed": True} for path in missed),
    ]
    return Run(1, 1, arm, 0, status, placements=tuple(lines))


def test_a_run_names_what_was_missed() -> None:
    assert load_of("mixed", "/a", "/a").misses == ("POST https://shop.test/a",) * 2
    assert load_of("mixed").misses == ()


def test_source_maps_are_lighthouses_own() -> None:
    assert misses_of([load_of("mixed", "/vendor/app.js.map?v=1")], ["mixed"]) == []
    (found,) = misses_of([load_of("mixed", "/app.js.map", "/a")], ["mixed"])
    assert found.requests == (("POST https://shop.test/a", 1),)


def test_arms_tell_in_how_many_runs_each_request_was_missed() -> None:
    runs = [
        load_of("mixed", "/b", "/a"),
        load_of("mixed", "/a", "/a"),
        load_of("mixed"),
        load_of("mixed", "/x", status=RunStatus.FAILED),
        load_of("fifo"),
    ]
    (found,) = misses_of(runs, ["fifo", "mixed"])
    assert (found.arm, found.runs, found.missing_runs) == ("mixed", 3, 2)
    assert found.requests == (("POST https://shop.test/a", 2), ("POST https://shop.test/b", 1))
    assert found.to_dict()["requests"][0] == {"request": "POST https://shop.test/a", "runs": 2}
