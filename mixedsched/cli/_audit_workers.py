"""Plays the simulated loads of an audit in processes of its own, one a core, with progress on standard error."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from mixedsched.audit.play import Task, Workers, play_task
from mixedsched.audit.screening import Paints
from mixedsched.cli._console import err
from mixedsched.cli._load_progress import LoadProgress
from mixedsched.cli._simulation_options import processors
from mixedsched.cli._workers import end_with_parent
from mixedsched.errors import MixedschedError


@contextmanager
def audit_workers() -> Iterator[Workers]:
    """What plays tasks. The processes start with the first of them; whatever ends the context, none is left behind."""
    pool = ProcessPoolExecutor(processors(), multiprocessing.get_context("spawn"), initializer=_begin)

    def play(tasks: Sequence[Task]) -> list[Paints]:
        with LoadProgress(err, len(tasks), bar=err.is_terminal, lines=True) as progress:
            results = []
            try:
                for result in pool.map(play_task, tasks):
                    results.append(result)
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
    threading.Thread(target=end_with_parent, daemon=True).start()
