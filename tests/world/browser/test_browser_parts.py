"""Finding the programs, naming and sweeping profiles, storing results: nothing here starts a browser."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from mixedsched.errors import ExitCode, InputError, MissingPartError
from mixedsched.world.browser.find import find_chromium, find_firefox, find_node, find_package
from mixedsched.world.browser.kinds import browser_of
from mixedsched.world.browser.pageload import BrowserLoad, PageLoadFailed, PageLoadJob
from mixedsched.world.browser.profiles import (
    make_profile_dir,
    place_of_profiles,
    remove_profile_dir,
    sweep_profile_dirs,
)
from mixedsched.world.browser.runner import Worker


def program(directory: Path, name: str, script: str) -> Path:
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_chrome_path_wins_over_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "chromium", "true")
    own = program(tmp_path, "my-chrome", "true")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROME_PATH", raising=False)
    assert find_chromium() == tmp_path / "chromium"
    monkeypatch.setenv("CHROME_PATH", str(own))
    assert find_chromium() == own


@pytest.mark.parametrize("chrome_path", ["", "/no/such/chrome"])
def test_without_chromium_the_error_tells_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chrome_path: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CHROME_PATH", chrome_path)
    with pytest.raises(MissingPartError) as caught:
        find_chromium()
    assert "apt-get install chromium" in caught.value.fix
    assert "CHROME_PATH" in caught.value.fix
    assert caught.value.exit_code is ExitCode.MISSING_PART


@pytest.mark.parametrize("answer", ["v18.20.0", "v9.1.0", "what?", ""])
def test_an_old_node_is_refused_with_the_version_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    program(tmp_path, "node", f"echo '{answer}'")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingPartError, match="too old") as caught:
        find_node()
    assert "20 or later" in caught.value.fix


def test_node_20_is_good_and_no_node_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingPartError, match="missing"):
        find_node()
    program(tmp_path, "node", "echo v20.0.0")
    assert find_node() == tmp_path / "node"


def test_a_package_without_its_dependencies_names_the_command_to_run(tmp_path: Path) -> None:
    with pytest.raises(MissingPartError, match="missing"):
        find_package(tmp_path)
    (tmp_path / "worker.mjs").touch()
    with pytest.raises(MissingPartError, match="not installed") as caught:
        find_package(tmp_path)
    assert caught.value.fix == f"npm ci --prefix {tmp_path}"


def test_sweeping_removes_the_profiles_of_dead_owners_only(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as process:
        pass
    dead = tmp_path / f"mixedsched-browser-{process.pid}-abc1"
    (dead / "Default").mkdir(parents=True)
    mine = make_profile_dir(tmp_path)
    others = [tmp_path / f"mixedsched-browser-{name}" for name in ("notes", "99999999999999999999-abc1")]
    for other in others:
        other.mkdir()
    assert mine.name.startswith(f"mixedsched-browser-{os.getpid()}-")
    assert sweep_profile_dirs(tmp_path) == [dead]
    assert sorted(tmp_path.iterdir()) == sorted([mine, *others])
    remove_profile_dir(mine)
    remove_profile_dir(mine)
    assert not mine.exists()


def test_sweeping_leaves_what_is_another_users_or_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["true"]) as process:
        pass
    profile = tmp_path / f"mixedsched-browser-{process.pid}-abc1"
    profile.mkdir()
    link = tmp_path / f"mixedsched-browser-{process.pid}-abc2"
    link.symlink_to(tmp_path)
    monkeypatch.setattr("mixedsched.world.browser.profiles.time.sleep", lambda _: pytest.fail("it was tried"))
    monkeypatch.setattr("mixedsched.world.browser.profiles.os.geteuid", lambda: profile.stat().st_uid + 1)
    assert sweep_profile_dirs(tmp_path) == []
    monkeypatch.undo()
    assert sweep_profile_dirs(tmp_path) == [profile]
    assert link.is_symlink()


def test_profiles_are_kept_in_memory_where_there_is_room_unless_the_user_names_a_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "disk"))
    monkeypatch.delenv("TMPDIR", raising=False)
    assert place_of_profiles(tmp_path, room_bytes=1) == tmp_path
    assert place_of_profiles(tmp_path, room_bytes=10**18) == tmp_path / "disk"
    assert place_of_profiles(tmp_path / "missing", room_bytes=1) == tmp_path / "disk"
    monkeypatch.setenv("TMPDIR", str(tmp_path / "disk"))
    assert place_of_profiles(tmp_path, room_bytes=1) == tmp_path / "disk"


def test_the_directory_of_a_killed_browsers_socket_goes_with_its_profile(tmp_path: Path) -> None:
    profile = make_profile_dir(tmp_path)
    socket_dir = tmp_path / "org.chromium.Chromium.a1B2c3"
    precious = tmp_path / "precious"
    for directory in (socket_dir, precious):
        directory.mkdir()
    (profile / "SingletonSocket").symlink_to(socket_dir / "SingletonSocket")
    remove_profile_dir(profile)
    assert list(tmp_path.iterdir()) == [precious]
    profile = make_profile_dir(tmp_path)
    (profile / "SingletonSocket").symlink_to(precious / "SingletonSocket")
    remove_profile_dir(profile)
    assert list(tmp_path.iterdir()) == [precious]


def test_a_job_names_its_netlog_by_its_full_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    job = PageLoadJob("https://site.test/", {"site.test": 4433}, ("x",), netlog=Path("net.json"))
    assert job.to_message(Path("/tmp/p"))["netlog"] == str(tmp_path / "net.json")


def test_a_failure_says_its_reason_and_detail() -> None:
    failure = PageLoadFailed("runtime_error:NO_FCP", "the page painted nothing")
    assert str(failure) == "the page load failed (runtime_error:NO_FCP): the page painted nothing"
    assert failure.exit_code is ExitCode.FAILED


@pytest.mark.parametrize("data", [{}, {"schema": 99}, {"schema": 1, "metrics": {"fcp_ms": 1}}, {"metrics": None}])
def test_what_is_no_page_load_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(InputError):
        BrowserLoad.from_dict(data)


def test_a_sandbox_that_cannot_be_built_is_a_missing_part_and_no_failed_load(tmp_path: Path) -> None:
    node = program(
        tmp_path, "node", """read job; echo '{"id": 1, "ok": false, "reason": "no_sandbox", "detail": "..."}'"""
    )

    async def ask() -> None:
        worker = await Worker.start(node, tmp_path, tmp_path / "chromium")
        try:
            await worker.ask({"op": "run"}, limit_s=60)
        finally:
            await worker.close()

    with pytest.raises(MissingPartError) as caught:
        asyncio.run(ask())
    assert "MIXEDSCHED_SANDBOX=if-possible" in caught.value.fix


@pytest.mark.parametrize(
    ("versions", "browser"),
    [
        ({"chromium": "156.0.8078.79", "node": "20.20.2"}, "156.0.8078.79"),
        ({"firefox": "153.7.0", "node": "20.20.2"}, "Firefox 153.7.0"),
        ({}, None),
    ],
)
def test_tables_name_the_browser_of_a_load(versions: dict[str, str], browser: str | None) -> None:
    assert browser_of(versions) == browser


def test_firefox_is_looked_for_as_chromium_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("FIREFOX_PATH", raising=False)
    with pytest.raises(MissingPartError, match="no such program in the PATH") as missing:
        find_firefox()
    assert "apt-get install firefox-esr" in missing.value.fix
    program(tmp_path, "firefox", 'exec /snap/bin/firefox "$@"')
    with pytest.raises(MissingPartError, match="cannot be used: it is a snap"):
        find_firefox()
    esr = program(tmp_path, "firefox-esr", "exit 0")
    assert find_firefox() == esr
    monkeypatch.setenv("FIREFOX_PATH", str(tmp_path / "none"))
    with pytest.raises(MissingPartError, match="which is not a program"):
        find_firefox()
