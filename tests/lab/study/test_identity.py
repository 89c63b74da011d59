"""Whether a worker still lives can be told from its name, whatever happens to clocks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mixedsched.lab.study._identity import is_dead, worker_name
from tests.patience import wait_until

SAYS_ITS_NAME = """
import time
from mixedsched.lab.study._identity import worker_name
print(worker_name(), flush=True)
time.sleep(60)
"""


def test_a_worker_lives_on_when_the_clock_of_its_machine_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    name = worker_name()
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: 1.0)  # Linux works it out from the time of day
    assert not is_dead(name, is_of_this_machine=True)


def test_a_worker_that_was_killed_is_dead_also_before_anybody_takes_notice() -> None:
    with subprocess.Popen([sys.executable, "-c", SAYS_ITS_NAME], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        assert not is_dead(name, is_of_this_machine=False)
        process.kill()
        assert wait_until(lambda: is_dead(name, is_of_this_machine=False), 30)
    assert is_dead(name, is_of_this_machine=False)


def test_of_another_start_of_the_system_it_is_dead_if_there_is_no_other_machine() -> None:
    host, _, space, process = worker_name().rsplit(" ", 3)
    name = f"{host} 00000000-0000-0000-0000-000000000000 {space} {process}"
    assert is_dead(name, is_of_this_machine=True)
    assert not is_dead(name, is_of_this_machine=False)


def test_of_another_container_nobody_can_tell() -> None:
    host, system, _, process = worker_name().rsplit(" ", 3)
    assert not is_dead(f"{host} {system} pid:[1] {process}", is_of_this_machine=True)


@pytest.mark.parametrize("name", ["", "a worker", "kept.parquet my machine"])
def test_of_a_name_that_no_worker_gave_itself_nobody_can_tell(name: str) -> None:
    assert not is_dead(name, is_of_this_machine=True)
