"""Finds the entry of a site that answers a request: in its list of files or its recording, never in the file system.

In a recording, method, host and path must be as recorded, the query as near as possible. Source: the replay of Sander et al.
2022, after Mahimahi. Unlike there, an exact match of the whole address comes first, and a path may be in another
percent-encoding.
"""

from __future__ import annotations

import ipaddress
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote, unquote_to_bytes

from mixedsched.core.h3.response import RequestHead
from mixedsched.world.server.site import RecordedAnswer, SiteEntry

COMPARED_CHARACTERS = 4096  # of a query; the rest is ignored
_OK = 200
_LAST_CHARACTER = chr(0x10FFFF)
_INDEX = "index.html"
_PATH_SAFE = "/:@!$&'()*+,;=-._~"
_QUERY_SAFE = _PATH_SAFE + "?%[]|^`{}"  # characters that are percent-encoded already stay so


class Replay:
    """The answers of a recording, in the order in which they are listed."""

    def __init__(self, answers: Iterable[RecordedAnswer]) -> None:
        self._exact: dict[tuple[str, ...], _Queries] = {}
        self._spelt: dict[tuple[str, ...], _Queries] = {}
        grouped: dict[tuple[str, ...], list[RecordedAnswer]] = {}
        for answer in answers:
            path = answer.target.partition("?")[0]
            grouped.setdefault((answer.method, answer.host, path, answer.if_none_match or ""), []).append(answer)
        for (method, host, path, tag), group in grouped.items():
            queries = self._exact[method, host, path, tag] = _Queries(group)
            if (spelling := one_spelling(path)) is not None:
                self._spelt.setdefault((method, host, spelling, tag), queries)

    def find(self, method: str, host: str, target: str, if_none_match: str | None) -> SiteEntry | None:
        """The answer to a request, None if there is none. Takes time in proportion to the answers of its path at most.

        target: path and query. if_none_match: the request's field. A 304 recorded for it comes before other answers, unless
        they have more of the query in common.
        """
        path, mark, rest = target.partition("?")
        query = (mark + rest)[:COMPARED_CHARACTERS]
        found = self._best(method, host, path, "", query)
        if if_none_match:
            unchanged = self._best(method, host, path, if_none_match, query)
            if unchanged is not None and (found is None or unchanged.score >= found.score):
                found = unchanged
        return found.answer.entry if found is not None else None

    def _best(self, method: str, host: str, path: str, tag: str, query: str) -> _ReplayMatch | None:
        queries = self._exact.get((method, host, path, tag))
        if queries is None and (spelling := one_spelling(path)) is not None:
            queries = self._spelt.get((method, host, spelling, tag))
        return queries.best(query) if queries is not None else None


@dataclass(frozen=True, slots=True)
class _ReplayMatch:
    """score: how many characters of the query agree, the question mark included; one more for the same query."""

    answer: RecordedAnswer
    score: int


class _Queries:
    """The answers of one path, sorted by query, so that those with most in common with another query are neighbours."""

    def __init__(self, answers: Sequence[RecordedAnswer]) -> None:
        def key(place: int) -> tuple[str, int]:
            return _query_of(answers[place]), place

        self._order = sorted(range(len(answers)), key=key)
        self._answers = answers
        self._queries = [_query_of(answers[place]) for place in self._order]

    def best(self, query: str) -> _ReplayMatch:
        """The answer with the longest common prefix; of several the last one of status 200, else the first one."""
        start, stop = bisect_left(self._queries, query), bisect_right(self._queries, query)
        if start < stop:
            return _ReplayMatch(self._chosen(start, stop), len(query) + 1)
        neighbours = self._queries[max(0, start - 1) : start + 1]
        prefix = query[: max(_shared_characters(query, near) for near in neighbours)]
        start = bisect_left(self._queries, prefix)
        return _ReplayMatch(self._chosen(start, bisect_right(self._queries, prefix + _LAST_CHARACTER)), len(prefix))

    def _chosen(self, start: int, stop: int) -> RecordedAnswer:
        """One of the sorted answers from start up to stop."""
        places = self._order[start:stop]
        good = [place for place in places if self._answers[place].status == _OK]
        return self._answers[max(good) if good else min(places)]


