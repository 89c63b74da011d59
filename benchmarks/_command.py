"""What benchmarks have in common as commands: help, results line by line, and other commands that they wait for."""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from mixedsched.errors import ExitCode
from mixedsched.report.papers.script import run_script

HOME = Path(__file__).resolve().parents[1]
MIXEDSCHED = (sys.executable, "-m", "mixedsched")


def parser_of(name: str, description: str | None) -> ArgumentParser:
    """For `python -m benchmarks.NAME`. description: of its module, with an example."""
    return ArgumentParser(
        prog=f"python -m benchmarks.{name}", description=description, formatter_class=RawDescriptionHelpFormatter
    )


def say_all(lines: Iterable[str]) -> None:
    """Print results, each as soon as it is there."""
    for line in lines:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def run_alone(name: str, description: str | None, run: Callable[[], Iterable[str]]) -> None:
    """A benchmark without options. It ends as commands do."""
    parser_of(name, description).parse_args()
    run_script(lambda: say_all(run()))


def run_to_its_end(command: Sequence[str]) -> int:
    """Run a command without its results, and return its exit code.

    After Ctrl-C, of which the command has heard as well, it is waited for: it keeps what it has found, and ends what it has
    started. Raises KeyboardInterrupt then.
    """
    with subprocess.Popen(command, cwd=HOME, stdout=subprocess.DEVNULL) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            process.wait()
            raise
    if code == ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    return code
