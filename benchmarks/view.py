"""How soon `view` opens with 500 results, and how far its progress lags: `python -m benchmarks.view`."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from benchmarks._command import MIXEDSCHED, run_alone
from mixedsched.errors import MixedschedError
from tests.browsing import browse
from tests.report.view.made_up_folders import write_many

RESULTS = 500
OPENINGS = 5
_LOADED = "return performance.getEntriesByType('navigation')[0].loadEventEnd"
# A command that is at work in a folder, and tells the moment, in milliseconds since 1970, four times a second.
_WORK = """
import sys, time
from pathlib import Path
from mixedsched.lab import underway
from mixedsched.lab.results import owned
with owned(Path(sys.argv[1])):
    while True:
        underway.tell(str(round(time.time() * 1000)), 1, 2, "loads", None)
        time.sleep(0.25)
"""
_LAG = """
const lags = [];
for (let look = 0; look < 100; look++) {
  await new Promise(done => setTimeout(done, 50));
  lags.push(Date.now() - Number(document.querySelector('.running .what').textContent));
}
return lags;
"""


def run() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as place:
        yield from _lines(Path(place))


def _lines(place: Path) -> Iterator[str]:
    root = place / "runs"
    write_many(root, RESULTS)
    started_s = time.perf_counter()
    with _viewed(root) as (url, process):
        yield f"{RESULTS} results: from the command to the address {time.perf_counter() - started_s:.2f} s"
        times_s, worked_s = [], []
        for _ in range(OPENINGS):
            began_s, before_s = time.perf_counter(), _worked_s(process)
            with urllib.request.urlopen(url) as answer:  # noqa: S310 - our own page
                size_bytes = len(answer.read())
            times_s.append(time.perf_counter() - began_s)
            worked_s.append(_worked_s(process) - before_s)
        rest = statistics.median(times_s[1:])
        yield f"the page, {size_bytes / 1000:.0f} kB: first answer {times_s[0]:.2f} s, later ones {rest:.2f} s"
        yield f"of that the server has worked {worked_s[0]:.2f} s, later {statistics.median(worked_s[1:]):.2f} s"
    with _viewed(root) as (url, process):
        (first_ms,) = browse(place / "cold", ("goto", url), ("evaluate", _LOADED)).results
        (again_ms,) = browse(place / "warm", ("goto", url), ("evaluate", _LOADED)).results
        yield f"opened in Chromium: {first_ms / 1000:.2f} s the first time, {again_ms / 1000:.2f} s later"
        work = subprocess.Popen([sys.executable, "-c", _WORK, str(root / "at-work")])
        try:
            seen = browse(place / "live", ("goto", url), ("wait", ".running"), ("evaluate", _LAG)).results[0]
        finally:
            work.terminate()
            work.wait()
        yield f"progress lags {statistics.median(seen) / 1000:.2f} s (median), {max(seen) / 1000:.2f} s at most"


@contextmanager
def _viewed(root: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    with subprocess.Popen([*MIXEDSCHED, "view", str(root), "--port", "0", "--json"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            first_line = process.stdout.readline()
            if not first_line:
                raise MixedschedError("`mixedsched view` did not start", why="what it said stands above")
            yield json.loads(first_line)["url"], process
        finally:
            process.terminate()


def _worked_s(process: subprocess.Popen[bytes]) -> float:
    """Time on processors, which does not depend on what else keeps the machine busy."""
    times = psutil.Process(process.pid).cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    run_alone("view", __doc__, run)
