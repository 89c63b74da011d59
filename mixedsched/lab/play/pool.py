"""Processes that play simulated loads, one per processor by default. Results are the same, in the same order, from any number.

Each process has a pipe of its own, so that one that is killed while it writes blocks no other. Processes end with this one,
however it ends, and are killed when they are no longer needed: they hold nothing that would be lost.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue
from typing import Any, Generic, Self

from mixedsched.errors import MixedschedError
from mixedsched.lab.machine import processors
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import MakeReader, Player, Result, SchemeChoice, Task, play_whole

IN_HAND = 2  # lots that a process has at a time, so that it need not wait for the next
AHEAD = 16  # lots per process that may be done before the one that is waited for
LOTS = 8  # per process, of tasks that take milliseconds
LOT_MOST = 32  # tasks
SCENARIOS_MOST = 100  # that processes remember


class Pool(Generic[Result]):
    """Plays tasks. Use with `with`; the first tasks start the processes. A single one is this process itself.

    reader: says what the result of a load is. jobs: processes at most; None for one per processor.
    """

    def __init__(self, reader: MakeReader[Result], jobs: int | None = None) -> None:
        self._reader = reader
        self._jobs = jobs or processors()
        self._here: Player[Result] | None = Player(reader) if self._jobs == 1 else None
        self._workers: list[_Worker] = []
        self._numbers: dict[int, tuple[int, Scenario]] = {}  # by identity of the scenario

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Kill the processes and wait until they are gone. The next tasks start new ones."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
            worker.connection.close()
        self._workers.clear()
        self._numbers.clear()

    def play(self, tasks: Sequence[Task]) -> list[Result]:
        """All results, in the order of the tasks. Raises as `results`."""
        return list(self.results(tasks, lot_for(tasks, self._jobs)))

    def results(self, tasks: Iterable[Task], lot: int = 1) -> Generator[Result]:
        """Each result as soon as it and all before it are there. Close the generator to stop early.

        tasks: read only as fast as they are played. lot: how many are sent to a process at a time. Whatever ends it early, no
        process is left with work in hand. Raises what a player raises, and MixedschedError if a process dies.
        """
        if self._here is not None:
            yield from map(self._here.play, tasks)
            return
        awaited, done = 0, dict[int, list[Result]]()
        with closing(self._lots(iter(tasks), lot, lambda sent: sent < awaited + AHEAD * self._jobs)) as lots:
            for number, results in lots:
                done[number] = results
                while awaited in done:
                    yield from done.pop(awaited)
                    awaited += 1

    def results_as_played(self, tasks: Iterable[Task], lot: int = 1) -> Generator[tuple[int, Result]]:
        """Each result as soon as it is there, with the place of its task; otherwise like `results`."""
        if self._here is not None:
            yield from enumerate(map(self._here.play, tasks))
            return
        with closing(self._lots(iter(tasks), lot, lambda _: True)) as lots:
            for number, results in lots:
                yield from enumerate(results, start=number * lot)

    def _lots(
        self, tasks: Iterator[Task], size: int, may_send: Callable[[int], bool]
    ) -> Generator[tuple[int, list[Result]]]:
        """Lots by number, as they are played. may_send: asked with the number of lots that were sent before each other one."""
        try:
            yield from self._played(tasks, size, may_send)
        except EOFError as error:
            self.stop()
            raise MixedschedError(
                "a worker process died",
                why="it was killed, or ran out of memory",
                fix="use fewer processes, or name fewer pages at a time",
            ) from error
        except BaseException:
            self.stop()
            raise

    def _played(
        self, tasks: Iterator[Task], size: int, may_send: Callable[[int], bool]
    ) -> Iterator[tuple[int, list[Result]]]:
        """Send a lot wherever a process has a hand free."""
        free = self._workers * IN_HAND
        sent, received, has_more = 0, 0, True
        while True:
            while has_more and may_send(sent) and (free or len(self._workers) < self._jobs):
                lot = list(itertools.islice(tasks, size))
                has_more = bool(lot)
                if lot:
                    self._send(self._free_worker(free), sent, lot)
                    sent += 1
            if received == sent:
                return
            for worker in _answering(self._workers):
                finished, results = worker.receive()
                received += 1
                free.append(worker)
                yield finished, results

    def _free_worker(self, free: list[_Worker]) -> _Worker:
        """A new one, as long as there may be more."""
        if len(self._workers) == self._jobs:
            return free.pop(0)
        worker = _start(self._workers, self._reader)
        free += [worker] * (IN_HAND - 1)
        return worker

    def _send(self, worker: _Worker, number: int, lot: Sequence[Task]) -> None:
        """Scenarios are large, so a process gets each only once, and tasks refer to it by its number."""
        if len(self._numbers) > SCENARIOS_MOST:  # numbers begin anew, and what a process had under them is replaced
            self._numbers.clear()
            for each in self._workers:
                each.known.clear()
        new: dict[int, Scenario] = {}
        lines = []
        for task in lot:
            place, scenario = self._numbers.setdefault(id(task.scenario), (len(self._numbers), task.scenario))
            if place not in worker.known:
                new[place] = scenario
                worker.known.add(place)
            lines.append((place, task.scheme, task.seed, task.qlog))
        worker.send((number, new, lines))


def lot_for(tasks: Sequence[Task], jobs: int) -> int:
    """How many tasks to send at a time: one of rung `stack`, several of rung `pipe`, which take milliseconds."""
    if not tasks or tasks[0].scenario.rung == "stack":
        return 1
    return min(LOT_MOST, -(-len(tasks) // (LOTS * jobs)))


def playing_costs(
    scenarios: Sequence[Scenario], scheme: SchemeChoice, seed: int, loads: Callable[[Scenario], int]
) -> tuple[dict[str, float], float]:
    """Plays one load of each scenario, to tell what loads cost.

    Returns how long a load takes on each network, in simulated seconds, and how long this machine needs to play so many
    `loads` of each scenario on all processors, in real seconds.

    Raises PageLoadError where a network never lets a load end.
    """
    from mixedsched.core.sim import stack  # noqa: F401 - here, because a load would seem to cost what its import does

    load_s, playing_s = {}, 0.0
    for scenario in scenarios:
        began_s = time.monotonic()
        load_s[scenario.name] = play_whole(Task(scenario, scheme, seed)).finished_ms / 1000
        playing_s += (time.monotonic() - began_s) * loads(scenario)
    return load_s, playing_s / processors()


@dataclass(frozen=True, slots=True)
class _Worker:
    """A process, our end of its pipe, and the numbers of the scenarios that it has."""

    process: SpawnProcess
    connection: Connection
    known: set[int] = field(default_factory=set)

    def send(self, message: object) -> None:
        """Raises EOFError if the process has died."""
        try:
            self.connection.send_bytes(pickle.dumps(message))
        except OSError as error:  # not to be mistaken for a reader of standard output that has gone
            raise EOFError from error

    def receive(self) -> tuple[int, Any]:
        """The number of a lot, and its results. Raises EOFError if the process has died, or what it raised."""
        try:
            number, results = self.connection.recv()
        except OSError as error:
            raise EOFError from error
        if isinstance(results, MixedschedError):
            raise results
        return number, results


def _answering(workers: Sequence[_Worker]) -> list[_Worker]:
    """Wait for answers."""
    ready = wait([worker.connection for worker in workers])
    return [worker for worker in workers if worker.connection in ready]


def _start(workers: list[_Worker], reader: MakeReader[Any]) -> _Worker:
    """Start a process and add it to `workers` at once, so that an interrupt leaves none unknown.

    A fresh process instead of a forked one, so that threads and open files of this one do not matter.
    """
    context = multiprocessing.get_context("spawn")
    resource_tracker.ensure_running()  # multiprocessing's own helper, whose start would let interrupts in again
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, reader), daemon=True)
    with _without_interrupts():
        process.start()
        workers.append(_Worker(process, ours))
    theirs.close()
    return workers[-1]


def _work(connection: Connection, reader: MakeReader[Any]) -> None:
    """The life of a process: it reads lots, and answers each with its results, or with an error."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    lots: SimpleQueue[bytes | None] = SimpleQueue()
    threading.Thread(target=_take_lots, args=(connection, lots), daemon=True).start()
    player: Player[Any] = Player(reader)
    scenarios: dict[int, Scenario] = {}
    with contextlib.suppress(OSError):  # the parent has gone
        while (lot := lots.get()) is not None:
            number, new, lines = pickle.loads(lot)  # noqa: S301 - from our own parent
            scenarios.update(new)
            try:
                connection.send((number, [player.play(Task(scenarios[place], *rest)) for place, *rest in lines]))
            except MixedschedError as error:
                connection.send((number, error))


def _take_lots(connection: Connection, lots: SimpleQueue[bytes | None]) -> None:
    """Take what comes even while results wait to be sent: if both ends only sent, both would wait for ever."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            lots.put(connection.recv_bytes())
    lots.put(None)


def _end_with_parent() -> None:
    """However the parent ends, also by kill -9, so do we."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C waits until this is over, and never reaches processes that are started meanwhile: ending them is up to us."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
