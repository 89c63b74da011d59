"""Simulated loads that are played once: what was played is kept in a database, so that what was interrupted goes on."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Generic, Protocol, Self

from pydantic import TypeAdapter

from mixedsched.lab.machine import own_versions
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.task import Result, StorableReader, Task, scheme_loader
from mixedsched.world.store import Store, file_address

DATABASE_NAME = "simulated.sqlite"
STORE_EVERY_S = 1.0  # what a killed process may lose
PLAYING_CODE = (
    "errors.py",
    "units.py",
    "model",
    "core",
    "lab/learning",
    "lab/play",
)  # what a simulated load depends on


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
        self._store = Store(file_address(folder / DATABASE_NAME))
        self._watch = watch
        self._configured = scheme_loader()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.stop()
        self._store.__exit__()

    def play(self, tasks: Sequence[Task]) -> list[Result]:
        """All results, in the order of the tasks. Raises what the pool raises; what was played before that is kept."""
        keys = [self._key(task) for task in tasks]
        to_play = dict(zip(keys, tasks, strict=True))
        known = self._store.simulated(to_play)
        results = {key: self._form.validate_python(record) for key, record in known.items()}
        missing = [key for key in to_play if key not in results]
        if missing:
            results |= self._played({key: to_play[key] for key in missing})
        return [results[key] for key in keys]

    def _played(self, tasks: Mapping[str, Task]) -> dict[str, Result]:
        """Results by key, which are stored as they come."""
        results: dict[str, Result] = {}
        new: dict[str, Any] = {}
        stored_s = time.monotonic()
        try:
            with self._watch(len(tasks)) as counter, closing(self._pool.results(tasks.values())) as played:
                for key, result in zip(tasks, played, strict=True):
                    results[key] = result
                    new[key] = self._form.dump_python(result, mode="json")
                    if time.monotonic() - stored_s >= STORE_EVERY_S:
                        self._store.add_simulated(new)
                        new, stored_s = {}, time.monotonic()
                    counter.advance()
        finally:
            self._store.add_simulated(new)
        return results

    def _key(self, task: Task) -> str:
        """Equal for tasks whose results are equal, in every process."""
        table = self._configured(task.scheme).mapping
        facts = [self._kind, task.scenario.digest, task.scheme.code, task.seed]
        return hashlib.sha256(json.dumps([*facts, table and table.digest], sort_keys=True).encode()).hexdigest()[:32]
