"""Plays the loads of a simulation, in this process or in several; results come in the same order from any number."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Generator, Iterator
from multiprocessing.connection import Connection, wait

from mixedsched.cli._processes import IN_HAND, Worker, end_with_parent, start_workers, stop_workers
from mixedsched.cli._simulation import Outcome, Player, Simulation
from mixedsched.errors import MixedschedError

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
    workers: list[Worker] = []
    try:
        start_workers(workers, jobs, _work)
        yield from _in_order(simulation, workers)
    except EOFError as error:
        raise MixedschedError(
            "a worker process died",
            why="it was killed, or ran out of memory",
            fix="use fewer of them with --jobs, or name fewer pages at a time",
        ) from error
    finally:
        stop_workers(workers)


def _in_order(simulation: Simulation, workers: list[Worker]) -> Iterator[Outcome]:
    """Hand out tasks by number, as soon as a worker has its hands free, and sort what comes back."""
    description = pickle.dumps(simulation)
    for worker in workers:
        worker.send_bytes(description)
    tasks = enumerate(simulation.tasks())
    free = workers * IN_HAND
    by_connection = {worker.connection: worker for worker in workers}
    done: dict[int, Outcome] = {}
    handed_out = 0
    for number in range(simulation.total):
        while number not in done:
            while free and handed_out < min(simulation.total, number + AHEAD * len(workers)):
                free.pop(0).send(next(tasks))
                handed_out += 1
            for connection in wait(list(by_connection)):
                worker = by_connection[connection]  # type: ignore[index]
                finished, outcome = worker.receive()
                done[finished] = outcome
                free.append(worker)
        yield done.pop(number)


def _work(connection: Connection) -> None:
    """A worker's life: reads the simulation, then tasks, and answers each with its outcome, or an error."""
    end_with_parent()
    with contextlib.suppress(EOFError, OSError):  # the parent has gone
        player = Player(pickle.loads(connection.recv_bytes()))  # noqa: S301 - from our own parent
        while True:
            number, task = pickle.loads(connection.recv_bytes())  # noqa: S301
            try:
                connection.send((number, player.play(task)))
            except MixedschedError as error:
                connection.send((number, error))
