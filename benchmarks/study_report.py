"""A study with 200,000 loads: what it takes to open it, to go on with it, and to report. A minute.

python -m benchmarks.study_report [--loads N]

The study is planned as `study run` does; its loads are drawn instead of played. Each command is a process of its own, of which
wall time and the highest resident memory are told.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import stack
from benchmarks._command import MIXEDSCHED, parser_of, say_all
from mixedsched.errors import MixedschedError
from mixedsched.lab.results import DATABASE_NAME
from mixedsched.lab.study.definition import STUDY_FORMAT, Study, dump_study
from mixedsched.lab.study.places import chosen, open_places, sites_of
from mixedsched.lab.study.session import planned_work
from mixedsched.report.papers.script import run_script
from mixedsched.world.store import Lease, NewLoad, StudyStore

LOADS = 200_000
LINKS = ("sander-loss1", "sander-loss2", "sander-loss5", "wifi-lossy")
ARMS = ("sequential", "mixed", "nip", "ip", "rr", "eps", "chrome7", "safari-wrr", "firefox-tree", "firefox-eps")
BLOCKS = 20
LOADS_OF_SITE = len(LINKS) * len(ARMS) * BLOCKS
BYTES_APART = 500  # of two pages
BLOCKS_AT_ONCE = 1000
USUAL_MS = {"fcp_ms": 900.0, "lcp_ms": 2400.0, "si_ms": 1500.0, "finished_ms": 5000.0}
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a command."""

    wall_s: float
    peak_bytes: int  # of resident memory

    def __str__(self) -> str:
        return f"{self.wall_s:5.1f} s, {self.peak_bytes / MEGABYTE:4.0f} MB"


def make(folder: Path, loads: int) -> Path:
    """A study in `folder`/out with at least so many loads, all done; returns its file."""
    sites = -(-loads // LOADS_OF_SITE)
    pages = folder / "pages"
    pages.mkdir()
    page = stack.page().model_dump(mode="json")
    for number in range(sites):
        page["resources"][-1]["body_bytes"] += BYTES_APART
        (pages / f"page{number:04}.json").write_text(json.dumps(page), encoding="utf-8")
    tables = {
        "format": STUDY_FORMAT,
        "name": "benchmark",
        "rung": "stack",
        "sites": ["pages"],
        "links": LINKS,
        "arms": ARMS,
        "baseline": ARMS[0],
        "blocks": BLOCKS,
        "primary": ["lcp", "si"],
    }
    study = Study.from_dict(tables, folder)
    file = folder / "study.toml"
    file.write_text(dump_study(study), encoding="utf-8")
    out = folder / "out"
    out.mkdir()
    with StudyStore(f"sqlite:///{out / DATABASE_NAME}") as store:
        places = open_places(study, chosen(sites_of(study), study, None), lambda _: None)
        work = planned_work(study, lambda: places, store, out, lambda _: None)
        worker = store.join("a worker", "here", {})
        while leases := store.lease(work.study_id, worker, BLOCKS_AT_ONCE, 1e6):
            store.add_all(worker, [(lease, drawn(lease), True) for lease in leases])
        store.leave(worker)
    return file


def drawn(lease: Lease) -> list[NewLoad]:
    """Plausible loads of a block: each place has its own level, each arm its own effect, and both some noise."""
    site = random.Random(lease.place_id)
    level = math.exp(site.gauss(0, 0.5))
    effects = [math.exp(site.gauss(0, 0.1)) for _ in ARMS]
    rng = random.Random(f"{lease.place_id}/{lease.number}")
    shared = math.exp(rng.gauss(0, 0.1))
    loads = []
    for position, arm in enumerate(ARMS):
        factor = level * effects[position] * shared
        values = {key: round(usual * factor * math.exp(rng.gauss(0, 0.03)), 3) for key, usual in USUAL_MS.items()}
        values |= {"hol_bytes": rng.randrange(500_000), "loss_pct": round(rng.uniform(0, 5), 3)}
        loads.append(NewLoad(arm, position, lease.number, "ok", "", values))
    return loads


def cost_of(*words: str | Path) -> Cost:
    """Raises MixedschedError if the command fails."""
    began_s = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([*MIXEDSCHED, "study", *map(str, words)], stdout=subprocess.DEVNULL, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)  # which tells of this process alone
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise MixedschedError(f"`mixedsched study {words[0]}` failed", why=said.read().strip()[-500:])
    return Cost(time.monotonic() - began_s, usage.ru_maxrss * 1024)


def run(loads: int = LOADS) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        began_s = time.monotonic()
        file = make(folder, loads)
        out = folder / "out"
        size = (out / DATABASE_NAME).stat().st_size
        yield f"made in {time.monotonic() - began_s:.0f} s; the database has {size / MEGABYTE:.0f} MB"
        yield f"study status                    {cost_of('status', out)}"
        yield f"study run, with nothing to do   {cost_of('run', file, '--out', out, '--json')}"
        yield f"study report                    {cost_of('report', out)}"
        yield f"study report --as-papers        {cost_of('report', out, '--as-papers')}"
        yield f"study export --format csv       {cost_of('export', out, '--out', folder / 'loads.csv')}"
        parquet = folder / "loads.parquet"
        yield f"study export --format parquet   {cost_of('export', out, '--format', 'parquet', '--out', parquet)}"


def main() -> None:
    parser = parser_of("study_report", __doc__)
    parser.add_argument("--loads", type=int, default=LOADS, help="at least so many")
    say_all(run(parser.parse_args().loads))


if __name__ == "__main__":
    run_script(main)
