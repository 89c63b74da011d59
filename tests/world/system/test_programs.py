"""Programs of this machine: those for administrators are found, and run, whatever an ordinary user's PATH leaves out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mixedsched.world.system import programs
from mixedsched.world.system.programs import find_program, with_path


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The one folder of the PATH, and the one for administrators."""
    ordinary, admin = tmp_path / "bin", tmp_path / "sbin"
    ordinary.mkdir()
    admin.mkdir()
    monkeypatch.setenv("PATH", str(ordinary))
    monkeypatch.setattr(programs, "ADMIN_FOLDERS", (str(tmp_path / "none"), str(admin)))
    return ordinary, admin


def program(folder: Path, name: str) -> str:
    path = folder / name
    path.write_text('#!/bin/sh\necho "$0 $1"\n')
    path.chmod(0o755)
    return str(path)


def test_a_program_for_administrators_is_found_and_run_though_the_path_leaves_it_out(
    folders: tuple[Path, Path],
) -> None:
    path = program(folders[1], "tc")
    assert find_program("tc") == path
    assert (
        subprocess.run(with_path(["tc", "qdisc"]), capture_output=True, check=True).stdout == f"{path} qdisc\n".encode()
    )


def test_what_is_in_the_path_comes_first(folders: tuple[Path, Path]) -> None:
    program(folders[1], "tc")
    path = program(folders[0], "tc")
    assert find_program("tc") == path


def test_a_program_that_is_named_by_its_path_is_that_one(folders: tuple[Path, Path]) -> None:
    program(folders[0], "tc")
    path = program(folders[1], "tc")
    assert find_program(path) == path
    assert with_path([path, "-V"]) == [path, "-V"]


def test_a_program_that_is_not_here_is_not_found_and_a_command_keeps_its_name(folders: tuple[Path, Path]) -> None:
    (folders[1] / "notes").write_text("not to be run")
    assert find_program("notes") is None
    assert with_path(["notes", "1"]) == ["notes", "1"]
