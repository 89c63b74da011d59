"""Archives that a kernel unpacks as its first file system: cpio in the "newc" form, compressed. Pure.

Format: Documentation/driver-api/early-userspace/buffer-format.rst in Linux's sources. Written here because it is a header of
fourteen numbers, and so neither cpio nor root (for files that belong to root) is needed. The same files give the same bytes.
"""

from __future__ import annotations

import gzip
import stat
from collections.abc import Mapping
from pathlib import PurePosixPath

_MAGIC = "070701"
_END = "TRAILER!!!"


def initramfs(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    """files: path without a leading slash -> (content, permissions such as 0o755). Folders are made as needed."""
    entries = dict.fromkeys(_folders(files), (b"", stat.S_IFDIR | 0o755))
    entries |= {path: (content, stat.S_IFREG | mode) for path, (content, mode) in files.items()}
    packed = [_entry(number, path, *entries[path]) for number, path in enumerate(sorted(entries), start=1)]
    return gzip.compress(b"".join([*packed, _entry(0, _END, b"", 0)]), compresslevel=6, mtime=0)


def _folders(paths: Mapping[str, object]) -> set[str]:
    return {str(folder) for path in paths for folder in PurePosixPath(path).parents if str(folder) != "."}


def _entry(number: int, path: str, content: bytes, mode: int) -> bytes:
    name = path.encode() + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    numbers = (number, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name), 0)
    header = (_MAGIC + "".join(f"{value:08x}" for value in numbers)).encode()
    return _padded(header + name) + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
