"""Folders of results: where they are, who may write to them, and the experiments in them."""

import contextlib
import fcntl
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from mixedsched.errors import MixedschedError, UsageError
from mixedsched.lab.engine import stored_runs
from mixedsched.lab.model import Plan
from mixedsched.lab.underway import LOCK_NAME, recorded
from mixedsched.world.store import Store, StoredExperiment, file_address

DATABASE_NAME = "results.sqlite"
COPIES_MOST = 10  # tries, where somebody keeps writing
_NAME_SIGNS_MOST = 80


def folder_of(name: str, digest: str, versions: Mapping[str, str]) -> Path:
    """The default folder for a piece of work by these versions of our programs.

    name: what people know the work by. digest: fingerprint of what is wanted.
    """
    readable = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in name)[:_NAME_SIGNS_MOST]
    version_digest = hashlib.sha256(json.dumps(dict(versions), sort_keys=True).encode()).hexdigest()
    return Path("runs") / f"{readable}-{digest[:8]}-{version_digest[:6]}"


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Make the folder ours alone while we write results to it, and say there what we do; freed by the system however we end."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK_NAME).open("w")
    except OSError as error:
        raise MixedschedError(
            f"cannot write to {folder}", why=error.strerror or "", fix="choose another folder with --out"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise MixedschedError(
                f"another command is writing to {folder}", fix="wait for it, or choose another --out"
            ) from error
        except OSError as error:  # there are file systems without locks
            raise MixedschedError(
                f"cannot lock {folder}", why=error.strerror or "", fix="choose a folder on a local disk with --out"
            ) from error
        with recorded(folder):
            yield


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Failures to write results there are errors with an explanation. Raises MixedschedError instead of OSError."""
    try:
        yield
    except OSError as error:
        raise MixedschedError(f"cannot write to {folder}", why=error.strerror or "") from error


@contextmanager
def copied_aside(folder: Path) -> Iterator[Path]:
    """A folder with a copy of the database, to be read while a process writes to it, and without changing it."""
    for attempt in range(1, COPIES_MOST + 1):
        with tempfile.TemporaryDirectory() as aside:
            if _is_copied(folder, Path(aside)) or attempt == COPIES_MOST:
                yield Path(aside)
                return


def _is_copied(folder: Path, aside: Path) -> bool:
    """Copy the database and its journal; whether neither changed meanwhile, as when the last connection to it closes."""
    before = _database_files(folder)
    for file in before:
        try:
            shutil.copy(file, aside)
        except FileNotFoundError:
            return False
    return _database_files(folder) == before


def _database_files(folder: Path) -> dict[Path, tuple[int, int]]:
    """With sizes and times of the last change. The file of shared memory is made anew by whoever opens a copy."""
    found = {}
    for file in sorted(folder.glob(f"{DATABASE_NAME}*")):
        with contextlib.suppress(FileNotFoundError):
            if not file.name.endswith("-shm"):
                found[file] = (file.stat().st_size, file.stat().st_mtime_ns)
    return found


def open_store(folder: Path) -> Store:
    """The database of a folder, made if there is none. Raises MixedschedError if it cannot be used."""
    return Store(file_address(folder / DATABASE_NAME))


@dataclass(frozen=True, slots=True)
class ExperimentFacts:
    """The circumstances of a plan's first start, stored beside it. Earlier versions have stored fewer of them."""

    site_argument: str = ""  # how people named the site
    link_argument: str = ""  # and the network, where it is not one of ours
    title: str = ""
    origins: str = ""  # of the site's hosts, if it has several: "keep" or "merge"
    connections: str = ""  # that a load takes, and why
    network_notes: tuple[str, ...] = ()  # what the emulated network cannot do of what its profile asks
    server_notes: tuple[str, ...] = ()  # how arms that are other people's servers differ, and all arms for their sake
    licence: str = ""
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)  # of all programs that make the loads
    history: tuple[int, ...] = ()  # numbers of blocks that were planned one after the other: extending is looking
    gates: tuple[str, ...] = ()  # conditions that the last start was to decide
    looked: int = (
        0  # complete blocks at which results that could decide were first shown; 0 where none were, or none is noted
    )
    # Of a live page: application, url, rules, see sites.site.Application.
    live: Mapping[str, Any] = field(default_factory=dict)
    overhead_s: float | None = None  # cost of a load beyond itself: the median over those that count
    work: Mapping[str, str] = field(default_factory=dict)  # what it is a part of, such as {"audit": DIGEST}

    def to_dict(self) -> dict[str, Any]:
        """The known ones, as they are stored."""
        known = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "work"}
        stored = {key: list(value) if isinstance(value, tuple) else value for key, value in known.items()}
        return {**self.work, **{key: value for key, value in stored.items() if value}}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """The reverse of to_dict."""
        names = {item.name for item in fields(cls)} & stored.keys()
        known: dict[str, Any] = {name: stored[name] for name in names}
        known |= {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
        return cls(**known, work={key: value for key, value in stored.items() if key not in names})

    def planned(self, plan: Plan) -> Self:
        """With the number of blocks now planned in the history."""
        return replace(self, history=tuple(dict.fromkeys((*self.history, plan.counted_blocks))))


def spent_before_s(store: Store, work: Mapping[str, str]) -> float:
    """Time that earlier starts of the same work have spent on loads.

    work: its name and digest, as in ExperimentFacts. Raises UsageError if the folder holds something else.
    """
    spent_s = 0.0
    for experiment in store.experiments():
        if not work.items() <= experiment.facts.items():
            raise UsageError(
                f"the folder holds something other than this {' and '.join(work)}",
                why="its loads were made for another page, network, seed or other options",
                fix="choose another folder with --out",
            )
        spent_s += sum(run.cost_s for run in stored_runs(store, experiment.digest))
    return spent_s


def continued(plan: Plan, stored: StoredExperiment | None) -> Plan:
    """The plan to carry out: a longer one of the same experiment that is stored already stays as it is.

    Raises UsageError if another experiment is stored.
    """
    if stored is None:
        return plan
    if stored.digest != plan.digest:
        raise UsageError("the folder contains another experiment", fix="choose another folder with --out")
    earlier = Plan.from_dict(stored.plan)
    return earlier if len(earlier.blocks) > len(plan.blocks) else plan


def refuse_other_versions(stored: StoredExperiment | None, versions: Mapping[str, str]) -> None:
    """Runs of different programs must not be mixed. Raises UsageError."""
    before = stored.facts["versions"] if stored is not None else versions
    changed = [f"{name} {before.get(name)} -> {now}" for name, now in versions.items() if before.get(name) != now]
    if changed:
        raise UsageError(
            "the stored runs were made with other versions",
            why=", ".join(changed),
            fix="start again with another --out, or restore the old versions",
        )
