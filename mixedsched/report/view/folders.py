"""What lies in a folder of results: which commands have worked there, how far they are, and what they found. Changes nothing."""

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from mixedsched.lab.underway import UNDERWAY_NAME, Ended, Underway, has_seal, is_at_work, read_underway
from mixedsched.report.view.summary import SUMMARY_NAME, ResultKind, ResultSummary, summary_of

DATABASES = ("results.sqlite", "simulated.sqlite")
DEFINITION_NAME = "study.toml"
# What commands print with --json, where they keep it: by name of the file.
FACTS = {
    "tune.json": ResultKind.TUNE,
    "finder.json": ResultKind.FINDER,
    "audit.json": ResultKind.AUDIT,
    "calibration.json": ResultKind.CALIBRATE,
}
_MARKS = frozenset({*DATABASES, *FACTS, DEFINITION_NAME, SUMMARY_NAME, UNDERWAY_NAME})
_PREFIXES = {"audit-": ResultKind.AUDIT, "tune-": ResultKind.TUNE, "calibration-": ResultKind.CALIBRATE}
_DEPTH_MOST = 3
_FOLDERS_MOST = 20_000
_FACTS_BYTES_MOST = 20_000_000
_NEWER_S = 2.0  # a database is closed shortly after its summary is written
_SUMMARY = TypeAdapter(ResultSummary)


class State(StrEnum):
    """How a folder's command stands."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"
    KILLED = "ended suddenly"
    UNKNOWN = "not known"  # made by a version that kept no record


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder in which a command has worked."""

    id: str  # the same as long as the folder has its name
    path: Path
    name: str  # below the folder of all results
    kind: ResultKind
    state: State
    when_s: float  # of the last news, since 1970
    record: Underway | None
    summary: ResultSummary | None
    problem: str  # why its summary cannot be read; "" if it can
    report: str  # name of its file; "" if there is none
    has_newer_loads: bool  # than its summary knows

    @property
    def can_stop(self) -> bool:
        return self.state is State.RUNNING and self.record is not None and has_seal(self.path, self.record)

    @property
    def can_go_on(self) -> bool:
        """Whether giving its command again would do something, and is safe."""
        if self.record is None or self.state is State.RUNNING or not self.record.command:
            return False
        is_open = self.state in (State.STOPPED, State.FAILED, State.KILLED) or (
            self.summary is not None and not self.summary.is_whole
        )
        return is_open and has_seal(self.path, self.record)

    @property
    def counts(self) -> tuple[int, int | None, str] | None:
        """(done, total, unit); None if that is not known. What is under way knows better than a summary of before."""
        if self.record is not None and (self.state is State.RUNNING or self.summary is None) and self.record.unit:
            return self.record.done, self.record.total, self.record.unit
        if self.summary is None or self.summary.done is None:
            return None
        return self.summary.done, self.summary.planned, self.summary.unit


