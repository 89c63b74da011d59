"""One browser slot a machine: studies that load pages at the same time would measure each other."""

import asyncio
import fcntl
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

_LOOK_EVERY_S = 0.5


@asynccontextmanager
async def browser_slot(say: Callable[[str], None], folder: Path | None = None) -> AsyncIterator[None]:
    """Wait for the slot, and hold it; the system frees it however this process ends.

    say: takes a line if others have it. folder: shared by all who are to take turns; by default that for temporary files.
    """
    file = _opened((folder or Path(tempfile.gettempdir())) / "mixedsched-browser.lock")
    try:
        if not _is_taken(file):
            say("another study is loading pages on this machine; waiting for it to finish")
            while not _is_taken(file):
                await asyncio.sleep(_LOOK_EVERY_S)
        yield
    finally:
        os.close(file)


def _opened(path: Path) -> int:
    # Made only if it is missing: systems may refuse to "make" another user's file in a folder that all may write to.
    with suppress(FileNotFoundError):
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    file = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    with suppress(PermissionError):  # another user has just made it
        os.fchmod(file, 0o644)  # whatever this user's umask: others take turns, too
    return file


def _is_taken(file: int) -> bool:
    """Whether it is ours now."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
