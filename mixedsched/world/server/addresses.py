"""Looks up the path of a request among those of a host, and never in the file system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import quote, unquote_to_bytes

_INDEX = "index.html"
_PATH_SAFE = "/:@!$&'()*+,;=-._~"
_QUERY_SAFE = _PATH_SAFE + "?%[]|^`{}"  # what is percent-encoded already stays so

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Redirect:
    """A folder's name without its slash leads to the folder. location: a path of the same host."""

    location: str


class Addresses(Generic[Entry]):
    """The paths of one host.

    entries: by path as listed, with query where one matters. They are matched in this order: the target as it is; the path
    without its query; the same path in another percent-encoding; for a folder, its index.html; for a folder's name without
    the slash at its end, a redirect there.
    """

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._listed = dict(entries)
        self._spelt: dict[str, Entry] = {}
        for path, entry in entries.items():
            spelling = one_spelling(path)
            if "?" not in path and spelling is not None:
                self._spelt.setdefault(spelling, entry)
        for spelling, entry in tuple(self._spelt.items()):
            folder, _, name = spelling.rpartition("/")
            if name == _INDEX:
                self._spelt.setdefault(f"{folder}/", entry)
        self._folders = {spelling[:-1] for spelling in self._spelt if spelling.endswith("/") and spelling != "/"}

    def find(self, target: str) -> Entry | Redirect | None:
        """The entry for a request's path and query."""
        path, mark, query = target.partition("?")
        for listed in (target, path):
            if listed in self._listed:
                return self._listed[listed]
        spelling = one_spelling(path)
        if spelling is None:
            return None
        if spelling in self._spelt:
            return self._spelt[spelling]
        # A location that begins with // would name another host.
        if spelling in self._folders and not spelling.startswith("//"):
            sent_query = quote(query.encode("latin-1", "replace"), safe=_QUERY_SAFE)
            return Redirect(quote(f"{spelling}/", safe=_PATH_SAFE) + mark + sent_query)
        return None


def one_spelling(path: str) -> str | None:
    """A path with its percent-encoding undone, so that all its spellings become one.

    path: as received, its bytes as Latin-1. None for a path that no site has: one that does not begin with a slash, or has dot
    segments, bytes that are not UTF-8, or segments that hold a slash, a backslash or NUL.
    """
    if not path.startswith("/"):
        return None
    segments = []
    for segment in path.split("/"):
        try:
            decoded = unquote_to_bytes(segment.encode("latin-1")).decode("utf-8")
        except UnicodeError:
            return None
        if decoded in {".", ".."} or any(sign in decoded for sign in "/\\\0"):
            return None
        segments.append(decoded)
    return "/".join(segments)
