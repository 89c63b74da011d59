"""A study whose process is killed again and again ends like one that nothing disturbed."""

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mixedsched.lab.results import DATABASE_NAME
from mixedsched.lab.study.definition import dump_study
from tests.command import HOME, MIXEDSCHED, run
from tests.lab.study.small import LOADS_OF_BLOCK, PLACES, small_study
from tests.patience import wait_until

KILLS = 10
BLOCKS = 8
LOADS = PLACES * LOADS_OF_BLOCK * BLOCKS


def words(folder: Path, jobs: int) -> tuple[str | Path, ...]:
    return ("study", "run", folder / "study.toml", "--out", folder / "out", "--json", "--jobs", str(jobs))


def start(folder: Path, jobs: int) -> subprocess.Popen[str]:
    return subprocess.Popen([*MIXEDSCHED, *words(folder, jobs)], stdout=subprocess.PIPE, text=True, cwd=HOME)


def stored(folder: Path) -> list[Any]:
    """What the loads are, whoever made them when."""
    if not (folder / "out" / DATABASE_NAME).is_file():
        return []
    with closing(sqlite3.connect(folder / "out" / DATABASE_NAME, timeout=60)) as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'load'").fetchall():
            return []
        return database.execute(
            'SELECT site, link, block.number, load.attempt, arm, position, seed, status, "values" FROM load '
            "JOIN block ON block.id = load.block JOIN place ON place.id = block.place ORDER BY 1, 2, 3, 4, 6"
        ).fetchall()


def begun(folder: Path) -> Path:
    (folder / "study.toml").write_text(dump_study(small_study(folder, blocks=BLOCKS)))
    return folder


def end(folder: Path) -> Any:
    ended = run(*words(folder, jobs=1))
    assert ended.exit_code == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told.pop("report") == str(folder / "out" / "report.html")
    return told


@pytest.mark.slow
def test_a_study_that_is_killed_ten_times_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    whole, killed = begun(tmp_path / "whole"), begun(tmp_path / "killed")
    for number in range(KILLS):
        process = start(killed, jobs=1 if number % 3 else 2)  # of its own process; several take longer to start
        wanted = number * LOADS // KILLS
        wait_until(lambda: len(stored(killed)) >= wanted or process.poll() is not None, 60)  # noqa: B023
        process.kill()
        process.communicate()
        assert process.returncode == -9
    assert end(killed) == end(whole)
    assert len(stored(killed)) == LOADS
    assert stored(killed) == stored(whole)
