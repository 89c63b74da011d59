"""What lies in a folder of results: which commands worked there, how far they are, and what they found. Changes nothing."""

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from mixedsched.lab.underway import UNDERWAY_NAME, Underway, WorkEnd, has_seal, is_at_work, read_underway
from mixedsched.report.view.summary import SUMMARY_NAME, ResultKind, ResultSummary, summary_of

DATABASES = ("results.sqlite", "simulated.sqlite")
DEFINITION_NAME = "study.toml"
# What commands print with --json, where they keep it: by name of the file.
FACTS = {kind.facts: kind for kind in ResultKind if kind.facts}
_MARKS = frozenset({*DATABASES, *FACTS, DEFINITION_NAME, SUMMARY_NAME, UNDERWAY_NAME})
_PREFIXES = {"audit-": ResultKind.AUDIT, "tune-": ResultKind.TUNE, "calibration-": ResultKind.CALIBRATE}
_DEPTH_MOST = 3
_FOLDERS_MOST = 20_000
_FACTS_BYTES_MOST = 20_000_000
_NEWER_S = 2.0  # a database is closed shortly after its summary is written
_SUMMARY = TypeAdapter(ResultSummary)


class State(StrEnum):
    """The state of a folder's command."""

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


# The folder itself, files with its summary, and files that change.
_SUMMARIES = 2 + len(FACTS)
_WATCHED = tuple(
    f"/{name}" if name else "" for name in ("", SUMMARY_NAME, *FACTS, UNDERWAY_NAME, *DATABASES, f"{DATABASES[0]}-wal")
)
# What tells whether a folder is as it was: of itself and of files in it, when each was changed, and its size.
_Stamp = tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    stamp: _Stamp
    folder: Folder


class Shelf:
    """The folder of all results. What has not changed is not read again, so that looking is cheap while others measure."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, _Known] = {}  # by path

    def look(self) -> list[Folder]:
        """All of them: what runs first, then those with the latest news."""
        found = [self._seen(path, names) for path, names in self._results_in(str(self.root))]
        self._known = {path: self._known[path] for path, _ in found}
        return sorted(
            (item for _, item in found), key=lambda item: (item.state is not State.RUNNING, -item.when_s, item.name)
        )

    def find(self, folder_id: str) -> Folder | None:
        """One of them; None if there is none, or it is gone."""
        for path, known in self._known.items():
            if known.folder.id == folder_id:
                names = _names_in(path)
                return self._seen(path, names)[1] if names & _MARKS else None
        return next((item for item in self.look() if item.id == folder_id), None)

    def _results_in(self, root: str) -> Iterator[tuple[str, set[str] | None]]:
        """Folders with results, and the names in each, None where these are as they were.

        What is inside of such a folder belongs to it; links are not followed.
        """
        left = [(root, 0)]
        for _ in range(_FOLDERS_MOST):
            if not left:
                return
            path, depth = left.pop()
            if path in self._known and self._known[path].stamp[0] == _stamp_of(path):
                yield path, None
                continue
            try:
                with os.scandir(path) as entries:
                    listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
            except OSError:
                continue
            names = {name for name, is_folder in listed if not is_folder}
            if names & _MARKS:
                yield path, names
            elif depth < _DEPTH_MOST:
                inner = [name for name, is_folder in listed if is_folder and not name.startswith(".")]
                left += [(f"{path}/{name}", depth + 1) for name in inner]

    def _seen(self, path: str, names: set[str] | None) -> tuple[str, Folder]:
        stamp = tuple(_stamp_of(f"{path}{name}") for name in _WATCHED)
        known = self._known.get(path)
        if known is None or known.stamp != stamp or known.folder.state is State.RUNNING:
            is_summary_same = known is not None and known.stamp[1:_SUMMARIES] == stamp[1:_SUMMARIES]
            before = known.folder if known is not None and is_summary_same else None
            found = _folder_of(self.root, Path(path), _names_in(path) if names is None else names, before)
            known = self._known[path] = _Known(stamp, found)
        return path, known.folder


def _stamp_of(path: str) -> tuple[int, int] | None:
    """None if it is not there."""
    try:
        about = os.stat(path)  # noqa: PTH116 - of thousands, each second
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size


def _names_in(path: str) -> set[str]:
    try:
        with os.scandir(path) as entries:
            return {entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)}
    except OSError:
        return set()


def _folder_of(root: Path, path: Path, names: set[str], before: Folder | None) -> Folder:
    """before: as it was when it had the same summary."""
    record = read_underway(path) if UNDERWAY_NAME in names else None
    name = path.relative_to(root).as_posix() if path != root else path.name
    summary_name = next((item for item in (SUMMARY_NAME, *FACTS) if item in names), None)
    summary_s = _changed_s(path / summary_name) if summary_name is not None else 0.0
    if before is not None:
        summary, problem = before.summary, before.problem
    else:
        summary, problem = (None, "") if summary_name is None else _read(path / summary_name)
    kind = summary.kind if summary is not None else _kind(name, names, record)
    changed_s = max((_changed_s(path / item) for item in names if item.startswith(DATABASES)), default=0.0)
    report = "" if summary is None else summary.report
    if report not in names:
        report = next((item.report for item in (kind, *ResultKind) if item.report in names), "")
    return Folder(
        id=hashlib.sha256(os.fsencode(name)).hexdigest()[:16],
        path=path,
        name=name,
        kind=kind,
        state=_state(path, record),
        when_s=record.told_s if record is not None else changed_s or summary_s,
        record=record,
        summary=summary,
        problem=problem,
        report=report,
        has_newer_loads=summary is not None and changed_s > summary_s + _NEWER_S,
    )


def _read(file: Path) -> tuple[ResultSummary | None, str]:
    """A summary, or why there is none."""
    try:
        about = file.stat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > _FACTS_BYTES_MOST:
            return None, f"{file.name} is not a file of ours"
        data = file.read_bytes()
        if file.name == SUMMARY_NAME:
            return _SUMMARY.validate_json(data), ""
        facts: Any = json.loads(data)
        # Other versions, and people, may have written anything into it: its types are checked as those of a summary are.
        told = json.dumps(asdict(summary_of(FACTS[file.name], facts)), ensure_ascii=False)
        return _SUMMARY.validate_json(told.encode("utf-8", "replace")), ""
    except ValidationError as error:
        return None, f"{file.name} cannot be understood: {error.errors()[0]['msg']}"
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        return None, f"{file.name} cannot be understood: {error or type(error).__name__}"


def _state(path: Path, record: Underway | None) -> State:
    if record is None:
        return State.UNKNOWN
    if record.ended is WorkEnd.NOT_YET:
        return State.RUNNING if is_at_work(path, record) else State.KILLED
    return State(record.ended.value)


def _kind(name: str, names: set[str], record: Underway | None) -> ResultKind:
    """The kind of work that has no summary yet."""
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
