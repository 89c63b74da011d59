"""Whether a browser starts: what it lacks is named, with the packages that have it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mixedsched.errors import ExitCode, MissingPartError
from mixedsched.world.setup._part import Found, part
from mixedsched.world.setup._trial import missing_libraries, require_starts
from tests.world.setup.mirror import program

NOT_FOUND = """
    libnss3.so => not found
    libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f0000000000)
    libasound.so.2 => not found
    libodd.so.1 => not found
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH of programs that stand in for those of a system."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    program(folder, "ldd", "true")
    return folder


def complaint(browser: Path) -> MissingPartError:
    with pytest.raises(MissingPartError) as caught:
        require_starts(browser)
    return caught.value


def test_a_browser_that_shows_an_empty_page_in_a_fresh_profile_starts(tools: Path, tmp_path: Path) -> None:
    look = 'case "$word" in --user-data-dir=*) test -d "${word#*=}" && exit 0 ;; esac'
    require_starts(program(tmp_path, "chrome", f"for word; do {look}; done; exit 1"))


def test_missing_libraries_are_named_with_their_packages_as_this_release_calls_them(
    tools: Path, tmp_path: Path
) -> None:
    program(tools, "ldd", f"echo '{NOT_FOUND}'")
    program(tools, "apt-get", "true")
    program(tools, "apt-cache", '[ "$2" = libasound2 ] && echo "libasound2-data libasound2t64 libasound2-plugins"')
    browser = program(tmp_path, "chrome", "true")
    assert missing_libraries(browser) == ["libasound.so.2", "libnss3.so", "libodd.so.1"]
    error = complaint(browser)
    assert "libodd.so.1" in error.why
    assert error.fix == "run: sudo apt-get install libasound2t64 libnss3 fonts-liberation"


@pytest.mark.parametrize(
    ("script", "why", "fix"),
    [
        ("echo 'No usable sandbox!' >&2; exit 1", "No usable sandbox!", "apparmor_restrict_unprivileged_userns"),
        ("exit 3", "exit status 3", "CHROME_PATH"),
    ],
)
def test_a_browser_that_does_not_start_says_why(tools: Path, tmp_path: Path, script: str, why: str, fix: str) -> None:
    error = complaint(program(tmp_path, "chrome", script))
    assert why in error.why
    assert fix in error.fix


def test_what_is_no_program_does_not_start(tools: Path, tmp_path: Path) -> None:
    (tmp_path / "chrome").write_bytes(b"\x00\x01")
    (tmp_path / "chrome").chmod(0o755)
    assert "format" in complaint(tmp_path / "chrome").why.lower()


NO_NAMESPACES = """case "$*" in *--no-sandbox*) exit 0;; esac; echo 'No usable sandbox!' >&2; exit 1"""


def test_a_browser_is_tried_without_its_sandbox_only_where_loads_may_do_without(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = program(tmp_path, "chrome", NO_NAMESPACES)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "MIXEDSCHED_SANDBOX=if-possible" in complaint(browser).fix
    monkeypatch.setenv("MIXEDSCHED_SANDBOX", "if-possible")
    require_starts(browser)


def test_what_this_user_may_not_change_is_a_part_that_is_missing() -> None:
    def bring() -> Found:
        raise PermissionError(errno.EACCES, "Permission denied", "/cache/browser/browser.json")

    found = part("browser", bring)
    assert (found.ok, found.exit_code) == (False, ExitCode.MISSING_PART)
    assert found.detail == "/cache/browser/browser.json: Permission denied"
    assert "MIXEDSCHED_CACHE" in found.fix
