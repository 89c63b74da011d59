"""The command line, run within the process of the tests: a new interpreter for each test would take a second and more.

Each command has a test that starts a process of its own (tests/cli/test_processes.py), as have signals, pipes and crashes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from typer.testing import CliRunner

from mixedsched.cli import _console, app, main  # noqa: F401 - consoles made within a command would keep its width
from mixedsched.errors import MixedschedError
from mixedsched.lab import underway

HOME = Path(__file__).resolve().parents[1]
MIXEDSCHED = (sys.executable, "-m", "mixedsched")


@dataclass(frozen=True, slots=True)
class Result:
    """What a command has left behind."""

    exit_code: int
    stdout: str
    stderr: str


def refusal(*arguments: str) -> MixedschedError:
    """The error that `mixedsched ARGUMENT ...` ends with, before any result, as `main` would tell it."""
    result = CliRunner().invoke(app, list(arguments))
    assert isinstance(result.exception, MixedschedError), result.output
    assert result.stdout == ""
    return result.exception


def run(
    *arguments: str | Path,
    stdin: str = "",
    columns: int = 120,
    cwd: Path = HOME,
    env: Mapping[str, str | None] | None = None,
) -> Result:
    """`mixedsched ARGUMENT ...` until it ends. env: what differs from the environment; None takes a variable away."""
    environment = {"COLUMNS": str(columns), **(env or {})}
    with (
        chdir(cwd),
        patch.object(sys, "argv", ["mixedsched", *map(str, arguments)]),
        CliRunner().isolation(input=stdin, env=environment) as (stdout, stderr, _),
    ):
        try:
            main()
            exit_code = 0
        except SystemExit as ended:
            exit_code = int(ended.code or 0)
        finally:
            underway.given(())  # folders that are written later in this process are not the command's
        sys.stdout.flush()
        sys.stderr.flush()
        return Result(exit_code, stdout.getvalue().decode(), stderr.getvalue().decode())
