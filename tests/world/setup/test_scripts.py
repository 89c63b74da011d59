"""The shell scripts that make a machine ready and try the project: what they refuse, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]
OFFLINE = "echo 'no route to host' >&2; exit 1"
SLOW = "trap 'exit 1' INT; echo begun >&2; while :; do sleep 0.1; done"  # ends as pip does: not by the signal, but with a code
# An interpreter of a version that serves, and what its pip does.
PYTHON = """#!/bin/sh
case "$*" in
    *ensurepip*) ;;
    *version_info*) echo 3.13 ;;
    "-m venv "*) mkdir -p .venv/bin .venv/lib/python3.13 && cp "$0" .venv/bin/python && cp "$0" .venv/bin/pip ;;
    "-m pip "*) {pip} ;;
esac
"""


def checkout(folder: Path, *, pip: str) -> dict[str, str]:
    """As much of one as scripts/setup needs; returns the environment to run it in."""
    for name in ("scripts/setup", ".ci/run"):
        (folder / name).parent.mkdir()
        (folder / name).write_bytes((CHECKOUT / name).read_bytes())
        (folder / name).chmod(0o755)
    for name in ("pyproject.toml", "requirements.lock"):
        (folder / name).touch()
    python = folder / "bin" / "python3.14"  # the first that .ci/run looks for
    python.parent.mkdir()
    python.write_text(PYTHON.format(pip=pip))
    python.chmod(0o755)
    path = f"{python.parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHON": str(python), "CHROME_PATH": "/bin/true"}


@pytest.mark.parametrize(
    ("script", "words", "said"),
    [
        ("setup", ("--labs",), "there is no option '--labs', only --lab and --help"),
        ("setup", ("--lab", "now"), "there is no option '--lab now'"),
        ("try-distribution", (), "which release?"),
        ("try-distribution", ("../runs",), "'../runs' is no release of Debian"),
        ("try-unprivileged", ("sideways",), "which way?"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_done(script: str, words: tuple[str, ...], said: str) -> None:
    command = [CHECKOUT / "scripts" / script, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, said in done.stderr, done.stdout) == (2, True, ""), done.stderr


def test_set_up_says_what_it_does_from_anywhere(tmp_path: Path) -> None:
    command = [CHECKOUT / "scripts" / "setup", "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("Makes everything ready: ")
    assert "--lab: also Firefox" in done.stdout


def test_without_a_network_set_up_says_what_is_missing_and_what_to_do(tmp_path: Path) -> None:
    environment = checkout(tmp_path, pip=OFFLINE)
    command = [tmp_path / "scripts" / "setup"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 4
    assert "no route to host" in done.stderr
    assert "Python packages could not be installed" in done.stderr
    assert "run this again" in done.stderr
    assert not (tmp_path / ".venv" / "set-up").exists()


@pytest.mark.slow
@pytest.mark.parametrize("script", ["scripts/setup", ".ci/run"])
def test_ctrl_c_ends_a_script_even_where_what_it_runs_only_fails(script: str, tmp_path: Path) -> None:
    environment = checkout(tmp_path, pip=SLOW)
    with subprocess.Popen(
        [tmp_path / script], env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stderr is not None
        while "begun" not in process.stderr.readline():
            assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    assert said == ""
