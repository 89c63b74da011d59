"""How long people wait before anything happens: imports, and commands that only print, beside Python's own start."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from benchmarks._command import MIXEDSCHED, run_alone

REPEATS = 7
PYTHON = (sys.executable, "-c")
CASES: tuple[tuple[str, Sequence[str]], ...] = (
    ("python", (*PYTHON, "pass")),
    ("import mixedsched", (*PYTHON, "import mixedsched")),
    ("mixedsched --help", (*MIXEDSCHED, "--help")),
    ("mixedsched compare --help", (*MIXEDSCHED, "compare", "--help")),
    ("simulate, a small page", (*MIXEDSCHED, "simulate", "davies-meenan", "--scheme", "mixed")),
)


def run() -> Iterator[str]:
    times_s: dict[str, float] = {}
    for _ in range(REPEATS):  # in turns, so that a slow moment meets all of them
        for name, command in CASES:
            started_s = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times_s[name] = min(times_s.get(name, float("inf")), time.perf_counter() - started_s)
    for name, spent_s in times_s.items():
        yield f"{name:26} {spent_s * 1000:5.0f} ms"


if __name__ == "__main__":
    run_alone("startup", __doc__, run)