def _shared_characters(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _query_of(answer: RecordedAnswer) -> str:
    _, mark, query = answer.target.partition("?")
    return (mark + query)[:COMPARED_CHARACTERS]


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


@dataclass(frozen=True, slots=True)
class Redirect:
    """A folder's name without its slash leads to the folder. location: a path of the same host."""

    location: str


class Addresses:
    """The paths of one host.

    entries: by path as listed, with query where one matters. They are matched in this order: the target as it is; the path
    without its query; the same path in another percent-encoding; for a folder, its index.html; for a path that is listed with
    queries only, the one with most in common; for a folder's name without the slash at its end, a redirect there.
    """

    def __init__(self, entries: Mapping[str, SiteEntry]) -> None:
        self._listed = dict(entries)
        self._spelt: dict[str, SiteEntry] = {}
        queried: dict[str, list[RecordedAnswer]] = {}
        for target, entry in entries.items():
            path, mark, _ = target.partition("?")
            spelling = one_spelling(path)
            if spelling is not None and mark:
                queried.setdefault(spelling, []).append(RecordedAnswer("GET", "", target, _OK, entry))
            elif spelling is not None:
                self._spelt.setdefault(spelling, entry)
        for spelling, entry in tuple(self._spelt.items()):
            folder, _, name = spelling.rpartition("/")
            if name == _INDEX:
                self._spelt.setdefault(f"{folder}/", entry)
        self._queried = {
            spelling: _Queries(group) for spelling, group in queried.items() if spelling not in self._spelt
        }
        self._folders = {spelling[:-1] for spelling in self._spelt if spelling.endswith("/") and spelling != "/"}

    def find(self, target: str) -> SiteEntry | Redirect | None:
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
        if spelling in self._queried:
            return self._queried[spelling].best((mark + query)[:COMPARED_CHARACTERS]).answer.entry
        # A location that begins with // would name another host.
        if spelling in self._folders and not spelling.startswith("//"):
            sent_query = quote(query.encode("latin-1", "replace"), safe=_QUERY_SAFE)
            return Redirect(quote(f"{spelling}/", safe=_PATH_SAFE) + mark + sent_query)
        return None


class Finder(Protocol):
    """Finds the entry for a request; None if there is none."""

    @property
    def knows_methods(self) -> bool:
        """Whether there may be entries for other methods than GET and HEAD."""

    def find(self, head: RequestHead) -> SiteEntry | Redirect | None: ...


class ListedEntries:
    """Entries as they are listed.

    entries: by host name, then by path, with query where one matters. A host that is not listed is answered as `main_host`.
    """

    knows_methods = False

    def __init__(self, entries: Mapping[str, Mapping[str, SiteEntry]], main_host: str) -> None:
        self._hosts = {host: Addresses(of_host) for host, of_host in entries.items()}
        self._main = self._hosts[main_host]

    def find(self, head: RequestHead) -> SiteEntry | Redirect | None:
        return self._hosts.get(_host_name(head.authority), self._main).find(head.path)


class RecordedEntries:
    """Answers of a recording. Under an IP address or a local name, as when a person looks at it, the main host answers.

    A HEAD gets the answer to a GET.
    """

    knows_methods = True

    def __init__(self, recorded: Sequence[RecordedAnswer], hosts: Sequence[str], main_host: str) -> None:
        self._replay = Replay(recorded)
        self._hosts = frozenset(hosts)
        self._main = main_host

    def find(self, head: RequestHead) -> SiteEntry | None:
        host = _host_name(head.authority)
        if host not in self._hosts and _is_local(host):
            host = self._main
        method = "GET" if head.method == "HEAD" else head.method
        known = head.field(b"if-none-match") if method == "GET" else None
        return self._replay.find(method, host, head.path, known)


def _host_name(authority: str) -> str:
    """The host of an authority, without its port; lower case."""
    name, colon, port = authority.rpartition(":")
    return (name if colon and port.isdecimal() else authority).lower().removesuffix(".")


def _is_local(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
