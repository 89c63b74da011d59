"""Many machines: workers with one PostgreSQL database, how their number pays, and what random faults do to a study.

    python -m benchmarks.machines [--faults 50]

Each worker is a process with a machine name of its own. Faults: kill -9 of a worker, of the dask scheduler and of the database,
a worker that hears nothing of the database for longer than its lease while it goes on playing, and a step of the database's
clock (all leases moved by an hour). Ends with an error if a block is lost, a load counts twice, or a verdict has changed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from sqlalchemy import create_engine, text

from benchmarks._command import HOME, MIXEDSCHED, parser_of, say_all
from benchmarks._gate import Gate
from benchmarks._postgres import Postgres, binaries
from benchmarks._processes import free_port
from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.lab.study._keeper import Keeper
from mixedsched.lab.study.definition import Study, dump_study
from mixedsched.lab.study.results import study_results
from mixedsched.lab.study.session import run_study
from mixedsched.model.page import PAGE_FORMAT
from mixedsched.report.papers.script import run_script
from mixedsched.world.store import NewLoad, PlannedBlock, PlannedPlace, StudyStore

LEASE_S = 4.0
WORKERS = 4
WAIT_S = 0.25  # of a load that only waits
WAITING_BLOCKS, WAITING_ARMS = 48, 4
FAULTS = 50
LIMIT_S = 1200.0
# However this process ends, so do those that it has started, each in a session of its own.
_WITH_US = ("setpriv", "--pdeathsig", "KILL")

STUDY = {
    "format": "mixedsched.study/1",
    "name": "faults",
    "rung": "stack",
    "sites": ["pages"],
    "links": ["wifi-lossy", "3g"],
    "arms": ["sequential", "mixed", "eps", "rr"],
    "baseline": "sequential",
    "blocks": 250,
    "variation": True,
}


def run(faults: int = FAULTS, seed: int = 1, logs: Path | None = None) -> Iterator[str]:
    """A line each for throughput and faults. logs: a folder for what the processes say, to be made if need be."""
    folder = binaries()
    if folder is None:
        raise MissingPartError("PostgreSQL is missing", fix="Debian and Ubuntu: apt-get install postgresql")
    if logs is not None:
        logs.mkdir(parents=True, exist_ok=True)
    with Postgres(folder) as server:
        one, four = (_waiting_rate(server, workers) for workers in (1, WORKERS))
        yield (
            f"{WORKERS} workers make {four / one / WORKERS:.3f} of {WORKERS} times the loads of one, "
            f"where a load only waits ({one:.2f} and {four:.2f} loads a second)"
        )
        yield from _faults(server, faults, seed, logs)


def wait_for_loads(url: str, machine: str) -> None:
    """A worker whose loads only wait."""
    with StudyStore(url) as store:
        worker = store.join(machine, machine, {})
        study = store.studies()[0].id
        with Keeper(store, worker, print) as keeper:
            while leases := keeper.lease(study, 1, None):
                for position in range(WAITING_ARMS):
                    time.sleep(WAIT_S)
                    load = NewLoad(f"arm{position}", position, 1, "ok", "", {"lcp_ms": 1.0})
                    keeper.keep(leases[0], load, "done" if position == WAITING_ARMS - 1 else None)


def _waiting_rate(server: Postgres, workers: int) -> float:
    """Loads a second that so many workers store, from the first to the last."""
    url = server.new_database(f"waiting{workers}")
    with StudyStore(url) as store:
        study = store.save_study("waiting", {}, {})
        blocks = [PlannedBlock(number, number) for number in range(1, WAITING_BLOCKS + 1)]
        store.add_places(study, [PlannedPlace(0, "site", "link", {}, blocks)])
        words = [sys.executable, "-m", "benchmarks.machines", "--wait-for", url]
        processes = [subprocess.Popen([*words, f"m{number}"], cwd=HOME) for number in range(workers)]
        try:
            _while_any(processes, lambda: not any(item.leased or item.done for item in store.counts(study)))
            began_s = time.monotonic()
            _while_any(processes, lambda: store.counts(study)[0].done < WAITING_BLOCKS)
            rate = WAITING_BLOCKS * WAITING_ARMS / (time.monotonic() - began_s)
            for process in processes:
                process.wait()
        finally:
            for process in processes:
                process.kill()
    return rate


def _while_any(processes: Sequence[subprocess.Popen[bytes]], is_so: Callable[[], bool]) -> None:
    """Wait as long as it is so. Raises MixedschedError if it still is when all processes have ended."""
    while is_so():
        if all(process.poll() is not None for process in processes) and is_so():
            raise MixedschedError("the workers have ended early", why="what they said stands above")
        time.sleep(0.02)


def _faults(server: Postgres, faults: int, seed: int, logs: Path | None) -> Iterator[str]:
    """A study under faults against the same study made by one process without any."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_pages(folder / "pages")
        study = Study.from_dict(STUDY, folder)
        run_study(study, folder=folder / "serial")
        with StudyStore(f"sqlite:///{folder}/serial/results.sqlite") as store:
            serial, serial_verdicts = _outcome(store, study)
        url = server.new_database("faults")
        began_s = time.monotonic()
        with ExitStack() as gates:
            shut = [gates.enter_context(Gate(server.socket, folder / f"gate{number}")) for number in range(WORKERS)]
            team = Team(server, url, study, logs or folder, shut)
            try:
                done = team.run(faults, random.Random(seed))
            finally:
                team.stop()
        took_s = time.monotonic() - began_s
        with StudyStore(url) as store:
            [stored] = store.studies()
            counts = store.counts(stored.id)
            blocks = sum(item.done for item in counts)
            twice = [key for key, count in Counter(_counting(store, stored.id)).items() if count > 1]
            found, verdicts = _outcome(store, study)
    planned = study.blocks * len(counts)
    others = sum(found.get(key) != value for key, value in serial.items())
    yield (
        f"{sum(done.values())} faults in {took_s:.0f} s "
        f"({', '.join(f'{count} {name}' for name, count in sorted(done.items()))}): "
        f"{blocks} of {planned} blocks done, {len(twice)} counted twice, "
        f"{others} of {len(serial)} loads other than in a serial run, "
        f"verdicts {'the same' if verdicts == serial_verdicts else 'DIFFERENT'}"
    )
    if blocks != planned or twice or others or verdicts != serial_verdicts or sum(done.values()) < faults:
        raise MixedschedError("faults changed the study")


