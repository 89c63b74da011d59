"""Plays the loads of a simulation, in this process or in several; results come in the same order from any number."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from mixedsched.cli._simulation import Outcome, Player, Simulation
from mixedsched.errors import MixedschedError

IN_HAND = 2  # tasks a worker has at a time, so that it need not wait for the next
AHEAD = 16  # tasks for each worker that may be done before the one that is waited for


def outcomes(simulation: Simulation, jobs: int) -> Generator[Outcome]:
    """Play everything; outcomes come as soon as they and all before them are there. Close the iterator to stop early.

    jobs: processes at most. Whatever ends the iteration, also an interrupt, no process is left behind. Raises what a player
    raises, and MixedschedError if a process dies.
    """
    jobs = min(jobs, simulation.total)
    if jobs == 1:
        yield from map(Player(simulation).play, simulation.tasks())
        return
    with _workers(jobs) as workers:
        try:
            yield from _in_order(simulation, workers)
        except EOFError as error:
            raise MixedschedError(
                "a worker process died",
                why="it was killed, or ran out of memory",
                fix="use fewer of them with --jobs, or name fewer pages at a time",
            ) from error


@dataclass(frozen=True, slots=True)
class _Worker:
    """A process and our end of its pipe. The pipe is its own: a process that dies while it writes blocks nobody."""

    process: SpawnProcess
    connection: Connection

    def send(self, message: bytes) -> None:
        """Raises EOFError if the process has died."""
        try:
            self.connection.send_bytes(message)
        except OSError as error:  # not to be mistaken for a reader of standard output that has gone
            raise EOFError from error

    def receive(self) -> tuple[int, Outcome]:
        """An outcome and its task's number. Raises EOFError if the process has died, or the error it met."""
        try:
            number, result = self.connection.recv()
        except OSError as error:
            raise EOFError from error
        if isinstance(result, MixedschedError):
            raise result
        return number, result


def _in_order(simulation: Simulation, workers: list[_Worker]) -> Iterator[Outcome]:
    """Hand out tasks by number, as soon as a worker has its hands free, and sort what comes back."""
    description = pickle.dumps(simulation)
    for worker in workers:
        worker.send(description)
    tasks = enumerate(simulation.tasks())
    free = workers * IN_HAND
    by_connection = {worker.connection: worker for worker in workers}
    done: dict[int, Outcome] = {}
    handed_out = 0
    for number in range(simulation.total):
        while number not in done:
            while free and handed_out < min(simulation.total, number + AHEAD * len(workers)):
                free.pop(0).send(pickle.dumps(next(tasks)))
                handed_out += 1
            for connection in wait(list(by_connection)):
                worker = by_connection[connection]  # type: ignore[index]
                finished, outcome = worker.receive()
                done[finished] = outcome
                free.append(worker)
        yield done.pop(number)


@contextlib.contextmanager
def _workers(jobs: int) -> Iterator[list[_Worker]]:
    """Worker processes, killed at the end: they hold nothing that would be lost, and have nothing to finish.

    Fresh processes instead of forked ones, so that what threads and open files this one has is of no account.
    """
    context = multiprocessing.get_context("spawn")
    workers: list[_Worker] = []
    resource_tracker.ensure_running()  # multiprocessing's own helper, whose start would let interrupts in again
    try:
        for _ in range(jobs):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs,), daemon=True)
            with _without_interrupts():
                process.start()
                workers.append(_Worker(process, ours))
            theirs.close()
        yield workers
    finally:
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.process.join()
            worker.connection.close()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C waits until this is over, and never reaches processes that are started meanwhile: ending them is up to us."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _work(connection: Connection) -> None:
    """A worker's life: reads the simulation, then tasks, and answers each with its outcome, or an error."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):  # the parent has gone
        player = Player(pickle.loads(connection.recv_bytes()))  # noqa: S301 - from our own parent
        while True:
            number, task = pickle.loads(connection.recv_bytes())  # noqa: S301
            try:
                connection.send((number, player.play(task)))
            except MixedschedError as error:
                connection.send((number, error))


def end_with_parent() -> None:
    """However the parent ends, also by kill -9, so do we."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
