"""A temporary folder for what a probe has received; what a killed owner left goes when the next one is made.

Its owner holds a lock on it, which goes with the owner however that ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

ARRIVALS_FILE = "arrivals"
_PREFIX = "mixedsched-probe-"


@contextlib.contextmanager
def probe_folder() -> Iterator[Path]:
    """A folder of this process's own, for ARRIVALS_FILE; it goes with the `with`."""
    _sweep()
    folder, lock = _locked_folder()
    try:
        yield folder
    finally:
        _remove(folder)
        os.close(lock)


def _locked_folder() -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        with contextlib.suppress(FileNotFoundError):  # somebody's sweep was faster than our lock
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _sweep() -> None:
    """Remove folders of this user's that nobody holds."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # it is gone, or held, or no folder
            facts = folder.lstat()
            if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid():
                continue
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(folder)
            finally:
                os.close(lock)


def _remove(folder: Path) -> None:
    """The folder with our file; files of others keep it."""
    with contextlib.suppress(OSError):
        (folder / ARRIVALS_FILE).unlink(missing_ok=True)
        folder.rmdir()