def _counting(store: StudyStore, study: int) -> Iterator[tuple[int, int, str]]:
    """Each load of the attempt that counts."""
    loads = list(store.loads(study))
    last = {(load.place_id, load.block): load.attempt for load in loads}
    for load in loads:
        if load.attempt == last[load.place_id, load.block]:
            yield load.place_id, load.block, load.arm


def _outcome(store: StudyStore, study: Study) -> tuple[dict[tuple[str, str, int, str], object], list[object]]:
    """The values of all loads, and all effects."""
    [stored] = store.studies()
    places = store.places(stored.id)
    names = {item.id: (item.site, item.link) for item in places}
    values = {
        (*names[load.place_id], load.block, load.arm): (load.seed, load.status, dict(load.values))
        for load in store.loads(stored.id)
    }
    results = study_results(study, places, store.counts(stored.id), store.loads(stored.id))
    return values, results.to_dict()["effects"]


class Team:
    """Workers, a dask scheduler, and the command that has them work on a study. Each may be killed, and is started again."""

    def __init__(self, server: Postgres, url: str, study: Study, logs: Path, gates: Sequence[Gate]) -> None:
        """gates: through which the workers reach the database, one each."""
        self._server = server
        self._gates = gates
        self._url = url
        self._file = study.folder / "study.toml"
        self._file.write_text(dump_study(study), encoding="utf-8")
        self._folder = study.folder
        self._out = study.folder / "team"
        self._logs = logs
        self._port = free_port(socket.SOCK_STREAM)
        self._scheduler = self._start_scheduler()
        self._command = self._start_command()
        self._workers = [self._start_worker(number) for number in range(WORKERS)]
        self._cut_off_until_s: dict[int, float] = {}  # by number of the worker, by the monotonic clock

    def run(self, faults: int, rng: random.Random) -> Counter[str]:
        """Let faults happen while the study is worked on, until it is complete. Returns how often each kind happened."""
        kinds: dict[str, Callable[[random.Random], None]] = {
            "kills of a worker": self._kill_worker,
            "kills of the scheduler": self._kill_scheduler,
            "kills of the database": self._kill_database,
            "partitions": self._cut_off,
            "clock steps": self._step_clock,
        }
        done: Counter[str] = Counter()
        ends_s = time.monotonic() + LIMIT_S
        while self._command.poll() is None or self._command.returncode:
            if time.monotonic() > ends_s:
                raise MixedschedError(f"the study did not end within {LIMIT_S:.0f} s, after {done}")
            time.sleep(rng.uniform(0.5, 2.0))
            self._mend()
            if sum(done.values()) < faults:
                name = rng.choice(list(kinds))
                kinds[name](rng)
                done[name] += 1
        return done

    def stop(self) -> None:
        for process in (self._command, self._scheduler, *self._workers):
            _kill(process)

    def _mend(self) -> None:
        """Start what has ended again, and let those go on whose time is over."""
        for number, until_s in list(self._cut_off_until_s.items()):
            if time.monotonic() > until_s:
                self._gates[number].open()
                del self._cut_off_until_s[number]
        for number, worker in enumerate(self._workers):
            if worker.poll() is not None:
                self._workers[number] = self._start_worker(number)
        if self._scheduler.poll() is not None:
            self._scheduler = self._start_scheduler()
        if self._command.poll():
            self._command = self._start_command()

    def _kill_worker(self, rng: random.Random) -> None:
        number = rng.randrange(WORKERS)
        _kill(self._workers[number])

    def _kill_scheduler(self, _: random.Random) -> None:
        _kill(self._scheduler)

    def _kill_database(self, rng: random.Random) -> None:
        self._server.kill()
        time.sleep(rng.uniform(0.2, 2.0))
        self._server.start()

    def _cut_off(self, rng: random.Random) -> None:
        """For longer than a lease lasts."""
        number = rng.randrange(WORKERS)
        self._gates[number].shut()
        self._cut_off_until_s[number] = time.monotonic() + LEASE_S * 1.5

    def _step_clock(self, rng: random.Random) -> None:
        """As seen from the leases, whose ends are times of the database's clock."""
        engine = create_engine(self._url.replace("postgresql:", "postgresql+psycopg:"))
        with engine.begin() as connection:
            connection.execute(
                text("UPDATE block SET lease_until_s = lease_until_s + :step"), {"step": rng.choice((-3600, 3600))}
            )
        engine.dispose()

    def _start_scheduler(self) -> subprocess.Popen[bytes]:
        words = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self._port)]
        return self._start("scheduler", [sys.executable, *words, "--no-dashboard"])

    def _start_worker(self, number: int) -> subprocess.Popen[bytes]:
        """Half of them look for work themselves, the others are set to work by the scheduler."""
        url = self._url.replace(str(self._server.socket.parent), str(self._folder / f"gate{number}"))
        words = [*MIXEDSCHED, "worker", "--store", url, "--machine", f"m{number}", "--jobs", "1"]
        by_scheduler = ["--scheduler", f"tcp://127.0.0.1:{self._port}"] if number % 2 else []
        return self._start(f"m{number}", [*words, "--lease", f"{LEASE_S:g}s", *by_scheduler])

    def _start_command(self) -> subprocess.Popen[bytes]:
        words = [*MIXEDSCHED, "study", "run", str(self._file), "--store", self._url, "--out", str(self._out)]
        return self._start("command", [*words, "--scheduler", f"tcp://127.0.0.1:{self._port}", "--json"])

    def _start(self, name: str, words: Sequence[str]) -> subprocess.Popen[bytes]:
        with (self._logs / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [*_WITH_US, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )


def _write_pages(folder: Path) -> None:
    """Two small pages: their loads take a tenth of a second to play."""
    folder.mkdir()
    for name, script_bytes in (("one", 20_000), ("two", 60_000)):
        sizes = {"document": 4_000, "stylesheet": 9_000, "script": script_bytes, "image": 40_000}
        resources = [
            {
                "id": kind,
                "path": f"/{kind}",
                "kind": kind,
                "chromium_priority": None,
                "body_bytes": size_bytes,
                **({} if kind == "document" else {"found_by": "document", "found_when": "complete"}),
                "flags": {"stylesheet": ["in_head"], "image": ["hero"]}.get(kind, []),
            }
            for kind, size_bytes in sizes.items()
        ]
        page = {"format": PAGE_FORMAT, "name": name, "resources": resources}
        (folder / f"{name}.json").write_text(json.dumps(page), encoding="utf-8")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main() -> None:
    parser = parser_of("machines", __doc__)
    parser.add_argument("--faults", type=int, default=FAULTS, help="how many at least")
    parser.add_argument("--seed", type=int, default=1, help="of when which happens")
    parser.add_argument("--logs", type=Path, help="a folder for what the processes say")
    parser.add_argument("--wait-for", nargs=2, metavar=("URL", "MACHINE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.wait_for:
        wait_for_loads(*arguments.wait_for)
        return
    say_all(run(arguments.faults, arguments.seed, arguments.logs))


if __name__ == "__main__":
    run_script(main)
