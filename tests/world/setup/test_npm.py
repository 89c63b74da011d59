"""Node packages of a lock file: all of them or none, one installer at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mixedsched.errors import ExitCode, MissingPartError
from mixedsched.world.npm import install_packages, packages_are_current
from tests.world.setup.mirror import program

INSTALLED = "node_modules/.package-lock.json"


def lock(folder: Path, name: str = "package-lock.json", **versions: str) -> Path:
    packages: dict[str, Any] = {
        f"node_modules/{package}": {"version": version} for package, version in versions.items()
    }
    for entry in packages.values():
        entry["optional"] = entry["version"].endswith("?")
        entry["version"] = entry["version"].removesuffix("?")
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"packages": {"": {"name": "x"}, **packages}}))
    return folder


def npm(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program(folder / "bin", "npm", script)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")


def test_packages_are_current_with_exactly_the_versions_of_the_lock_file(tmp_path: Path) -> None:
    lock(tmp_path, a="1", b="2")
    assert not packages_are_current(tmp_path)
    assert packages_are_current(lock(tmp_path, INSTALLED, a="1", b="2"))
    assert not packages_are_current(lock(tmp_path, INSTALLED, a="1", b="3"))
    assert not packages_are_current(lock(tmp_path, INSTALLED, a="1"))
    assert not packages_are_current(lock(tmp_path, INSTALLED, a="1", b="2", c="1"))


def test_optional_packages_of_other_platforms_need_not_be_there(tmp_path: Path) -> None:
    lock(tmp_path, a="1", b="2?")
    assert packages_are_current(lock(tmp_path, INSTALLED, a="1"))
    assert packages_are_current(lock(tmp_path, INSTALLED, a="1", b="2"))
    assert not packages_are_current(lock(tmp_path, INSTALLED, b="2"))


def test_what_an_interrupted_npm_left_is_not_current(tmp_path: Path) -> None:
    lock(tmp_path, a="1")
    (tmp_path / "node_modules" / "a").mkdir(parents=True)  # npm writes its inventory last
    (tmp_path / "node_modules" / "a" / "package.json").write_text('{"version": "1"}')
    assert not packages_are_current(tmp_path)


def test_npm_runs_no_scripts_and_only_when_something_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock(tmp_path, a="1")
    npm(
        tmp_path,
        monkeypatch,
        'echo "$@" >> calls; mkdir -p node_modules; cp package-lock.json node_modules/.package-lock.json',
    )
    assert install_packages(tmp_path)
    assert not install_packages(tmp_path)
    (call,) = (tmp_path / "calls").read_text().splitlines()
    assert call.startswith("ci --ignore-scripts")


def test_how_many_packages_are_there_is_told_while_npm_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock(tmp_path, a="1", b="1")
    steps = "mkdir -p node_modules/a; touch node_modules/a/package.json; while [ ! -e seen ]; do sleep 0.05; done"
    npm(tmp_path, monkeypatch, f"{steps}; cp package-lock.json node_modules/.package-lock.json")

    def tell(done: int, total: int) -> None:
        if (done, total) == (1, 2):
            (tmp_path / "seen").touch()

    assert install_packages(tmp_path, tell)


def test_a_failure_tells_what_npm_said_and_how_to_do_it_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock(tmp_path, a="1")
    said = "npm error code ENOTFOUND\nnpm error syscall getaddrinfo\nnpm error network request failed\nnpm error more"
    npm(tmp_path, monkeypatch, f"echo '{said}' >&2; exit 1")
    with pytest.raises(MissingPartError) as caught:
        install_packages(tmp_path)
    assert caught.value.why == "npm: network request failed"
    assert "npm ci --ignore-scripts" in caught.value.fix
    assert str(tmp_path) in caught.value.what
    assert caught.value.exit_code is ExitCode.MISSING_PART


def test_with_a_home_that_cannot_be_written_npm_gets_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock(tmp_path, a="1")
    copy = "cp package-lock.json node_modules/.package-lock.json"
    npm(tmp_path, monkeypatch, f'mkdir -p node_modules; test -w "$npm_config_cache" && {copy}')
    monkeypatch.delenv("npm_config_cache", raising=False)
    monkeypatch.setenv("HOME", "/dev/null")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("os.access", lambda path, _mode: path != "/dev/null")
        assert install_packages(tmp_path)
