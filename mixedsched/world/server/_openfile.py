"""Regular files, opened without following links, and read from while responses need them.

Files may change, shrink or vanish at any time. Nothing is mapped into memory, since a mapped file that shrinks kills the
process. A response whose file changes is aborted, because its length and tag were already sent.
"""

import errno
import os
import stat
from pathlib import Path

from mixedsched.core.h3.response import BodyLostError

CHUNK_BYTES = 16 * 1024  # read ahead in each response from a large file; more would add up with thousands of them

Identity = tuple[int, int, int, int, int]
"""(device, inode, size, modified, changed), times in ns: a change means that the file may hold something else."""


def open_regular(file: Path) -> int:
    """Open a regular file for reading without following a symbolic link anywhere on its way. Returns a descriptor.

    O_NOFOLLOW alone heeds the last component only, so each folder is opened within the one before. FIFOs and devices are
    refused without being opened, or waited for. Raises OSError.
    """
    if not file.is_absolute():
        raise OSError(errno.EINVAL, "the path is not absolute")
    way = os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_RDONLY)
    folder = os.open(file.anchor, way)
    try:
        for name in file.parts[1:-1]:
            inner = os.open(name, way, dir_fd=folder)
            os.close(folder)
            folder = inner
        _require_regular(os.stat(file.name, dir_fd=folder, follow_symlinks=False))
        descriptor = os.open(file.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        _require_regular(os.fstat(descriptor))  # it may have been exchanged between the two
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


class OpenFile:
    """A large file that one or more responses read from; closed when the last of them is over."""

    def __init__(self, descriptor: int, opened: os.stat_result) -> None:
        self.identity = identity_of(opened)
        self.size_bytes = opened.st_size
        self._version = _version_of(opened)
        self._descriptor = descriptor
        self._users = 1

    @property
    def is_closed(self) -> bool:
        return self._descriptor < 0

    def retain(self) -> None:
        self._users += 1

    def release(self) -> None:
        self._users -= 1
        if self._users == 0:
            self._close()

    def read(self, offset: int, size_bytes: int) -> bytes:
        """Exactly these bytes. Raises BodyLostError if the file has changed since it was opened."""
        try:
            data = os.pread(self._descriptor, size_bytes, offset)
            while len(data) < size_bytes and (
                more := os.pread(self._descriptor, size_bytes - len(data), offset + len(data))
            ):
                data += more
            version = _version_of(os.fstat(self._descriptor))
        except OSError as error:
            raise BodyLostError(error.strerror or str(error)) from error
        if len(data) < size_bytes or version != self._version:
            raise BodyLostError("the file has changed while it was sent")
        return data

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self._close()  # for responses that were dropped with their connection


class FileBody:
    """Part of a large file, read as it leaves."""

    def __init__(self, file: OpenFile, start: int, stop: int) -> None:
        file.retain()
        self._file: OpenFile | None = file
        self._offset = start  # of the next byte to read from the file
        self._chunk = b""
        self._used_bytes = 0  # of the chunk
        self._stop = stop
        self.size_bytes = stop - start

    @property
    def remaining_bytes(self) -> int:
        return self._stop - self._offset + len(self._chunk) - self._used_bytes

    def read(self, size_bytes: int) -> bytes:
        """See Body. Raises BodyLostError if the file has changed, or the body is closed."""
        wanted_bytes = min(size_bytes, self.remaining_bytes)
        piece = self._chunk[self._used_bytes : self._used_bytes + wanted_bytes]
        self._used_bytes += len(piece)
        missing_bytes = wanted_bytes - len(piece)
        if missing_bytes:
            if self._file is None:
                raise BodyLostError("the response is over")
            self._chunk = self._file.read(self._offset, min(max(missing_bytes, CHUNK_BYTES), self._stop - self._offset))
            self._offset += len(self._chunk)
            self._used_bytes = missing_bytes
            piece += self._chunk[:missing_bytes]
        return piece

    def close(self) -> None:
        if self._file is not None:
            self._file.release()
            self._file, self._chunk, self._used_bytes = None, b"", 0


def identity_of(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _version_of(status: os.stat_result) -> tuple[int, int]:
    """Changes when an open file is written to; its other times also change when it is only renamed or unlinked."""
    return status.st_size, status.st_mtime_ns


def _require_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EACCES, "that is not a regular file")
