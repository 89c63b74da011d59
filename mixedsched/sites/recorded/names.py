"""File names for recorded addresses: readable, and of such a form that no file can come to lie outside the site's folder.

A name is made of the letters, digits, `-`, `_`, `.` and `~` of ASCII only, has no segment that begins with a dot, and differs
from every other name by more than case, so that it also holds on file systems that do not tell `A` from `a`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from urllib.parse import unquote

_SEGMENT_CHARACTERS = 60
_SEGMENTS = 8  # deeper paths become flat
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}$")
_HASH_DIGITS = 8
# Devices, on some systems, whatever their suffix.
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)", re.IGNORECASE)


class FileNames:
    """Gives each address a file name, relative to the site's root, that no other address has."""

    def __init__(self) -> None:
        self._files: set[str] = set()  # in lower case
        self._folders: set[str] = set()

    def name(self, host: str, path: str, suffix: str = "") -> str:
        """A name for a path with its query on a host. suffix: what a name that has none gets, such as ".html"."""
        bare, mark, query = path.partition("?")
        folders, base = _segments(host, bare)
        if not _SUFFIX.search(base):
            base += suffix
        if mark:
            base = _marked(base, query)
        name = next(name for name in _candidates(folders, base, f"{host} {path}") if not self._is_taken(name))
        self._files.add(name.lower())
        self._folders.update(_parents(name))
        return name

    def _is_taken(self, name: str) -> bool:
        lower = name.lower()
        return lower in self._files or lower in self._folders or bool(self._files & _parents(name))


def _candidates(folders: list[str], base: str, address: str) -> Iterator[str]:
    """Names to try, the most readable first, without end."""
    yield "/".join([*folders, base])
    yield "/".join([*folders, _marked(base, address)])
    number = 1
    while True:  # one of the folders is a file, or a hash has met its like
        yield f"{folders[0]}/{_marked(base, f'{number} {address}')}"
        number += 1


def _segments(host: str, bare: str) -> tuple[list[str], str]:
    """Safe names of the folders and of the file. bare: a path without its query."""
    raw = bare.lstrip("/").split("/")
    names = [_safe(segment) for segment in raw[:-1] if segment]
    base = _safe(raw[-1]) if raw[-1] else "index.html"
    if len(names) > _SEGMENTS:
        names = [*names[: _SEGMENTS - 1], _hash("/".join(raw[:-1]))]
    return [_safe(host), *names], base


def _safe(segment: str) -> str:
    """A segment with nothing in it that a file system could take for something else."""
    text = _UNSAFE.sub("_", unquote(segment)).lstrip(".").rstrip(".")
    if not text or _DEVICES.match(text):
        text = f"_{text}"
    if len(text) > _SEGMENT_CHARACTERS:
        found = _SUFFIX.search(text)
        suffix = found[0] if found else ""
        text = f"{text[: _SEGMENT_CHARACTERS - len(suffix) - _HASH_DIGITS - 1]}~{_hash(segment)}{suffix}"
    return text


def _marked(base: str, text: str) -> str:
    """A file name with a hash of `text` before its suffix: "style.css" -> "style~1f3870be.css"."""
    found = _SUFFIX.search(base)
    stem, suffix = (base[: found.start()], found[0]) if found else (base, "")
    return f"{stem}~{_hash(text)}{suffix}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]


def _parents(name: str) -> set[str]:
    """All folders on the way to a file, in lower case."""
    parts = name.lower().split("/")[:-1]
    return {"/".join(parts[: count + 1]) for count in range(len(parts))}
