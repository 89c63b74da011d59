"""Processors of a virtual machine are kept from sleeping while a link is in use, by programs that give way to all others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mixedsched.world.emulator import awake
from mixedsched.world.emulator.awake import is_virtual, kept_awake
from tests.patience import wait_until

pytestmark = pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="this system has no priority that gives way")


def watchers_of(parent: int) -> list[int]:
    # -ww: else commands are cut to the width of the terminal, or to what COLUMNS says.
    command = ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(parent)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line.split(maxsplit=1) for line in found.stdout.splitlines()]
    return [int(pid) for pid, *words in lines if awake.__file__ in "".join(words)]


def test_one_for_each_processor_gives_way_to_all_others_and_goes_with_the_link() -> None:
    processors = min(8, len(os.sched_getaffinity(0)))
    with kept_awake(everywhere=True) as kept:
        assert kept == processors
        assert wait_until(lambda: {os.sched_getscheduler(pid) for pid in watchers_of(os.getpid())} == {os.SCHED_IDLE})
        places = [os.sched_getaffinity(pid) for pid in watchers_of(os.getpid())]
        assert len(places) == processors
    assert wait_until(lambda: watchers_of(os.getpid()) == []), "they were killed, and nobody waits for their end"


def test_none_outlives_a_parent_that_is_killed() -> None:
    program = (
        "import time\nfrom mixedsched.world.emulator.awake import kept_awake\n"
        "with kept_awake(everywhere=True):\n print(1, flush=True)\n time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        watchers = watchers_of(parent.pid)
        parent.send_signal(signal.SIGKILL)
    assert watchers
    assert wait_until(lambda: not any(awake.__file__ in _command(pid) for pid in watchers))


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    except OSError:
        return ""


@pytest.mark.parametrize(("flags", "expected"), [("fpu hypervisor lahf_lm", True), ("fpu lahf_lm", False)])
def test_a_virtual_machine_is_told_by_its_processors(
    flags: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = tmp_path / "cpuinfo"
    facts.write_text(f"processor : 0\nmodel name : a hypervisor of a name\nflags : {flags}\n")
    monkeypatch.setattr(awake, "_PROCESSOR_FACTS", facts)
    assert is_virtual() is expected
    with kept_awake() as kept:
        assert (kept > 0) is expected


def test_where_nothing_is_told_of_the_processors_none_is_kept_awake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(awake, "_PROCESSOR_FACTS", tmp_path / "nothing")
    with kept_awake() as kept:
        assert kept == 0
