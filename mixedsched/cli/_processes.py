"""Processes that simulate for us, each with a pipe of its own. They end with us, however we end, and are killed when they are
no longer needed: they hold nothing that would be lost."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from mixedsched.errors import MixedschedError

IN_HAND = 2  # pieces of work that a process has at a time, so that it need not wait for the next


@dataclass(frozen=True, slots=True)
class Worker:
    """A process and our end of its pipe. The pipe is its own: a process that dies while it writes blocks nobody."""

    process: SpawnProcess
    connection: Connection

    def send(self, message: object) -> None:
        """Raises EOFError if the process has died."""
        self.send_bytes(pickle.dumps(message))

    def send_bytes(self, message: bytes) -> None:
        """What is pickled already. Raises EOFError if the process has died."""
        try:
            self.connection.send_bytes(message)
        except OSError as error:  # not to be mistaken for a reader of standard output that has gone
            raise EOFError from error

    def receive(self) -> tuple[int, Any]:
        """The number of a piece of work, and what it came to. Raises EOFError if the process has died, or what it met."""
        try:
            number, result = self.connection.recv()
        except OSError as error:
            raise EOFError from error
        if isinstance(result, MixedschedError):
            raise result
        return number, result


def start_workers(workers: list[Worker], jobs: int, work: Callable[[Connection], None]) -> None:
    """Start `jobs` processes that do `work`, and add each to `workers` at once, so that an interrupt leaves none unknown.

    Fresh processes instead of forked ones, so that threads and open files of this one are of no account.
    """
    context = multiprocessing.get_context("spawn")
    resource_tracker.ensure_running()  # multiprocessing's own helper, whose start would let interrupts in again
    for _ in range(jobs):
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs,), daemon=True)
        with _without_interrupts():
            process.start()
            workers.append(Worker(process, ours))
        theirs.close()


def stop_workers(workers: list[Worker]) -> None:
    """Kill them all, wait until they are gone, and forget them."""
    for worker in workers:
        worker.process.kill()
    for worker in workers:
        worker.process.join()
        worker.connection.close()
    workers.clear()


def end_with_parent() -> None:
    """In a process of ours: however the parent ends, also by kill -9, so do we."""
    threading.Thread(target=_watch_parent, daemon=True).start()


def _watch_parent() -> None:
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
