"""Mapping tables: (Chromium priority, kind) -> (urgency, incremental). `mapping_file` reads them."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase, translate

from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Kind, Request

Cell = tuple[ChromiumPriority, Kind]

MAX_ANSWERS = 4096  # remembered of requests that were looked for among overrides
MAX_ANSWER_CHARACTERS = 512  # of such a path: clients choose them


@dataclass(frozen=True, slots=True)
class Switch:
    """A cell (or several) on which sources disagree."""

    name: str
    description: str
    default: str
    values: tuple[str, ...]
    """The names to choose from."""


@dataclass(frozen=True, slots=True)
class Override:
    """Resources that a mapping places by their path instead of their cell."""

    match: str
    """Pattern (* ? []) of request paths as they are listed, with or without their query."""
    priority: Priority
    why: str = ""
    """Its reason, for people."""

    def fits(self, path: str) -> bool:
        """Whether it applies to a request for this path (with query)."""
        return fnmatchcase(path, self.match) or fnmatchcase(path.partition("?")[0], self.match)


class _OverrideFinder:
    """Finds the first override that fits a path, as Override.fits says, without trying all of them.

    They are looked up by their text before the first wildcard. Patterns are compiled here: the module that does it for fits
    remembers fewer of them than people may write. Answers are remembered, as the same paths are asked for again and again.
    """

    __slots__ = ("_answers", "_by_head", "_head_lengths")

    def __init__(self, overrides: Sequence[Override]) -> None:
        self._by_head: dict[str, list[tuple[int, re.Pattern[str]]]] = {}
        for place, item in enumerate(overrides):
            head = _HEAD.match(item.match)
            assert head is not None, "an empty head is one too"
            self._by_head.setdefault(head[0], []).append((place, re.compile(translate(item.match))))
        self._head_lengths = sorted({len(head) for head in self._by_head})
        self._answers: dict[str, int | None] = {}

    def first(self, path: str) -> int | None:
        """Its place."""
        if len(path) > MAX_ANSWER_CHARACTERS:
            return self._find(path)
        if path not in self._answers:
            if len(self._answers) >= MAX_ANSWERS:  # strangers may ask for anything
                self._answers.clear()
            self._answers[path] = self._find(path)
        return self._answers[path]

    def _find(self, path: str) -> int | None:
        bare = path.partition("?")[0]
        names = (path,) if bare == path else (path, bare)
        return min((place for name in names for place in self._fitting(name)), default=None)

    def _fitting(self, name: str) -> Iterator[int]:
        """The first of each head that fits."""
        for length in self._head_lengths:
            for place, pattern in self._by_head.get(name[:length], ()):
                if pattern.match(name):
                    yield place
                    break


_HEAD = re.compile(r"[^*?[]*")


@dataclass(frozen=True, slots=True)
class PriorityMapping:
    """A complete table, or None for `cells` if the client's signal is used unchanged."""

    name: str
    description: str
    source: str
    cells: Mapping[Cell, Priority] | None
    switches: tuple[Switch, ...] = ()
    chosen: Mapping[str, str] = field(default_factory=dict)
    """The value of every switch with which the table was built."""
    overrides: tuple[Override, ...] = ()
    """Checked before the table; the first that matches counts."""
    _finder: _OverrideFinder | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_finder", _OverrideFinder(self.overrides) if self.overrides else None)

    @property
    def digest(self) -> str:
        """A fingerprint of what the mapping does, whatever it is called."""
        facts: object = sorted(self.cells.items()) if self.cells is not None else "as sent"
        if self.overrides:
            facts = (facts, [(item.match, item.priority) for item in self.overrides])
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]

    def priority_for(self, request: Request) -> Priority:
        """The EPS priority that this mapping gives to a request."""
        if self._finder is not None:
            place = self._finder.first(request.path)
            if place is not None:
                return self.overrides[place].priority
        if self.cells is None:
            return request.signal
        return self.cells[request.chromium_priority, request.kind]
