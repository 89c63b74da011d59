"""Loads that are played again: named by what they depend on, and remembered."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mixedsched.advice.calibration.play import Memory, Task, Times, play_task
from mixedsched.advice.calibration.session import START
from mixedsched.lab.model import Arm
from mixedsched.model.browser_model import IDEAL
from tests.advice.calibration.measured import NETWORK, PAGE

TASK = Task(PAGE, Arm("eps", "eps"), NETWORK, 1, START)


def alone(
    tasks: Sequence[Task], on_result: Callable[[int, Times | None], None] = lambda *_: None
) -> list[Times | None]:
    results = [play_task(task) for task in tasks]
    for place, result in enumerate(results):
        on_result(place, result)
    return results


def refusing(_: Sequence[Task], on_result: object = None) -> list[Times | None]:
    raise AssertionError("nothing is to be played")


def test_constants_that_delay_no_request_need_no_other_load() -> None:
    assert replace(TASK, model=replace(START, paint_ms=1.0, decode_ms_per_kb=0.3, name="x")).key == TASK.key
    assert replace(TASK, model=replace(START, script_ms_per_kb=0.3)).key != TASK.key
    assert replace(TASK, seed=2).key != TASK.key


def test_a_load_has_the_same_name_whatever_the_order_of_flags() -> None:
    code = "from tests.advice.calibration.test_playing import TASK; print(TASK.key)"
    environment = {"PYTHONHASHSEED": "7", "PATH": os.defpath}  # sets have another order there
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == TASK.key


def test_what_was_played_is_remembered_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    other = replace(TASK, model=IDEAL)
    played = Memory(alone, file, "s").play([TASK, other, TASK])
    assert played == alone([TASK, other, TASK])
    assert Memory(refusing, file, "s").play([other, TASK]) == [played[1], played[0]]


def test_what_other_programs_played_and_half_a_line_are_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    Memory(alone, file, "s").play([TASK])
    with pytest.raises(AssertionError):
        Memory(refusing, file, "another").play([TASK])
    file.write_text(file.read_text()[:-40])
    with pytest.raises(AssertionError):
        Memory(refusing, file, "s").play([TASK])
    assert Memory(alone, file, "s").play([TASK]) == alone([TASK])


def test_what_was_done_before_an_interruption_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"

    def interrupted(
        tasks: Sequence[Task], on_result: Callable[[int, Times | None], None] = lambda *_: None
    ) -> list[Times | None]:
        on_result(0, Times({}, {"html": 1.0}))
        on_result(1, None)
        raise KeyboardInterrupt

    tasks = [replace(TASK, seed=seed) for seed in range(3)]
    with pytest.raises(KeyboardInterrupt):
        Memory(interrupted, file, "s").play(tasks)
    assert Memory(refusing, file, "s").play(tasks[:2]) == [Times({}, {"html": 1.0}), None]
