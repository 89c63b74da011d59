"""Matches requests with the answers of a recording: method, host and path must be as recorded, the query as near as possible.

Source: the replay of Sander et al. 2022, after Mahimahi. Unlike there, an exact match of the whole address comes first, and a
path may be in another percent-encoding.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from mixedsched.world.server.site import RecordedAnswer, SiteEntry

COMPARED_CHARACTERS = 4096  # of a query; the rest is ignored
_OK = 200
_LAST_CHARACTER = chr(0x10FFFF)


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
