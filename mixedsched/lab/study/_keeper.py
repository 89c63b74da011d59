"""Keeps a worker in touch with the database, in a thread of its own: it stores loads at once, and shows that the worker lives.

Meanwhile the worker goes on. Where the database does not answer, what was loaded is kept here and tried again.
"""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, Self, TypeVar

from mixedsched.errors import MixedschedError
from mixedsched.world.store import (
    Lease,
    LeaseLostError,
    NewLoad,
    QuarantinedError,
    StudyStore,
    UnreachableDatabaseError,
)

STORE_EVERY_S = 0.5
LEASE_S = 60.0
_BEATS_IN_A_LEASE = 4
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 15.0  # for a database that does not answer

Ending = Literal["done", "failed"]
Answer = TypeVar("Answer")


@dataclass(slots=True)
class _Part:
    """What is to be stored of a block."""

    lease: Lease
    loads: list[NewLoad] = field(default_factory=list)
    ending: Ending | None = None


class Keeper:
    """Stores loads of a worker's blocks within a second. Use with `with`: at its end all is stored, and all leases given back.

    say: takes a line about a database that does not answer. on_beat: called after each sign of life, in the thread.
    """

    def __init__(
        self,
        store: StudyStore,
        worker: int,
        say: Callable[[str], None],
        on_beat: Callable[[], None] = lambda: None,
        lease_s: float = LEASE_S,
    ) -> None:
        self._store = store
        self._worker = worker
        self._say = say
        self._on_beat = on_beat
        self._lease_s = lease_s
        self._lock = threading.Lock()  # of `_parts`
        self._storing = threading.Lock()  # held while parts are on their way
        self._parts: dict[tuple[int, int, int], _Part] = {}  # by block, token and attempt, in order of their first load
        self._on_their_way: list[_Part] = []  # earlier ones, until they are stored for certain
        self._lost: set[tuple[int, int]] = set()  # blocks with the tokens that no longer hold them
        self._error: BaseException | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="keeper", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        if kind is None:
            self._raise_error()

    def keep(self, lease: Lease, load: NewLoad | None, ending: Ending | None = None) -> None:
        """Take a load of a leased block to be stored. ending: what becomes of the block with it.

        Raises what kept earlier ones from being stored, unless that may pass.
        """
        self._raise_error()
        with self._lock:
            part = self._parts.setdefault((lease.block_id, lease.token, lease.attempt), _Part(lease))
            if load is not None:
                part.loads.append(load)
            part.ending = ending or part.ending

    def has_lost(self, lease: Lease) -> bool:
        """Whether the block is not this worker's any more: what it makes of it does not count."""
        self._raise_error()
        return (lease.block_id, lease.token) in self._lost

    def lease(self, study: int, most: int, places: list[int] | None) -> list[Lease]:
        """Lease blocks, however long the database takes to answer."""
        return self.patiently(lambda: self._store.lease(study, self._worker, most, self._lease_s, places=places))

    def note(self, facts: Mapping[str, Any]) -> None:
        """Add to what is known of this worker."""
        self.patiently(lambda: self._store.note(self._worker, facts))

    def quarantine(self, reason: str) -> NoReturn:
        """Store what is finished, and stop this machine until somebody readmits it. Raises QuarantinedError."""
        self.settle()
        self.patiently(lambda: self._store.leave(self._worker, "quarantined", reason))
        raise QuarantinedError(
            "this machine is quarantined", why=reason, fix="once that is fixed, start it with --readmit"
        )

    def settle(self) -> None:
        """Wait until all that was kept is stored."""
        self._store_all()
        self._raise_error()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        beaten_s = time.monotonic()
        try:
            while not self._is_over.wait(STORE_EVERY_S):
                self._store_all()
                if time.monotonic() - beaten_s >= self._lease_s / _BEATS_IN_A_LEASE:
                    self.patiently(self._beat)
                    beaten_s = time.monotonic()
                    with suppress(UnreachableDatabaseError):
                        self._on_beat()
            self._store_all()
        except BaseException as error:
            self._error = error

    def _beat(self) -> None:
        """Raises QuarantinedError if this worker has been stopped from elsewhere."""
        if self._store.beat(self._worker, self._lease_s) == "quarantined":
            raise QuarantinedError("this machine was stopped: its loads must not be trusted")

    def _store_all(self) -> None:
        with self._storing:
            with self._lock:
                self._on_their_way += self._parts.values()
                self._parts = {}
            if self._on_their_way:
                self._store_parts(self._on_their_way)
                self._on_their_way = []

    def _store_parts(self, parts: list[_Part]) -> None:
        # A block that fails ends apart from the others, which are nearly all.
        stored = [(part.lease, part.loads, part.ending == "done") for part in parts]
        self._lost |= {(lease.block_id, lease.token) for lease in self.patiently(lambda: self._add(stored))}
        for part in parts:
            if part.ending == "failed" and (part.lease.block_id, part.lease.token) not in self._lost:
                self.patiently(lambda lease=part.lease: self._give_up(lease))  # type: ignore[misc]

    def _add(self, parts: list[tuple[Lease, list[NewLoad], bool]]) -> list[Lease]:
        try:
            return self._store.add_all(self._worker, parts)
        except LeaseLostError:
            return [parts[0][0]]  # it is raised only where there is a single one

    def _give_up(self, lease: Lease) -> None:
        try:
            self._store.give_up(lease, self._worker)
        except LeaseLostError:  # a moment ago, or it has been given up already by a call whose answer was lost
            self._lost.add((lease.block_id, lease.token))

    def patiently(self, act: Callable[[], Answer]) -> Answer:
        """Try again until the database answers, or the worker stops."""
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                return act()
            except UnreachableDatabaseError as error:
                if self._is_over.is_set():
                    raise MixedschedError(error.what, why=error.why, fix="the same command continues") from error
                self._say(f"warning: {error}; trying again in {wait_s:g} s")
                self._is_over.wait(wait_s)
                wait_s = min(_LONGEST_WAIT_S, wait_s * 2)
