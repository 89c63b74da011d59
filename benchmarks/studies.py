"""Studies: simulated loads in a study against the same loads played bare, on all processors of an otherwise quiet machine.

    python -m benchmarks.studies [--rung pipe|stack] [--loads N]

Bare is the pool of processes alone, whose results are thrown away. The study also opens its pages, leases blocks, stores every
load in SQLite, and says at the end what all of them show. A processor is busy with whatever either needs, the start of the
processes included. Pages are of 1 MB in 30 responses, each a little different.
"""

from __future__ import annotations

import json
import resource
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import stack
from benchmarks._command import parser_of, say_all
from mixedsched.core.schedulers import SCHEMES
from mixedsched.lab.machine import processors
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.task import NamedScheme, Task
from mixedsched.lab.play.values import ValuesReader
from mixedsched.lab.study._playing import LOT_OF_PIPE
from mixedsched.lab.study.definition import STUDY_FORMAT, Study
from mixedsched.lab.study.places import SimulatedPlace, chosen, open_places, seed_of, sites_of
from mixedsched.lab.study.session import run_study
from mixedsched.report.papers.script import run_script

LOADS = {"pipe": 100_000, "stack": 600}
ARMS = tuple(SCHEMES)[:20]
LINKS = {"pipe": 20, "stack": 2}  # on rung pipe a place has a single block, so there are many
PAGES_OF_STACK = 5
BYTES_APART = 500  # of two pages


@dataclass(frozen=True, slots=True)
class Cost:
    """Of some work."""

    wall_s: float
    cpu_s: float  # of all processes

    @property
    def busy(self) -> float:
        """The share of the time of all processors."""
        return self.cpu_s / self.wall_s / processors()

    def __str__(self) -> str:
        return f"{self.wall_s:6.1f} s, {self.busy:.1%} of {processors()} processors"


def cost_of(work: Callable[[], object]) -> Cost:
    began_s, before_s = time.monotonic(), _cpu_s()
    work()
    return Cost(time.monotonic() - began_s, _cpu_s() - before_s)


def _cpu_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def study_of(rung: str, loads: int, folder: Path) -> Study:
    """At least so many loads. folder: for its pages and links."""
    links = LINKS[rung]
    pages = PAGES_OF_STACK if rung == "stack" else -(-loads // (links * len(ARMS)))
    _write_pages(folder / "pages", pages)
    tables: dict[str, Any] = {
        "format": STUDY_FORMAT,
        "name": f"benchmark-{rung}",
        "rung": rung,
        "sites": ["pages"],
        "links": [_write_link(folder / f"link{number}.toml", number) for number in range(links)],
        "arms": ARMS,
        "baseline": ARMS[0],
        "blocks": -(-loads // (pages * links * len(ARMS))),
    }
    return Study.from_dict(tables, folder)


def _write_pages(folder: Path, count: int) -> None:
    folder.mkdir()
    page = stack.page().model_dump(mode="json")
    for number in range(count):
        page["resources"][-1]["body_bytes"] += BYTES_APART
        (folder / f"page{number:04}.json").write_text(json.dumps(page), encoding="utf-8")


def _write_link(file: Path, number: int) -> str:
    rates = f"rate_down_bps = {4_000_000 + number * 100_000}\nrate_up_bps = 1_000_000\n"
    rest = 'rtt_ms = 60\nqueue_bytes = 60_000\ndescription = ""\nsource = ""\n[loss.down]\nmodel = "random"\nratio = 0.02\n'
    file.write_text(f'name = "{file.stem}"\n{rates}{rest}', encoding="utf-8")
    return file.name


def tasks_of(study: Study) -> list[Task]:
    """All loads of a study, in its order."""
    places = open_places(study, chosen(sites_of(study), study, None), lambda _: None)
    schemes = [NamedScheme(arm) for arm in study.arms]
    return [
        Task(place.scenario, scheme, seed_of(study, block))
        for block in range(1, study.blocks + 1)
        for place in places.values()
        if isinstance(place, SimulatedPlace)
        for scheme in schemes
    ]


def play_bare(tasks: Sequence[Task], rung: str) -> None:
    with Pool(ValuesReader) as pool:
        deque(pool.results_as_played(tasks, LOT_OF_PIPE if rung == "pipe" else 1), maxlen=0)


def run(rung: str, loads: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        study = study_of(rung, loads, folder)
        tasks = tasks_of(study)
        play_bare(tasks[: 2 * processors()], rung)  # a warm-up: what is read from disk, or compiled, only once
        bare = cost_of(lambda: play_bare(tasks, rung))
        yield f"{len(tasks)} loads of rung {rung} bare    {bare}"
        in_study = cost_of(lambda: run_study(study, folder=folder / "out"))
        yield f"{len(tasks)} loads of rung {rung} in a study {in_study}"
        yield f"a study costs {in_study.wall_s / bare.wall_s - 1:+.1%}"


def main() -> None:
    parser = parser_of("studies", __doc__)
    parser.add_argument("--rung", default="pipe", choices=LOADS)
    parser.add_argument("--loads", type=int, help="at least so many")
    options = parser.parse_args()
    say_all(run(options.rung, options.loads or LOADS[options.rung]))


if __name__ == "__main__":
    run_script(main)
