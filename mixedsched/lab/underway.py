"""What the command that owns a folder of results is doing: kept in the folder for others to see, with a way to stop it.

The file is overwritten in place, in one call, each time that something is told: that takes microseconds, so that nothing need
be held back, and whoever looks sees what is true now. It stays when the command has ended, and says how.
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.world import places
from mixedsched.world.system.processes import began_ticks, system_start

UNDERWAY_NAME = "underway.json"
LOCK_NAME = "lock"  # which the owner of a folder keeps open
_FORMAT = "mixedsched.underway/1"
_SIZE_BYTES = 8192
_COMMAND_MOST = 4000  # characters in JSON; a longer one is not kept, and so not given again
_WORDS_MOST = 300  # characters of what is under way, or has gone wrong
_READS_MOST = 3  # one that meets a writer halfway is done again
_KEY_NAME = "underway.key"
_KEY_BYTES = 32


class WorkEnd(StrEnum):
    """How a command has ended, as far as its folder is concerned."""

    NOT_YET = ""
    DONE = "done"
    STOPPED = "stopped"  # by Ctrl-C
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Underway:
    """The command that owns a folder of results, or owned it last."""

    command: tuple[str, ...] = ()  # words behind `mixedsched`; () where a program of the user's own does the work
    cwd: str = ""  # where it was given
    seal: str = ""  # shows that command, cwd and folder were written by this user on this machine
    pid: int = 0
    born: str = ""  # what tells the process from others that had its number: the boot, and ticks since then
    began_s: float = 0.0  # since 1970
    told_s: float = 0.0  # when what follows was true, since 1970
    what: str = ""
    done: int = 0
    total: int | None = None
    unit: str = ""  # what done and total count; "" for parts of a whole
    left_s: float | None = None  # time that the rest will take; None if that is not known
    ended: WorkEnd = WorkEnd.NOT_YET
    why: str = ""  # it failed

    @property
    def share(self) -> float | None:
        """Of the work that is done, 0 to 1; None if that is not known."""
        return min(1.0, max(0.0, self.done / self.total)) if self.total else None

    def left_at_s(self, now_s: float) -> float | None:
        """Time left at another moment."""
        return None if self.left_s is None else max(0.0, self.left_s - max(0.0, now_s - self.told_s))


# The process that works

_given: tuple[str, ...] = ()  # the command line of this process
_current: "_Recorder | None" = None  # of the folder that this process owns


def given(command: Sequence[str]) -> None:
    """From here on folders of this process say that this command can be stopped by Ctrl-C, and given again.

    command: its words behind `mixedsched`.
    """
    global _given
    _given = tuple(command)


def interrupted() -> None:
    """Ctrl-C was pressed: whatever the command still does, it was stopped."""
    if _current is not None:
        _current.was_interrupted = True


def tell(what: str, done: int, total: int | None, unit: str, left_s: float | None) -> None:
    """Keep how far the work is, if it is for a folder. Never fails: what cannot be written is not seen, that is all."""
    if _current is not None:
        _current.tell(what=what[:_WORDS_MOST], done=done, total=total, unit=unit, left_s=left_s)


@contextmanager
def recorded(folder: Path) -> Iterator[None]:
    """Keep in the folder what this process does there. A folder within work that is recorded already is a part of that."""
    global _current
    if _current is not None:
        yield
        return
    _current = _Recorder(folder)
    ended, why = WorkEnd.DONE, ""
    try:
        yield
    except KeyboardInterrupt:
        ended = WorkEnd.STOPPED
        raise
    except MixedschedError as error:
        ended, why = WorkEnd.FAILED, str(error)
        raise
    except BaseException as error:
        ended, why = WorkEnd.FAILED, repr(error)
        raise
    finally:
        recorder, _current = _current, None
        recorder.end(WorkEnd.STOPPED if recorder.was_interrupted else ended, why)


class _Recorder:
    def __init__(self, folder: Path) -> None:
        self.was_interrupted = False
        now_s = time.time()
        cwd = str(Path.cwd())
        command = _given if len(json.dumps([*_given, cwd])) <= _COMMAND_MOST else ()
        self._now = Underway(
            command=command,
            cwd=cwd,
            seal=_seal(command, cwd, folder) if command else "",
            pid=os.getpid(),
            born=_born(os.getpid()) or "",
            began_s=now_s,
            told_s=now_s,
        )
        self._file: int | None = None
        with contextlib.suppress(OSError):
            self._file = os.open(folder / UNDERWAY_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
            os.ftruncate(self._file, _SIZE_BYTES)
        self._write()

    def tell(self, **news: Any) -> None:
        self._now = replace(self._now, told_s=time.time(), **news)
        self._write()

    def end(self, ended: WorkEnd, why: str) -> None:
        self.tell(ended=ended, why=why[:_WORDS_MOST], left_s=None)
        if self._file is not None:
            os.close(self._file)

    def _write(self) -> None:
        if self._file is None:
            return
        text = json.dumps({"format": _FORMAT, **asdict(self._now)}).encode()
        if len(text) < _SIZE_BYTES:
            with contextlib.suppress(OSError):
                os.pwrite(self._file, text.ljust(_SIZE_BYTES - 1) + b"\n", 0)


# Those who look

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "cwd": str, "seal": str, "pid": int, "born": str, "began_s": (int, float), "told_s": (int, float), "what": str,
    "done": int, "total": (int, type(None)), "unit": str, "left_s": (int, float, type(None)), "why": str,
}  # fmt: skip


def read_underway(folder: Path) -> Underway | None:
    """What a folder says; None where it says nothing that can be understood, or is gone."""
    for _ in range(_READS_MOST):
        try:
            with (folder / UNDERWAY_NAME).open("rb") as file:
                return _understood(json.loads(file.read(_SIZE_BYTES)))
        except OSError:
            return None
        except (ValueError, RecursionError):
            continue
    return None


def _understood(stored: Any) -> Underway | None:
    if not isinstance(stored, dict) or stored.get("format") != _FORMAT:
        return None
    command, ended = stored.get("command"), stored.get("ended")
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        return None
    if ended not in tuple(WorkEnd) or not all(isinstance(stored.get(name), kind) for name, kind in _TYPES.items()):
        return None
    return Underway(command=tuple(command), ended=WorkEnd(ended), **{name: stored[name] for name in _TYPES})


def is_at_work(folder: Path, record: Underway) -> bool:
    """Whether the process that wrote the record still owns the folder: it is the same one, and has the folder's lock open."""
    if record.ended is not WorkEnd.NOT_YET or not record.born or record.born != _born(record.pid):
        return False
    try:
        lock = (folder / LOCK_NAME).stat()
        open_files = list(Path(f"/proc/{record.pid}/fd").iterdir())
    except OSError:
        return False
    for file in open_files:
        with contextlib.suppress(OSError):
            if os.path.samestat(file.stat(), lock):
                return True
    return False


