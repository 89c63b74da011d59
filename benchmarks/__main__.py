"""Runs every benchmark and prints what it found. Times are the minimum of several repeats; ratios are what counts.

Those that take minutes, or want the machine for themselves, are run by themselves: `benchmarks.memory`, `benchmarks.relay`,
`benchmarks.networks`, `benchmarks.backends`, `benchmarks.copies`, `benchmarks.gates`, `benchmarks.view`,
`benchmarks.accessibility`, `benchmarks.tuned` and `benchmarks.remembering`.
"""

from __future__ import annotations

import os
import platform
import sys

from benchmarks import decisions, pipe, serving, stack, startup, transfer, tuner


def main() -> None:
    sys.stdout.write(
        f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, Python {platform.python_version()}\n"
    )
    for benchmark in (startup, decisions, pipe, stack, tuner, transfer, serving):
        sys.stdout.write(f"\n{(benchmark.__doc__ or '').splitlines()[0]}\n")
        for line in benchmark.run():
            sys.stdout.write(f"  {line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
