"""Namespaces never outlive their owner, and nobody else's are touched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mixedsched.errors import MixedschedError
from mixedsched.world.emulator.kernel import registry
from mixedsched.world.emulator.kernel._network import run
from mixedsched.world.emulator.kernel.namespaces import claimed_namespaces, enter, existing_namespaces, sweep
from mixedsched.world.emulator.kernel.registry import (
    Ownership,
    ProcessMark,
    forget_unreadable,
    mark_of,
    own_mark,
    owner_folder,
    read_ownerships,
    registry_folder,
    registry_lock,
    write_ownership,
)
from tests.patience import wait_until
from tests.world.emulator.privileged import has_left_nothing, namespaces_of, needs_namespaces

OWNER = """
import sys, time
from mixedsched.world.emulator.kernel.namespaces import claimed_namespaces
with claimed_namespaces(["client", "server"], "a test") as claim:
    (claim.folder / "qemu.log").touch()
    print("up", flush=True)
    sys.stdin.read()
"""


@contextmanager
def owner() -> Iterator[subprocess.Popen[str]]:
    """Another process that owns two namespaces until its standard input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        try:
            yield process
        finally:
            process.stdin.close()  # type: ignore[union-attr]
            process.wait(20)
            sweep()


def test_a_process_is_told_from_a_later_one_with_the_same_id() -> None:
    mine = own_mark()
    assert mine.is_alive
    assert not ProcessMark(mine.pid, mine.started_ticks + 1).is_alive
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert mark_of(process.pid) is None  # ended, though its parent has not taken note


@needs_namespaces
def test_they_are_there_within_and_gone_after() -> None:
    with claimed_namespaces(["client", "server"]) as claim:
        assert claim.namespaces == {role: f"mixedsched-{os.getpid()}-{role}" for role in ("client", "server")}
        assert set(claim.namespaces.values()) <= set(existing_namespaces())
        assert run(*enter(claim.namespaces["client"]), "ip", "-o", "link").count("\n") >= 1
    assert has_left_nothing(os.getpid())


@needs_namespaces
def test_what_runs_inside_goes_with_them() -> None:
    with claimed_namespaces(["client"]) as claim:
        stubborn = subprocess.Popen([*enter(claim.namespaces["client"]), "sh", "-c", "trap '' TERM; sleep 600 & wait"])
        assert wait_until(lambda: len(run("ip", "netns", "pids", claim.namespaces["client"]).split()) == 2)
    assert stubborn.wait(10) == -signal.SIGKILL
    assert has_left_nothing(os.getpid())


@needs_namespaces
def test_they_go_too_when_something_fails() -> None:
    with pytest.raises(ZeroDivisionError), claimed_namespaces(["client"]):
        raise ZeroDivisionError
    assert has_left_nothing(os.getpid())


@needs_namespaces
def test_a_process_claims_once_at_a_time() -> None:
    with (
        claimed_namespaces(["client"]),
        pytest.raises(MixedschedError, match="already"),
        claimed_namespaces(["server"]),
    ):
        pass


@needs_namespaces
def test_after_kill_9_the_next_start_sweeps_processes_namespaces_and_files() -> None:
    with owner() as process:
        inside = subprocess.Popen([*enter(f"mixedsched-{process.pid}-client"), "sleep", "600"])
        process.kill()
        process.wait()
        assert len(namespaces_of(process.pid)) == 2  # nobody could have seen to it
        with claimed_namespaces(["client"]):
            assert has_left_nothing(process.pid)
        assert inside.wait(10) in {-signal.SIGTERM, 255}  # 255: ip had not got in yet


@needs_namespaces
def test_a_sweep_ends_the_helpers_that_a_dead_owner_noted() -> None:
    with subprocess.Popen(["sleep", "600"]) as helper:
        mark = mark_of(helper.pid)
        assert mark is not None
        dead = ProcessMark(2_147_483_000, 1)  # beyond the largest ID that Linux gives
        write_ownership(Ownership(dead, "a test", (), (mark, ProcessMark(os.getpid(), 1))))  # the other is not us
        sweep()
        assert helper.wait(10) == -signal.SIGTERM
    assert not owner_folder(dead).exists()


@needs_namespaces
def test_a_living_owners_are_left_alone() -> None:
    with owner() as process:
        sweep()
        with claimed_namespaces(["client"]):
            assert len(namespaces_of(process.pid)) == 2
        assert any(item.owner.pid == process.pid and item.about == "a test" for item in read_ownerships())


@needs_namespaces
def test_foreign_namespaces_are_left_alone() -> None:
    foreign = [f"foreign-{os.getpid()}", "mixedsched-notes"]  # the second only looks like ours
    for name in foreign:
        run("ip", "netns", "add", name)
    try:
        sweep()
        assert set(foreign) <= {line.split()[0] for line in run("ip", "netns", "list").splitlines()}
        assert not set(foreign) & set(existing_namespaces())
    finally:
        for name in foreign:
            run("ip", "netns", "delete", name)


@needs_namespaces
def test_a_namespace_of_ours_whose_note_is_lost_goes_once_its_process_is_gone() -> None:
    name = "mixedsched-2147483001-client"
    run("ip", "netns", "add", name)
    mine = f"mixedsched-{os.getpid()}-stray"
    run("ip", "netns", "add", mine)
    try:
        assert sweep() == [name]
        assert mine in existing_namespaces()
    finally:
        run("ip", "netns", "delete", mine)


def test_the_registry_is_never_where_a_symbolic_link_leads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    somebodys, runtime = tmp_path / "somebodys", tmp_path / "run"
    somebodys.mkdir()
    runtime.mkdir()
    (runtime / "mixedsched").symlink_to(somebodys)
    (tmp_path / "readable").touch()
    monkeypatch.setattr(registry, "_SYSTEM_FOLDER", tmp_path / "readable" / "mixedsched")  # cannot be made
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setattr(registry.tempfile, "gettempdir", lambda: str(tmp_path))
    assert registry_folder() == tmp_path / f"mixedsched-{os.getuid()}"
    assert list(somebodys.iterdir()) == []


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A registry of this test's own."""
    monkeypatch.setattr(registry, "registry_folder", lambda: tmp_path)
    return tmp_path


def test_what_is_not_ours_in_the_registry_stays(own_registry: Path) -> None:
    keepsakes = [own_registry / "photos" / "1.jpg", own_registry / "2147483002" / "letter.txt"]
    elsewhere = own_registry / "photos" / "elsewhere"
    for path in [*keepsakes, elsewhere / "owner.json"]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (own_registry / "2147483003").symlink_to(elsewhere)
    with registry_lock():
        forget_unreadable()
    assert all(path.exists() for path in [*keepsakes, elsewhere / "owner.json"])


@pytest.mark.parametrize(
    "owner", [{"pid": "x", "started_ticks": 1}, {"pid": 1, "started_ticks": 1}, {"pid": 2147483004}, "x"]
)
def test_a_note_that_makes_no_sense_goes_with_its_folder(own_registry: Path, owner: object) -> None:
    folder = own_registry / "2147483004"
    folder.mkdir()
    note = {"owner": owner, "about": "", "namespaces": [], "helpers": []}
    (folder / "owner.json").write_text(json.dumps(note))
    assert read_ownerships() == []
    with registry_lock():
        forget_unreadable()
    assert not folder.exists()


def test_a_note_cannot_claim_what_is_somebody_elses(own_registry: Path) -> None:
    write_ownership(Ownership(ProcessMark(2_147_483_005, 1), "a test", ("somebodys",)))
    assert (own_registry / "2147483005").is_dir()
    assert read_ownerships() == []
