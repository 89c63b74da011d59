"""How many processors there are, and which changes of our source make results those of another version."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mixedsched.lab import machine
from mixedsched.lab.machine import ADVICE_CODE, LOAD_CODE, own_versions, processors, quota_of
from mixedsched.world import places


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with a file in each room."""
    monkeypatch.setenv(places.HOME_VARIABLE, str(places.home()))
    for room in ("model", "core", "world", "sites", "lab", "advice", "report", "cli"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "part.py").write_text("1")
    for name in ("errors.py", "units.py"):
        (tmp_path / name).write_text("1")
    monkeypatch.setattr(places, "PACKAGE", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "loads_change", "advice_changes"),
    [
        ("report/part.py", False, False),
        ("cli/part.py", False, False),
        ("advice/part.py", False, True),
        ("lab/part.py", True, True),
        ("core/part.py", True, True),
        ("errors.py", True, True),
    ],
)
def test_only_rooms_that_make_results_make_another_version(
    file: str, loads_change: bool, advice_changes: bool, source: Path
) -> None:
    before = own_versions(LOAD_CODE)["code"], own_versions(ADVICE_CODE)["code"]
    (source / file).write_text("1  # a comment")
    assert (own_versions(LOAD_CODE)["code"] != before[0]) is loads_change
    assert (own_versions(ADVICE_CODE)["code"] != before[1]) is advice_changes


@pytest.mark.parametrize("file", ["worker.mjs", "src/run.mjs", "src/observe/requests.mjs"])
def test_so_does_every_part_of_the_browsers_worker(file: str, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = source / "home"
    (home / "mapping").mkdir(parents=True)
    part = home / "lighthouse-runner" / file
    part.parent.mkdir(parents=True)
    part.write_text("1")
    monkeypatch.setenv(places.HOME_VARIABLE, str(home))
    before = own_versions()["code"]
    part.write_text("2")
    assert own_versions()["code"] != before


@pytest.mark.parametrize("told", ["3", "", "0", "-1", "many", "default"])
def test_processors_are_those_it_is_bound_to_unless_python_is_told_a_number(
    told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_CPU_COUNT", told)
    monkeypatch.setattr(machine, "quota_of", lambda: None)
    assert processors() == (3 if told == "3" else len(os.sched_getaffinity(0)))


def test_every_room_that_a_load_uses_is_counted() -> None:
    rooms = {path.name for path in places.PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert rooms - {room for room in ADVICE_CODE if "." not in room} == {"report", "cli"}


@pytest.mark.parametrize(
    ("limits", "quota"),
    [
        ({"": "max 100000", "pod": "max 100000"}, None),
        ({"pod": "150000 100000"}, 1.5),
        ({"": "400000 100000", "pod": "150000 50000"}, 3.0),
        ({"pod": "800000 100000", "": "200000 100000"}, 2.0),
        ({}, None),
    ],
)
def test_containers_are_limited_by_the_time_of_their_control_group(
    limits: dict[str, str], quota: float | None, tmp_path: Path
) -> None:
    (tmp_path / "cgroup").write_text("1:cpu:/else\n0::/pod/app\n")
    for group, limit in limits.items():
        (tmp_path / "groups" / group).mkdir(parents=True, exist_ok=True)
        (tmp_path / "groups" / group / "cpu.max").write_text(f"{limit}\n")
    assert quota_of(tmp_path / "cgroup", tmp_path / "groups") == quota
    assert quota_of(tmp_path / "none", tmp_path / "groups") is None


@pytest.mark.parametrize(("quota", "count"), [(None, 4), (0.5, 1), (1.5, 2), (64.0, 4)])
def test_no_more_processes_are_started_than_have_a_processor(
    quota: float | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHON_CPU_COUNT", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3})
    monkeypatch.setattr(machine, "quota_of", lambda: quota)
    assert processors() == count
