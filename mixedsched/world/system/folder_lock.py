"""One process at a time fills a folder; the others wait."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """The lock as a descriptor. It ends with the processes that hold it, however they end. A child inherits it if its work must
    not meet another process's even after this process is killed.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)
