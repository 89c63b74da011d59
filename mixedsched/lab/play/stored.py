"""Simulated loads that are played once: what was played is kept in a database, so that what was interrupted goes on."""

import hashlib
import json
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any, Generic, Protocol, Self

from pydantic import TypeAdapter

from mixedsched.lab.machine import own_versions
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.task import Result, StorableReader, Task, scheme_loader
from mixedsched.world.store import Store

DATABASE_NAME = "simulated.sqlite"
STORE_EVERY_S = 1.0  # what a killed process may lose
PLAYING_CODE = ("errors.py", "units.py", "model", "core", "lab/play")  # what a simulated load depends on


class Counter(Protocol):
    """Counts finished loads."""

    def advance(self) -> None: ...


class _NotCounted:
    def advance(self) -> None:
        pass


Watch = Callable[[int], AbstractContextManager[Counter]]
"""Watches loads being played, given how many they are."""


@contextmanager
def unwatched(_: int) -> Iterator[Counter]:
    yield _NotCounted()


class PlayedLoads(Generic[Result]):
    """Plays tasks in a pool of its own, and each load only once. Use with `with`.

    folder: of the database. Loads that another version of the simulator has played do not count. watch: shows progress.
    """

    def __init__(
        self, reader: type[StorableReader[Result]], folder: Path, watch: Watch = unwatched, jobs: int | None = None
    ) -> None:
        self._pool = Pool(reader, jobs)
        self._kind = [reader.__name__, own_versions(PLAYING_CODE)]
        self._form: TypeAdapter[Result] = TypeAdapter(reader.result)
        self._store = Store(f"sqlite:///{folder / DATABASE_NAME}")
        self._watch = watch
        self._configured = scheme_loader()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.stop()
        self._store.__exit__()

    def play(self, tasks: Sequence[Task]) -> list[Result]:
        """All results, in the order of the tasks. Raises what the pool raises; what was played before that is kept."""
        found = dict(self.results(tasks))
        return [found[place] for place in range(len(tasks))]

    def results(
        self, tasks: Sequence[Task], is_over: Callable[[], bool] = lambda: False
    ) -> Generator[tuple[int, Result]]:
        """Results with the places of their tasks: first all that are stored, then the others in order, as they are played.

        is_over: asked before each load that is to be played; once it says yes, no other begins.
        """
        places_of: dict[str, list[int]] = {}
        for place, task in enumerate(tasks):
            places_of.setdefault(self._key(task), []).append(place)
        known = self._store.simulated(places_of)
        for key, record in known.items():
            result = self._form.validate_python(record)
            yield from ((place, result) for place in places_of[key])
        missing = [key for key in places_of if key not in known]
        if not missing:
            return
        new: dict[str, Any] = {}
        stored_s = time.monotonic()
        try:
            to_play = takewhile(lambda _: not is_over(), (tasks[places_of[key][0]] for key in missing))
            with self._watch(len(missing)) as counter, closing(self._pool.results(to_play)) as played:
                for key, result in zip(missing, played, strict=False):
                    new[key] = self._form.dump_python(result, mode="json")
                    if time.monotonic() - stored_s >= STORE_EVERY_S:
                        self._store.add_simulated(new)
                        new, stored_s = {}, time.monotonic()
                    counter.advance()
                    yield from ((place, result) for place in places_of[key])
        finally:
            self._store.add_simulated(new)

    def _key(self, task: Task) -> str:
        """Equal for tasks whose results are equal, in every process."""
        table = self._configured(task.scheme).mapping
        facts = [self._kind, task.scenario.digest, task.scheme.code, task.seed]
        return hashlib.sha256(json.dumps([*facts, table and table.digest], sort_keys=True).encode()).hexdigest()[:32]
