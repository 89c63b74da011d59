"""From the values that paths should get to few rules with patterns. Pure.

A rule may touch no path of another wanted value, and a pattern with `*` never the page's own documents. Paths that need no
header may be touched where it says what the browser signals anyway.

The rules are found greedily: in each round, the pattern with the most paths per rule it costs wins; of equals the one with
fewer rules, then the narrower one. A pattern costs one rule, and one more for every path below it that should get another
value: those get exact rules in front of it, as the first rule that fits counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from mixedsched.advice.tuner.ship.patterns import fits_canonical

# The part of a name that changes with its contents, between two separators: eight or more hexadecimal digits, or the eight or
# more letters and digits, some of both, that bundlers of today write.
_HASH = re.compile(r"(?<=[-._])(?:[0-9a-f]{8,64}|(?=[A-Za-z_]*[0-9])(?=[0-9_]*[A-Za-z])[A-Za-z0-9_]{8,24})(?=[-._])")
_DOCUMENT_ENDINGS = frozenset({"html", "htm", "xhtml", "php", "asp", "aspx", "jsp", "cgi"})


@dataclass(frozen=True, slots=True)
class Wish:
    """What one path of the page's own host should get. path: canonical. value: of the header; None: must get none.

    is_needed: whether it differs from what the browser signals. is_document: patterns with * must not touch it.
    """

    path: str
    value: str | None
    is_needed: bool
    is_document: bool = False


@dataclass(frozen=True, slots=True)
class Pattern:
    """A rule without its reasons."""

    match: str
    value: str


def rules_for(wishes: Sequence[Wish]) -> tuple[Pattern, ...]:
    """Rules by which every path gets what it should: the wanted value where one is needed, else that or nothing.

    wishes: one for each path.
    """
    reach = {match: _set_of(_reached(match, wishes)) for match in _patterns(wishes)}
    sets = _Sets.of(wishes)
    rules: list[Pattern] = []
    while sets.needed & ~sets.ruled:
        best = min(item for match, reached in reach.items() if (item := sets.option(match, reached)) is not None)
        others = [wishes[index] for index in _members(best.reached & ~sets.by_value[best.value])]
        rules += [
            *(Pattern(item.path, item.value) for item in others if item.value is not None),
            Pattern(best.match, best.value),
        ]
        sets.ruled |= best.reached
    return _lasting(rules, wishes)


def value_of(rules: Iterable[Pattern], path: str) -> str | None:
    """What the rules give to a path in canonical spelling."""
    return next((item.value for item in rules if fits_canonical(item.match, path)), None)


class _Option(NamedTuple):
    """A pattern that could come next; the least is taken. reached: of the paths without a rule, as bits."""

    paths_per_rule_negative: float
    cost: int
    has_star: bool
    length_negative: int
    match: str
    value: str
    reached: int


@dataclass(slots=True)
class _Sets:
    """Sets of wishes as bits, by their places. needed: those that need a rule; unclear: those that must get none; ruled: those
    that a rule fits already."""

    needed: int
    unclear: int
    by_value: dict[str, int]
    ruled: int = 0

    @classmethod
    def of(cls, wishes: Sequence[Wish]) -> Self:
        by_value: dict[str, int] = {}
        for index, item in enumerate(wishes):
            if item.value is not None:
                by_value[item.value] = by_value.get(item.value, 0) | 1 << index
        needed = _set_of(index for index, item in enumerate(wishes) if item.is_needed)
        unclear = _set_of(index for index, item in enumerate(wishes) if item.value is None)
        return cls(needed, unclear, by_value)

    def option(self, match: str, reached: int) -> _Option | None:
        """The pattern with the value that most of what it reaches needs; None if it cannot be used now."""
        reached &= ~self.ruled
        needed = reached & self.needed
        if not needed:
            return None
        value = max(self.by_value, key=lambda item: ((needed & self.by_value[item]).bit_count(), item))
        others = reached & ~self.by_value[value]
        if others & self.unclear:
            return None
        cost = 1 + others.bit_count()
        return _Option(-needed.bit_count() / cost, cost, "*" in match, -len(match), match, value, reached)


def _set_of(indexes: Iterable[int]) -> int:
    return sum(1 << index for index in indexes)


def _members(bits: int) -> Iterator[int]:
    return (index for index in range(bits.bit_length()) if bits >> index & 1)


def _reached(match: str, wishes: Sequence[Wish]) -> Iterator[int]:
    return (index for index, item in enumerate(wishes) if fits_canonical(match, item.path))


def _patterns(wishes: Sequence[Wish]) -> list[str]:
    """All patterns worth a look, in a fixed order: the paths themselves, and with * what several paths have in common."""
    documents = [item.path for item in wishes if item.is_document]
    found: dict[str, None] = {}
    counts: dict[str, int] = {}
    for item in wishes:
        if not item.is_needed:
            continue
        found[item.path] = None
        if item.is_document:
            continue
        for match in dict.fromkeys(_with_star(item.path)):
            counts[match] = counts.get(match, 0) + 1
    for match, count in counts.items():
        if count > 1 and not any(fits_canonical(match, path) for path in documents):
            found[match] = None
    return list(found)


def _with_star(path: str) -> Iterator[str]:
    """Patterns that mean this path and others like it: folders, endings, numbered names, parts of names."""
    folder, _, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    tail = f".{ending}" if dot and stem and ending.lower() not in _DOCUMENT_ENDINGS else ""
    above = folder
    while above:
        yield f"{above}/*"
        if tail:
            yield f"{above}/*{tail}"
        above = above.rpartition("/")[0]
    if not tail:
        return
    yield f"*{tail}"
    if numberless := stem.rstrip("0123456789"):
        yield f"{folder}/{numberless}*{tail}"
    for mark in re.finditer(r"[-_.]", stem):
        yield f"{folder}/{stem[: mark.end()]}*{tail}"
        yield f"{folder}/*{stem[mark.start() :]}{tail}"


def _lasting(rules: Sequence[Pattern], wishes: Sequence[Wish]) -> tuple[Pattern, ...]:
    """The rules without the hashes in names of single files, which the next build would change, wherever that touches no
    other path."""
    lasting = list(rules)
    for index, rule in enumerate(rules):
        match = _without_hash(rule.match)
        if match == rule.match or any(item.is_document and fits_canonical(match, item.path) for item in wishes):
            continue
        tried = [*lasting[:index], Pattern(match, rule.value), *lasting[index + 1 :]]
        if all(value_of(tried, item.path) == value_of(lasting, item.path) for item in wishes):
            lasting = tried
    return tuple(lasting)


def _without_hash(match: str) -> str:
    folder, slash, name = match.rpartition("/")
    found = list(_HASH.finditer(name))
    if "*" in match or not found:
        return match
    return f"{folder}{slash}{name[: found[-1].start()]}*{name[found[-1].end() :]}"
