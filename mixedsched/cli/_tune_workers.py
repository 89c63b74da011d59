"""Plays the simulated loads of a search in processes of its own, one a core; results are the same from any number."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait

from mixedsched.advice.tuner.play import Player, Task
from mixedsched.advice.tuner.result import Estimates
from mixedsched.advice.tuner.scene import Scene
from mixedsched.cli._processes import IN_HAND, Worker, end_with_parent, start_workers, stop_workers
from mixedsched.errors import MixedschedError
from mixedsched.lab.machine import processors

CHUNKS = 8  # that a process gets of one call, where tasks are small
MOST_TASKS = 32  # in a chunk

Results = list[Estimates | None]


@contextmanager
def tune_workers(jobs: int | None = None) -> Iterator[TuneWorkers]:
    """What plays tasks. jobs: processes; as many as there are cores by default. They start with the first tasks; whatever
    ends the context, none is left behind, and however this process ends, they end with it."""
    workers = TuneWorkers(jobs or processors())
    try:
        yield workers
    finally:
        workers.stop()


class TuneWorkers:
    """Workers of the search (tuner.play). Scenes are sent once, tasks in chunks."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._workers: list[Worker] = []
        self._scenes: Sequence[Scene] | None = None  # that the processes have

    def play(
        self, scenes: Sequence[Scene], tasks: Sequence[Task], on_result: Callable[[], None] = lambda: None
    ) -> Results:
        """Raises MixedschedError if a process dies. Interrupted, it leaves no process with work in hand."""
        if not tasks:
            return []
        try:
            self._prepare(scenes)
            return self._hand_out(tasks, on_result)
        except EOFError as error:
            self.stop()
            raise MixedschedError("a simulating process died", why="it was killed, or ran out of memory") from error
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the processes; they hold nothing that would be lost. The next tasks start new ones."""
        stop_workers(self._workers)
        self._scenes = None

    def _prepare(self, scenes: Sequence[Scene]) -> None:
        if not self._workers:
            start_workers(self._workers, self._jobs, _work)
        if self._scenes is not scenes:
            message = pickle.dumps(tuple(scenes))
            for worker in self._workers:
                worker.send_bytes(message)
            self._scenes = scenes

    def _hand_out(self, tasks: Sequence[Task], on_result: Callable[[], None]) -> Results:
        size = 1 if tasks[0].rung == "stack" else min(MOST_TASKS, -(-len(tasks) // (CHUNKS * self._jobs)))
        firsts = list(range(0, len(tasks), size))[::-1]  # taken from the end
        results: Results = [None] * len(tasks)
        by_connection = {worker.connection: worker for worker in self._workers}
        free = self._workers * IN_HAND
        missing = len(firsts)
        while missing:
            while free and firsts:
                first = firsts.pop()
                free.pop(0).send((first, list(tasks[first : first + size])))
            for connection in wait(list(by_connection)):
                worker = by_connection[connection]  # type: ignore[index]
                first, found = worker.receive()
                results[first : first + len(found)] = found
                free.append(worker)
                missing -= 1
                for _ in found:
                    on_result()
        return results


def _work(connection: Connection) -> None:
    """A process's life: reads scenes, and chunks of tasks, which it answers with their results, or an error."""
    end_with_parent()
    player = Player(())
    with contextlib.suppress(EOFError, OSError):  # the parent has gone
        while True:
            message = pickle.loads(connection.recv_bytes())  # noqa: S301 - from our own parent
            if message and isinstance(message[0], Scene):
                player = Player(message)
                continue
            first, tasks = message
            try:
                connection.send((first, [player.play(task) for task in tasks]))
            except MixedschedError as error:
                connection.send((first, error))
