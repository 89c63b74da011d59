"""Studies on rung `browser` with real parts: killed again and again, handed to a worker, and brought to their end."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from mixedsched.lab.results import DATABASE_NAME
from mixedsched.lab.study.session import stored_results, study_store
from tests.command import HOME, MIXEDSCHED
from tests.families import all_gone, family, has_browser
from tests.patience import is_late, run_patiently, wait_until
from tests.small_site import write_small_site

pytestmark = pytest.mark.usefixtures("chromium")

ARMS = ("sequential", "mixed")
METRICS = {"fcp_ms", "lcp_ms", "si_ms", "tbt_ms", "cls"}
STUDY = """
format = "mixedsched.study/1"
name = "measured"
rung = "browser"
sites = ["small"]
links = ["fiber"]
arms = ["sequential", "mixed"]
baseline = "sequential"
blocks = 2
congestion_control = "reno"
cpu_slowdown = 2
mapping = "gupta2024"
"""


@dataclass(frozen=True)
class Load:
    block: int
    attempt: int
    arm: str
    position: int
    seed: int
    status: str
    reason: str
    values: dict[str, float]
    record: dict[str, Any]


def loads_in(folder: Path) -> list[Load]:
    """All that are stored, in the order in which they were made."""
    if not (folder / DATABASE_NAME).is_file():
        return []
    with closing(sqlite3.connect(folder / DATABASE_NAME, timeout=60)) as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'load_record'").fetchall():
            return []
        rows = database.execute(
            'SELECT number, load.attempt, arm, position, seed, status, reason, "values", record FROM load '
            "JOIN block ON block.id = load.block JOIN load_record ON load_record.load = load.id ORDER BY load.id"
        ).fetchall()
    return [Load(*row[:-2], json.loads(row[-2]), json.loads(row[-1])) for row in rows]


@dataclass(frozen=True)
class Killed:
    """What was there when a command had been killed."""

    started: int
    """Processes that it had running."""
    is_gone: bool
    """Whether they all went with it."""
    loads: list[Load]


@dataclass(frozen=True)
class Story:
    """A study that is killed before its first load counts, in its first block, and in the hands of a worker."""

    killed: list[Killed]
    finished: subprocess.CompletedProcess[str]
    again: subprocess.CompletedProcess[str]
    """Begun once more, when there is nothing to be done."""
    loads: list[Load]
    folder: Path


def killed(command: list[str], when: Callable[[], bool], folder: Path) -> Killed:
    """Starts a command and kills it when that is true, and a browser of its own is up."""
    process = subprocess.Popen(command, cwd=HOME, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    children: list[psutil.Process] = []
    try:
        assert wait_until(lambda: when() and has_browser(process), 120), "it never came so far"
        children = family(process)
    finally:
        process.kill()
        process.wait()
    return Killed(len(children), wait_until(lambda: all_gone(children)), loads_in(folder))


@pytest.fixture(scope="module")
def story(real_time: None, tmp_path_factory: pytest.TempPathFactory) -> Story:
    home = tmp_path_factory.mktemp("study")
    write_small_site(home / "small")
    (home / "study.toml").write_text(STUDY)
    folder = home / "out"
    run = [*MIXEDSCHED, "study", "run", str(home / "study.toml"), "--out", str(folder)]
    worker = [*MIXEDSCHED, "worker", "--store", f"sqlite:///{folder / DATABASE_NAME}", "--once"]
    ends = [
        killed(run, lambda: True, folder),
        killed(run, lambda: len(loads_in(folder)) >= 1, folder),
        killed(worker, lambda: len(loads_in(folder)) >= 3, folder),
    ]
    finished = run_patiently([*run, "--json"], HOME, 300)
    loads = loads_in(folder)
    again = subprocess.run([*run, "--json"], cwd=HOME, capture_output=True, text=True, timeout=60, check=False)
    return Story(ends, finished, again, loads, folder)


def test_whoever_is_killed_whenever_no_process_stays(story: Story) -> None:
    for end in story.killed:
        assert end.started >= 4, "two servers, a worker and a browser at least"
        assert end.is_gone


def test_nothing_stored_is_lost_changed_or_made_again(story: Story) -> None:
    for end in story.killed:
        assert story.loads[: len(end.loads)] == end.loads
    assert len({(load.block, load.attempt, load.arm) for load in story.loads}) == len(story.loads)


def test_the_same_command_ends_with_every_arm_once_in_every_block(story: Story) -> None:
    assert story.finished.returncode == 0, story.finished.stderr
    assert [load.reason for load in story.loads if load.status != "ok" and not is_late(load.reason)] == []
    last = {load.block: load.attempt for load in story.loads}
    good = [load for load in story.loads if load.status == "ok" and load.attempt == last[load.block]]
    assert Counter((load.block, load.arm) for load in good) == {(block, arm): 1 for block in (1, 2) for arm in ARMS}


def test_arms_of_a_block_share_a_link_and_every_second_block_reverses_the_order(story: Story) -> None:
    seeds = {(load.block, load.attempt): load.seed for load in story.loads}
    assert all(load.seed == seeds[load.block, load.attempt] for load in story.loads)
    assert len(set(seeds.values())) == len(seeds)
    orders = {block: {load.arm: load.position for load in story.loads if load.block == block} for block in (1, 2)}
    assert orders[1] == {arm: 1 - position for arm, position in orders[2].items()}


def test_a_load_has_what_a_comparison_stores_but_tti_which_nobody_asked_for(story: Story) -> None:
    for load in (load for load in story.loads if load.status == "ok"):
        assert load.values.keys() == {*METRICS, "hol_bytes", "score", "finished_ms"}
        assert load.record["page_load"]["metrics"].keys() == METRICS
        assert load.record["arrivals"]
        assert (load.record["connections"], load.record["status"]) == (1, "ok")


def test_a_finished_study_is_told_again_not_made_again(story: Story) -> None:
    assert json.loads(story.again.stdout) == json.loads(story.finished.stdout)
    assert loads_in(story.folder) == story.loads
    result = json.loads(story.again.stdout)
    assert [(place["site"], place["link"], place["blocks"]) for place in result["places"]] == [("small", "fiber", 2)]
    assert {effect["verdict"] for effect in result["effects"]} == {"undecided"}


def test_the_browser_is_a_fact_of_the_study(story: Story) -> None:
    with study_store(story.folder, None) as store:
        (study,) = store.studies()
        assert stored_results(store).study.cpu_slowdown == 2
    versions = {load.record["page_load"]["versions"]["chromium"] for load in story.loads if load.status == "ok"}
    assert versions == {study.facts["laboratory"]["chromium"]}
