"""Workers on many machines, started and watched by dask.distributed.

Dask says which machines there are and sets them to work; what has been measured is in the database alone, so that nothing is
lost with a scheduler, and nothing that dask does twice counts twice. Each task is pinned to its machine and does the work in a
child process, which can be killed, unlike a thread of dask's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.lab.study.work import Work, is_unfinished, tell_progress
from mixedsched.lab.study.worker import WorkerOptions, words_of_machine
from mixedsched.world.store import UnreachableDatabaseError

if TYPE_CHECKING:
    from distributed import Client, Future

LOOK_EVERY_S = 1.0
CONNECT_S = 20
STOP_S = 20.0  # for a child to give its blocks back
_COMPLAINT_BYTES = 10_000  # that are kept of what a child says
_ERRORS = 40  # the level of dask's log that is shown
PAUSE_S = 10.0  # before a machine whose work has ended is set to work again


@contextmanager
def connected(scheduler: str) -> Iterator[Client]:
    """A connection to a scheduler, such as tcp://host:8786. Raises MissingPartError without dask.distributed or an answer."""
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise _not_installed(error) from error
    try:
        client = Client(scheduler, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise MissingPartError(
            f"the scheduler {scheduler} does not answer",
            why=str(error).partition("\n")[0],
            fix="start one with `dask scheduler`, and name the address that it prints",
        ) from error
    with client:
        yield client


def carry_out_on_cluster(work: Work, store_url: str, scheduler: str, say: Callable[[str], None]) -> None:
    """Have all machines of a scheduler work on a study until no block is left; this process only looks on.

    A scheduler that dies is waited for. However this ends, the machines are asked to stop and to give back what they have not
    finished. Raises as `connected` if the scheduler does not answer to begin with.
    """
    with connected(scheduler):
        pass
    is_over = False
    while not is_over:
        try:
            with connected(scheduler) as client:
                is_over = _have_it_worked_on(work, Cluster(client, worker_words(store_url, work.study.name), say), say)
        except (OSError, MissingPartError) as error:
            say(f"warning: lost the scheduler: {error}; trying again")
        if not is_over:
            time.sleep(LOOK_EVERY_S)


def _have_it_worked_on(work: Work, cluster: Cluster, say: Callable[[str], None]) -> bool:
    """Returns whether the study is finished; else the scheduler has gone."""
    is_told = False
    try:
        while cluster.client.status == "running":
            try:
                if not is_unfinished(work):
                    return True
                tell_progress(work)
            except UnreachableDatabaseError as error:
                say(f"warning: {error}; trying again")
            if not cluster.look() and not is_told:
                say("no machine is at work yet; start some with `mixedsched worker --store URL --scheduler URL`")
                is_told = True
            time.sleep(LOOK_EVERY_S)
        return False
    finally:
        cluster.stop()


@dataclass
class Cluster:
    """Keeps all machines of a scheduler at work. Use within `connected`.

    words: the command line of a worker that ends when there is nothing left to do. say: takes a line about a machine.
    """

    client: Client
    words: Sequence[str]
    say: Callable[[str], None]
    _at_work: dict[str, Future[str]] = field(default_factory=dict)  # by address of the machine's dask worker
    _rests_until_s: dict[str, float] = field(default_factory=dict)  # those whose work has ended
    _started: int = 0
    # Once set, an event of dask's stays so: with a name of its own, this end stops no work that is asked for later.
    _stop_name: str = field(default_factory=lambda: f"mixedsched-stop-{uuid.uuid4()}")

    def look(self) -> int:
        """Set machines to work that are not; returns how many are at work. Call it now and then."""
        addresses = self._addresses()
        for address in [known for known in self._at_work if known not in addresses]:
            self._at_work.pop(address).release()
            self.say(f"machine {address} has gone; its blocks go to others when their leases run out")
        for address, task in list(self._at_work.items()):
            if task.done():
                self._end(address, task)
        now_s = time.monotonic()
        for address in addresses:
            if address not in self._at_work and self._rests_until_s.get(address, 0.0) <= now_s:
                self._start(address)
        return len(self._at_work)

    def stop(self) -> None:
        """Ask all machines to give back what they have, and wait until they have done so."""
        from distributed import Event

        if self.client.status != "running":
            return
        with suppress(OSError):  # a scheduler that has gone takes its tasks with it
            Event(self._stop_name, client=self.client).set()
        ends_s = time.monotonic() + STOP_S
        while time.monotonic() < ends_s and any(not task.done() for task in self._at_work.values()):
            time.sleep(LOOK_EVERY_S / 4)
        for task in self._at_work.values():
            task.release()
        self._at_work.clear()

    def _addresses(self) -> list[str]:
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        return sorted(workers)

    def _start(self, address: str) -> None:
        self._started += 1
        self._at_work[address] = self.client.submit(
            work_in_child,
            list(self.words),
            self._stop_name,
            key=f"mixedsched-{address}-{time.time_ns()}-{self._started}",
            workers=[address],
            allow_other_workers=False,
            pure=False,
        )

    def _end(self, address: str, task: Future[str]) -> None:
        del self._at_work[address]
        complaint = (
            str(task.exception()) if task.status == "error" else str(task.result()) if task.status == "finished" else ""
        )
        if complaint:
            self.say(f"machine {address}: {complaint}")
        self._rests_until_s[address] = time.monotonic() + PAUSE_S
        task.release()


def work_in_child(words: Sequence[str], stop_name: str) -> str:
    """A task on a machine: run a worker to its end, or until it is asked to stop. Returns what it complained of.

    The child notices by the end of its standard input that this process has died.
    """
    from distributed import Event, get_client, get_worker

    stop = Event(stop_name, client=get_client())
    command = [sys.executable, *words, *get_worker().words_of_machine]
    with (
        tempfile.TemporaryFile() as said,  # a pipe that nobody reads meanwhile would hold it up once it is full
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said) as child,
    ):
        try:
            while child.poll() is None:
                if stop.wait(timeout=LOOK_EVERY_S):
                    break
        except Exception:  # noqa: S110 - the scheduler has gone: what is in work is finished or given back
            pass
        assert child.stdin is not None
        child.stdin.close()
        try:
            child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        said.seek(max(0, said.seek(0, os.SEEK_END) - _COMPLAINT_BYTES))
        complaint = said.read().decode(errors="replace").strip().splitlines()
        return complaint[-1] if child.returncode and complaint else ""


