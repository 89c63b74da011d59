"""Browser profiles: one temporary directory a run, named after the process that owns it."""

import contextlib
import os
import re
import shutil
import stat
import tempfile
import time
from pathlib import Path

_PREFIX = "mixedsched-browser-"
_SOCKET_DIR_NAME = re.compile(r"(org|com)\.\w+\.\w+\.\w{6}$")  # org.chromium.Chromium.a1B2c3
_REMOVALS_MAX = 50  # only while something is left
_REMOVAL_PAUSE_S = 0.1
_NAME = re.compile(re.escape(_PREFIX) + r"(\d{1,9})-[a-z0-9_]+$")
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - profiles get names that nobody can foresee
_ROOM_BYTES = 1_000_000_000  # a profile takes some 30 MB, more where a page keeps much


def place_of_profiles(shared_memory: Path = _SHARED_MEMORY, room_bytes: int = _ROOM_BYTES) -> Path:
    """Where the profiles of measured browsers go: into memory where there is room, else where temporary files go.

    On a disk the browser waits, and the page with it, while other programs keep the disk busy: beside a test suite, loads
    began 4 to 31 s late. TMPDIR, if set, is obeyed.
    """
    with contextlib.suppress(OSError):
        about = os.statvfs(shared_memory)
        has_room = about.f_bavail * about.f_frsize >= room_bytes and os.access(shared_memory, os.W_OK | os.X_OK)
        if has_room and "TMPDIR" not in os.environ:
            return shared_memory
    return Path(tempfile.gettempdir())


def make_profile_dir(parent: Path | None = None) -> Path:
    """A new directory `mixedsched-browser-<our pid>-xxxx` below `parent` (default: the system's place for such)."""
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent))


def remove_profile_dir(directory: Path) -> None:
    """Remove it if it still exists, and what a killed Chromium has left elsewhere for it.

    What cannot be removed now is swept by a later start.
    """
    socket_dir = _socket_dir(directory)
    if socket_dir is not None:
        shutil.rmtree(socket_dir, ignore_errors=True)
    for _ in range(_REMOVALS_MAX):
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            return
        time.sleep(_REMOVAL_PAUSE_S)  # a browser that is being killed may write a last file


def sweep_profile_dirs(*parents: Path) -> list[Path]:
    """Remove this user's profiles of processes that have ended; returns them."""
    swept = []
    for directory in sorted(found for parent in dict.fromkeys(parents) for found in parent.glob(f"{_PREFIX}*")):
        match = _NAME.match(directory.name)
        if match and _is_ours(directory) and not _is_alive(int(match.group(1))):
            remove_profile_dir(directory)
            swept.append(directory)
    return swept


def _socket_dir(directory: Path) -> Path | None:
    """The folder of the socket by which the profile's Chromium would have answered a second one; None if there is none."""
    try:
        socket_dir = (directory / "SingletonSocket").readlink().parent
    except OSError:
        return None
    return socket_dir if _SOCKET_DIR_NAME.match(socket_dir.name) else None


def _is_ours(directory: Path) -> bool:
    """Whether it is a folder of this user's: others can neither be removed nor trusted, and anybody may put one there."""
    try:
        about = directory.lstat()
    except OSError:  # removed meanwhile
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True
