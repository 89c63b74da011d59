"""Runs the short benchmarks and prints what they found. Times are the minimum of several repeats; ratios are what counts.

All others take minutes, need other programs, or want the machine for themselves. Every one is a command of its own:
`python -m benchmarks.NAME --help` says what it measures.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator

from benchmarks import decisions, pipe, serving, stack, startup, transfer, tuner
from benchmarks._command import say_all
from mixedsched.errors import MissingPartError
from mixedsched.report.papers.script import run_script

SHORT = (startup, decisions, pipe, stack, tuner, transfer, serving)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    say_all(run())


def run() -> Iterator[str]:
    yield f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    for benchmark in SHORT:
        yield from ("", (benchmark.__doc__ or "").splitlines()[0])
        try:
            for line in benchmark.run():
                yield f"  {line}"
        except MissingPartError as error:
            yield f"  left out: {error}"


if __name__ == "__main__":
    run_script(main)