class Shelf:
    """The folder of all results. Summaries that have not changed are not read again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._summaries: dict[Path, tuple[tuple[int, int], ResultSummary | None, str]] = {}
        self._paths: dict[str, Path] = {}

    def look(self) -> list[Folder]:
        """All of them, those with the latest news first."""
        found = [self._folder(path, names) for path, names in _results_in(self.root)]
        self._paths = {item.id: item.path for item in found}
        self._summaries = {item.path: self._summaries[item.path] for item in found if item.path in self._summaries}
        return sorted(found, key=lambda item: (item.state is not State.RUNNING, -item.when_s, item.name))

    def find(self, folder_id: str) -> Folder | None:
        """One of them; None if there is none, or it is gone."""
        path = self._paths.get(folder_id)
        if path is None:
            return next((item for item in self.look() if item.id == folder_id), None)
        try:
            names = {entry.name for entry in os.scandir(path)}
        except OSError:
            return None
        return self._folder(path, names) if names & _MARKS else None

    def _folder(self, path: Path, names: set[str]) -> Folder:
        record = read_underway(path) if UNDERWAY_NAME in names else None
        state = _state(path, record)
        name = path.relative_to(self.root).as_posix() if path != self.root else path.name
        summary, problem, summary_s = self._summary(path, names)
        kind = summary.kind if summary is not None else _kind(name, names, record)
        changed_s = max((_changed_s(path / item) for item in names if item.startswith(DATABASES)), default=0.0)
        when_s = record.told_s if record is not None else changed_s or summary_s
        report = "" if summary is None else summary.report
        if report not in names:
            report = next((item for item in ("report.html", f"{kind}.html", "calibration.svg") if item in names), "")
        is_newer = summary is not None and changed_s > summary_s + _NEWER_S
        digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:16]
        return Folder(digest, path, name, kind, state, when_s, record, summary, problem, report, is_newer)

    def _summary(self, path: Path, names: set[str]) -> tuple[ResultSummary | None, str, float]:
        """With why it cannot be read, and when it was written, in seconds since 1970."""
        name = next((item for item in (SUMMARY_NAME, *FACTS) if item in names), None)
        if name is None:
            return None, "", 0.0
        file = path / name
        try:
            about = file.stat()
        except OSError:
            return None, "", 0.0
        stamp = (about.st_mtime_ns, about.st_size)
        kept = self._summaries.get(path)
        if kept is None or kept[0] != stamp:
            summary, problem = _read(file, about)
            kept = self._summaries[path] = (stamp, summary, problem)
        return kept[1], kept[2], about.st_mtime


def _read(file: Path, about: os.stat_result) -> tuple[ResultSummary | None, str]:
    """A summary, or why there is none."""
    if not stat.S_ISREG(about.st_mode) or about.st_size > _FACTS_BYTES_MOST:
        return None, f"{file.name} is no file of ours"
    try:
        data = file.read_bytes()
        if file.name == SUMMARY_NAME:
            return _SUMMARY.validate_json(data), ""
        facts: Any = json.loads(data)
        return summary_of(FACTS[file.name], facts), ""
    except ValidationError as error:
        return None, f"{file.name} cannot be understood: {error.errors()[0]['msg']}"
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        return None, f"{file.name} cannot be understood: {error or type(error).__name__}"


def _state(path: Path, record: Underway | None) -> State:
    if record is None:
        return State.UNKNOWN
    if record.ended is Ended.NOT_YET:
        return State.RUNNING if is_at_work(path, record) else State.KILLED
    return State(record.ended.value)


def _kind(name: str, names: set[str], record: Underway | None) -> ResultKind:
    """Of work that has no summary yet."""
    given = record.command[0] if record is not None and record.command else ""
    if DEFINITION_NAME in names:
        return ResultKind.FINDER if given == "tune" or name.startswith("finder") else ResultKind.STUDY
    if given in tuple(ResultKind):
        return ResultKind(given)
    by_name = name.rpartition("/")[2]
    return next((kind for prefix, kind in _PREFIXES.items() if by_name.startswith(prefix)), ResultKind.COMPARE)


def _changed_s(file: Path) -> float:
    """When it was written last; 0 if it is gone."""
    try:
        return 0.0 if file.name.endswith("-shm") else file.stat().st_mtime
    except OSError:
        return 0.0


def _results_in(root: Path) -> Iterator[tuple[Path, set[str]]]:
    """Folders with results, and the names in each. What is inside of such a folder belongs to it; links are not followed."""
    left = [(root, 0)]
    for _ in range(_FOLDERS_MOST):
        if not left:
            return
        folder, depth = left.pop()
        try:
            with os.scandir(folder) as entries:
                listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except OSError:
            continue
        names = {name for name, is_folder in listed if not is_folder}
        if names & _MARKS:
            yield folder, names
        elif depth < _DEPTH_MOST:
            left += [(folder / name, depth + 1) for name, is_folder in listed if is_folder and not name.startswith(".")]


def ago_s(when_s: float) -> float:
    """How long that is ago."""
    return max(0.0, time.time() - when_s)
