"""One browser slot a machine: studies that load pages at the same time would measure each other."""

import asyncio
import fcntl
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from mixedsched.errors import MixedschedError

_LOOK_EVERY_S = 0.5
# Others may put anything under that name: a link that leads elsewhere, or a pipe, which one would wait for.
_AS_IT_IS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


@asynccontextmanager
async def browser_slot(say: Callable[[str], None], folder: Path | None = None) -> AsyncIterator[None]:
    """Wait for the slot, and hold it; the system frees it however this process ends.

    say: takes a line if others have it. folder: shared by all who are to take turns; by default that for temporary files.
    Raises MixedschedError if its file cannot be opened there.
    """
    path = (folder or Path(tempfile.gettempdir())) / "mixedsched-browser.lock"
    try:
        file = _opened(path)
    except OSError as error:
        raise MixedschedError(
            f"{path} cannot be opened",
            why=error.strerror or str(error),
            fix="remove what is there: by this file, programs that load pages take turns",
        ) from error
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
        return os.open(path, _AS_IT_IS)
    file = os.open(path, _AS_IT_IS | os.O_CREAT, 0o644)
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
