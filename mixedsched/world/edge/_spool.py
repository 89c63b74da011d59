"""What an origin sends faster than its client reads, in a file, so that the origin is free for others."""

import os
import tempfile
from pathlib import Path

from mixedsched.world.edge._budget import Budget


class Spool:
    """Bytes of one response, first in first out, in a file without a name: it is gone with this process, however that ends.

    folder: for the file, which is made when it is first needed. limit_bytes: of its size, budget: of that of all files; those
    who write are to ask whether it is full.
    """

    def __init__(self, folder: Path, limit_bytes: int, budget: Budget) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._budget = budget
        self._descriptor = -1
        self._written_bytes = 0
        self._read_bytes = 0

    @property
    def size_bytes(self) -> int:
        """Bytes that were written and not read."""
        return self._written_bytes - self._read_bytes

    @property
    def is_full(self) -> bool:
        return self._written_bytes >= self._limit_bytes or self._budget.is_spent

    def write(self, data: bytes) -> None:
        """Raises OSError if the disk is full."""
        if self._descriptor < 0:
            self._descriptor, name = tempfile.mkstemp(prefix="mixedsched-edge-", dir=self._folder)
            Path(name).unlink()
        view = memoryview(data)
        while view:
            count = os.pwrite(self._descriptor, view, self._written_bytes)
            self._written_bytes += count
            self._budget.add(count)
            view = view[count:]

    def read(self, size_bytes: int) -> bytes:
        """The next bytes, at most as many. When all is read, the file is empty again."""
        data = os.pread(self._descriptor, min(size_bytes, self.size_bytes), self._read_bytes)
        self._read_bytes += len(data)
        if not self.size_bytes:
            os.ftruncate(self._descriptor, 0)
            self._empty()
        return data

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
        self._empty()

    def _empty(self) -> None:
        self._budget.release(self._written_bytes)
        self._written_bytes = self._read_bytes = 0
