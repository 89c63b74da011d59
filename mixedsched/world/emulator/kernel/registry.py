"""Which process owns which of our network namespaces, written where the next start finds it even after kill -9.

Each owner has a folder named after its process ID, /run/mixedsched/PID/, with owner.json and whatever else must not outlive the
owner. A process ID alone proves nothing, because the system reuses it: the start time of the process must match, too.

Only what is written here is ever removed: files of known names, sockets, and links to what a process holds, in folders named
after a process, in a folder that belongs to this user and is not a symbolic link.
"""

import contextlib
import os
import stat
import tempfile
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from pydantic import PositiveInt, TypeAdapter

from mixedsched.errors import MixedschedError
from mixedsched.world.places import locked
from mixedsched.world.system.processes import began_ticks

_SYSTEM_FOLDER = Path("/run/mixedsched")
_OWNER_FILE = "owner.json"
_NEW_OWNER_FILE = f"{_OWNER_FILE}.new"
MACHINE_FILES = ("qemu.log", "console.log")  # the output of a router VM and of its kernel
_OWN_FILES = frozenset({_OWNER_FILE, _NEW_OWNER_FILE, *MACHINE_FILES})


@dataclass(frozen=True, slots=True)
class ProcessMark:
    """A process that cannot be mistaken for a later one with the same ID."""

    pid: PositiveInt
    started_ticks: int
    """Since the system's start."""

    @property
    def is_alive(self) -> bool:
        return mark_of(self.pid) == self


@dataclass(frozen=True, slots=True)
class Ownership:
    """What one process owns."""

    owner: ProcessMark
    about: str
    """In words, for `lab status`."""
    namespaces: tuple[str, ...] = ()
    helpers: tuple[ProcessMark, ...] = ()
    """Processes of the owner's that must not outlive it."""
    is_held: bool = False
    """The namespaces exist as long as the owner, or a process inside; otherwise until they are removed."""


_RECORD = TypeAdapter(Ownership)


def mark_of(pid: int) -> ProcessMark | None:
    """The mark of a running process; None if it has ended or is a zombie."""
    ticks = began_ticks(pid)
    return ProcessMark(pid, int(ticks)) if ticks else None


def own_mark() -> ProcessMark:
    mark = mark_of(os.getpid())
    assert mark is not None
    return mark


def registry_folder() -> Path:
    """The folder of all owners, below /run or where this user may write; made if missing. Raises MixedschedError."""
    choices = [_SYSTEM_FOLDER]
    if user_folder := os.environ.get("XDG_RUNTIME_DIR"):
        choices.append(Path(user_folder, "mixedsched"))
    choices.append(Path(tempfile.gettempdir(), f"mixedsched-{os.getuid()}"))
    for folder in choices:
        with contextlib.suppress(OSError):
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            if _is_own_folder(folder) and os.access(folder, os.W_OK):
                return folder
    raise MixedschedError(
        "there is no place to record which namespaces are ours",
        why=f"none of {', '.join(map(str, choices))} is a writable folder of this user's (and not a symbolic link)",
        fix="make /run writable for this user, or set XDG_RUNTIME_DIR",
    )


def _is_own_folder(folder: Path) -> bool:
    """Whether it is a folder and this user's, not a symbolic link that leads elsewhere or something planted."""
    facts = folder.lstat()
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid()


def registry_lock() -> AbstractContextManager[object]:
    """One process at a time claims or sweeps. The lock goes with the process that holds it."""
    return locked(registry_folder())


def owner_folder(owner: ProcessMark) -> Path:
    return registry_folder() / str(owner.pid)


def is_claimed(owner: ProcessMark) -> bool:
    """Whether anything is recorded for this process."""
    return (owner_folder(owner) / _OWNER_FILE).exists()


def write_ownership(ownership: Ownership) -> None:
    """Record it, whole or not at all."""
    folder = owner_folder(ownership.owner)
    folder.mkdir(mode=0o700, exist_ok=True)
    new = folder / _NEW_OWNER_FILE
    new.write_bytes(_RECORD.dump_json(ownership))
    new.replace(folder / _OWNER_FILE)


def read_ownerships() -> list[Ownership]:
    """All that is recorded, by process ID; dead owners are listed until a sweep."""
    found = (_read(folder) for folder in _owner_folders())
    return [ownership for ownership in found if ownership is not None]


def forget(ownership: Ownership) -> None:
    """Remove the owner's folder with the files that we write there; anything else stays."""
    _remove(owner_folder(ownership.owner))


def forget_unreadable() -> None:
    """Remove folders whose record is missing or makes no sense, if they contain only what we write.

    Their owners ended before they had anything. Call it with the lock held.
    """
    for folder in _owner_folders():
        if _read(folder) is None and all(_is_our_file(path) for path in folder.iterdir()):
            _remove(folder)


def _owner_folders() -> list[Path]:
    """Folders that are named like a process, in order."""
    folders = (path for path in registry_folder().iterdir() if path.name.isascii() and path.name.isdigit())
    return sorted(path for path in folders if _is_own_folder(path))


def _is_our_file(path: Path) -> bool:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return path.readlink().is_relative_to("/proc")
    return stat.S_ISSOCK(mode) or (stat.S_ISREG(mode) and path.name in _OWN_FILES)


def _remove(folder: Path) -> None:
    """Remove the folder with our files in it; it stays if others have files there."""
    with contextlib.suppress(OSError):  # it is gone, or not empty
        for path in folder.iterdir():
            if _is_our_file(path):
                path.unlink()
        folder.rmdir()


def _read(folder: Path) -> Ownership | None:
    """The record in a folder; None if there is none, or not one that the owner of this folder would have written."""
    try:
        found = _RECORD.validate_json((folder / _OWNER_FILE).read_bytes(), strict=True)
    except (OSError, ValueError):
        return None
    pid = found.owner.pid
    is_own = str(pid) == folder.name and all(name.startswith(f"mixedsched-{pid}-") for name in found.namespaces)
    return found if is_own else None