def stop(folder: Path) -> None:
    """Have the command that owns a folder end as by Ctrl-C. It stores what it has, so that it can go on later.

    Raises MixedschedError unless it is certain that the process is at work there, is this user's, and ends in order.
    """
    record = read_underway(folder)
    refusal = MixedschedError(
        "nothing was stopped", why="no command that is certainly yours is at work in this folder", fix="look again"
    )
    if record is None or not record.command or not has_seal(folder, record):
        raise refusal
    try:
        process = os.pidfd_open(record.pid)  # from here on the number cannot come to mean another process
    except OSError as error:
        raise refusal from error
    try:
        if not is_at_work(folder, record) or Path(f"/proc/{record.pid}").stat().st_uid != os.getuid():
            raise refusal
        signal.pidfd_send_signal(process, signal.SIGINT)
    except OSError as error:
        raise refusal from error
    finally:
        os.close(process)


def has_seal(folder: Path, record: Underway) -> bool:
    """Whether this user's own programs wrote the command, for this folder: it is not one that came with somebody's files."""
    expected = _seal(record.command, record.cwd, folder)
    return bool(expected) and hmac.compare_digest(expected, record.seal)


def _seal(command: Sequence[str], cwd: str, folder: Path) -> str:
    """ "" where there is no place for a key."""
    try:
        key = _key()
    except (MissingPartError, OSError):
        return ""
    facts = json.dumps([list(command), cwd, str(folder.resolve())])
    return hmac.new(key, facts.encode(errors="surrogateescape"), hashlib.sha256).hexdigest()


def _key() -> bytes:
    """This user's; made where there is none."""
    folder = places.writable_cache()
    path = folder / _KEY_NAME
    if not path.exists():
        with tempfile.NamedTemporaryFile(dir=folder) as made:  # for this user's eyes only
            made.write(secrets.token_bytes(_KEY_BYTES))
            made.flush()
            with contextlib.suppress(FileExistsError):  # made by another process at this moment
                os.link(made.name, path)
    return path.read_bytes()


def _born(pid: int) -> str | None:
    """The boot of the system and the tick at which a process began; None if there is no such process."""
    boot, ticks = system_start(), began_ticks(pid)
    return f"{boot} {ticks}" if boot and ticks else None