async def serve(scheduler: str, options: WorkerOptions, say: Callable[[str], None]) -> None:
    """Be one of a scheduler's machines, with room for one task, until the scheduler ends or does not answer any more.

    options: what is said of this machine; studies and their database are named by those who ask for work.
    """
    try:
        import dask
        from distributed import Worker
    except ModuleNotFoundError as error:
        raise _not_installed(error) from error
    with dask.config.set({"distributed.scheduler.work-stealing": False, "distributed.worker.daemon": False}):
        try:
            machine = Worker(
                scheduler,
                nthreads=1,
                name=options.machine,
                death_timeout=CONNECT_S,
                memory_limit=0,
                silence_logs=_ERRORS,
            )
            machine.words_of_machine = words_of_machine(options)  # for `work_in_child`
            async with machine:
                say(f"{machine.address} waits for work from {scheduler}")
                await machine.finished()
        except OSError as error:
            raise MixedschedError(
                f"the scheduler {scheduler} does not answer", why=str(error), fix="start one with `dask scheduler`"
            ) from error


def worker_words(store_url: str, study: str) -> list[str]:
    """The words for `work_in_child`: a program that works on a study and ends with it, or with its standard input."""
    return ["-m", "mixedsched.lab.study.worker", store_url, study]


def _not_installed(error: ModuleNotFoundError) -> MissingPartError:
    return MissingPartError(
        "workers on many machines need dask.distributed",
        why=f"there is no Python package {error.name}",
        fix="install mixedsched[team]",
    )
