"""Contents of files as the server sends them: small ones cached, large ones read as they leave, decoded for who needs that."""

import errno
import hashlib
import os
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from mixedsched.core.h3.response import Body, BodyLostError, BytesBody, close_body
from mixedsched.model.codings import UndecodableError, decode
from mixedsched.world.server._openfile import FileBody, Identity, OpenFile, identity_of, open_regular

CACHE_FILE_BYTES = 256 * 1024  # files up to this size are cached
CACHE_TOTAL_BYTES = 32 * 1024 * 1024  # in all; the least recently used are dropped
DECODED_BYTES = 8 * 1024 * 1024  # larger files are only sent as they are stored
HASHED_BYTES = 8 * 1024 * 1024  # larger files have a tag made from their dates: hashing would delay all others
MAX_OPEN_FILES = 512  # large files that are being sent, each counted once
_TAG_DIGITS = 32


@dataclass(frozen=True, slots=True)
class StoredContent:
    """One state of a representation. Close it when no more bodies will be made of it; those already made stay usable."""

    source: bytes | OpenFile  # a small file or a decoded one, and a large file
    etag: str  # strong, with its quotes
    modified_s: int  # seconds since 1970

    @property
    def size_bytes(self) -> int:
        return len(self.source) if isinstance(self.source, bytes) else self.source.size_bytes

    def body(self, start: int, stop: int) -> Body:
        """Its bytes from start up to, not including, stop."""
        if isinstance(self.source, bytes):
            return BytesBody(memoryview(self.source)[start:stop])
        return FileBody(self.source, start, stop)

    def close(self) -> None:
        if not isinstance(self.source, bytes):
            self.source.release()


class ContentCache:
    """Opens files for responses, and caches what it can within its bounds."""

    def __init__(self) -> None:
        self._cache: OrderedDict[tuple[Path, bool], tuple[Identity, StoredContent]] = OrderedDict()
        self._cached_bytes = 0
        self._open: dict[Path, OpenFile] = {}
        self._etags: dict[Path, tuple[Identity, str]] = {}  # of large files
        self._undecodable: dict[Path, Identity] = {}  # so that each is tried once

    def of(self, file: Path) -> StoredContent:
        """The content of a file as it is now.

        file: absolute, and free of symbolic links; a link put there since is not followed. Raises OSError if it is not a
        regular file, is gone or unreadable, or (EMFILE, ENFILE) if too many are open.
        """
        identity = identity_of(file.lstat())
        cached = self._recall(file, identity, decoded=False)
        if cached is not None:
            return cached
        opened = self._open.get(file)
        if opened is not None and not opened.is_closed and opened.identity == identity:
            opened.retain()
            return self._large(file, opened)
        descriptor = open_regular(file)
        status = os.fstat(descriptor)
        if status.st_size > CACHE_FILE_BYTES:
            return self._large(file, self._opened(file, descriptor, status))
        try:
            data = _read_all(descriptor, CACHE_FILE_BYTES + 1)
        finally:
            os.close(descriptor)
        content = StoredContent(data, _tag_of(data), int(status.st_mtime))
        if len(data) == status.st_size:  # else it is being written this moment
            self._remember(file, identity_of(status), content, decoded=False)
        return content

    def decoded(self, file: Path, coding: str) -> StoredContent:
        """The decoded content of an encoded file. Raises UndecodableError, and OSError as `of` does."""
        identity = identity_of(file.lstat())
        cached = self._recall(file, identity, decoded=True)
        if cached is not None:
            return cached
        if self._undecodable.get(file) == identity:
            raise UndecodableError("it could not be decoded before")
        content = self.of(file)
        try:
            data = _decoded(content, coding)
        except UndecodableError:
            self._undecodable[file] = identity
            raise
        finally:
            content.close()
        made = StoredContent(data, _tag_of(data), content.modified_s)
        self._remember(file, identity, made, decoded=True)
        return made

    def _opened(self, file: Path, descriptor: int, status: os.stat_result) -> OpenFile:
        """Keep an open file for all responses that want it meanwhile."""
        if len(self._open) >= MAX_OPEN_FILES:
            self._open = {path: opened for path, opened in self._open.items() if not opened.is_closed}
        if len(self._open) >= MAX_OPEN_FILES:
            os.close(descriptor)
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        self._open[file] = opened = OpenFile(descriptor, status)
        return opened

    def _large(self, file: Path, opened: OpenFile) -> StoredContent:
        """The content of an open file, with a tag made once per state. Takes over the caller's hold on it."""
        identity, etag = self._etags.get(file, (None, ""))
        if identity != opened.identity:
            try:
                etag = _tag_of_file(opened)
            except BodyLostError as error:
                opened.release()
                raise OSError(errno.EIO, str(error)) from error
            self._etags[file] = opened.identity, etag
        return StoredContent(opened, etag, opened.identity[3] // 1_000_000_000)

    def _recall(self, file: Path, identity: Identity, *, decoded: bool) -> StoredContent | None:
        known, content = self._cache.get((file, decoded), (None, None))
        if content is None:
            return None
        if known != identity:
            del self._cache[file, decoded]
            self._cached_bytes -= content.size_bytes
            return None
        self._cache.move_to_end((file, decoded))
        return content

    def _remember(self, file: Path, identity: Identity, content: StoredContent, *, decoded: bool) -> None:
        self._cache[file, decoded] = identity, content
        self._cached_bytes += content.size_bytes
        while self._cached_bytes > CACHE_TOTAL_BYTES:
            _key, (_identity, oldest) = self._cache.popitem(last=False)
            self._cached_bytes -= oldest.size_bytes


def _decoded(content: StoredContent, coding: str) -> bytes:
    if content.size_bytes > DECODED_BYTES:
        raise UndecodableError("it is too large")
    body = content.body(0, content.size_bytes)
    try:
        return decode(body.read(content.size_bytes), coding, DECODED_BYTES)
    except BodyLostError as error:
        raise UndecodableError(str(error)) from error
    finally:
        close_body(body)


def _read_all(descriptor: int, limit_bytes: int) -> bytes:
    data = b""
    while len(data) < limit_bytes and (more := os.read(descriptor, limit_bytes - len(data))):
        data += more
    return data


def _tag_of(data: bytes) -> str:
    return f'"{hashlib.sha256(data).hexdigest()[:_TAG_DIGITS]}"'


def _tag_of_file(file: OpenFile) -> str:
    """A strong tag: from the content of a small file, and from what changes with it of a large one."""
    if file.size_bytes > HASHED_BYTES:
        return _tag_of(repr(file.identity).encode())
    digest = hashlib.sha256()
    for offset in range(0, file.size_bytes, CACHE_FILE_BYTES):
        digest.update(file.read(offset, min(CACHE_FILE_BYTES, file.size_bytes - offset)))
    return f'"{digest.hexdigest()[:_TAG_DIGITS]}"'
