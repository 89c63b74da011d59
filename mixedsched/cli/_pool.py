"""A pool of processes that play simulated loads, one a core, with progress on standard error."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Protocol, TypeVar

from mixedsched.cli._processes import end_with_parent
from mixedsched.cli._progress import Progress
from mixedsched.errors import MixedschedError
from mixedsched.lab.machine import processors

Task = TypeVar("Task")
Task_contra = TypeVar("Task_contra", contravariant=True)
Result = TypeVar("Result")


class Play(Protocol[Task_contra, Result]):
    """Does tasks, on all cores, and gives their results in order. on_result: told of each, with its place, as soon as it and
    all before it are there."""

    def __call__(
        self, tasks: Sequence[Task_contra], on_result: Callable[[int, Result], None] = ...
    ) -> list[Result]: ...


@contextmanager
def pool_of(play_task: Callable[[Task], Result]) -> Iterator[Play[Task, Result]]:
    """What plays tasks. The processes start with the first of them; whatever ends the context, none is left behind."""
    pool = ProcessPoolExecutor(processors(), multiprocessing.get_context("spawn"), initializer=_begin)

    def play(tasks: Sequence[Task], on_result: Callable[[int, Result], None] = lambda *_: None) -> list[Result]:
        results: list[Result] = []
        with Progress("playing pages", len(tasks), unit="loads") as progress:
            try:
                for place, result in enumerate(pool.map(play_task, tasks)):
                    results.append(result)
                    on_result(place, result)
                    progress.advance()
            except BrokenProcessPool as error:
                raise MixedschedError("a simulating process died", why="it was killed, or ran out of memory") from error
        return results

    try:
        yield play
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    """In a new process: interrupts are for the one that began it, and it ends with that one, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
