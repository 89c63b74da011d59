"""Patterns of request paths that every server can be told (a path, or a path with one `*`), and few rules for many paths. Pure.

Paths are compared as they are asked for, without their query, in one spelling (`canonical`): what could have been written
plainly is, everything else is percent-encoded. So a pattern is printable ASCII without white space, quotes, backslashes
or `#`, and `*` in it is never a part of a path.

`rules_for` is greedy: in each round, the pattern with the most paths per rule it costs wins; of equals the one with fewer
rules, then the narrower one. A pattern costs one rule, and one more for every path below it that should get another value:
those get exact rules in front of it, as the first rule that fits counts.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PLAIN = _UNRESERVED | frozenset(b"/!$&'()+,;=:@")  # RFC 3986 pchar, but for * (ours) and %
_SLASH, _PERCENT = 0x2F, 0x25
_OCTET = re.compile(rb"%([0-9A-Fa-f]{2})|(.)", re.DOTALL)

# The part of a name that changes with its contents, between two separators: eight or more hexadecimal digits, or the eight or
# more letters and digits, some of both, that bundlers of today write.
_HASH = re.compile(r"(?<=[-._])(?:[0-9a-f]{8,64}|(?=[A-Za-z_]*[0-9])(?=[0-9_]*[A-Za-z])[A-Za-z0-9_]{8,24})(?=[-._])")
_DOCUMENT_ENDINGS = frozenset({"html", "htm", "xhtml", "php", "asp", "aspx", "jsp", "cgi"})


@dataclass(frozen=True, slots=True)
class Octet:
    """One byte of a path."""

    value: int
    is_encoded: bool  # written as %XX in the canonical spelling

    @property
    def may_be_plain(self) -> bool:
        """Whether clients may send it as it is: printable ASCII. A plain slash or percent sign would mean something else."""
        is_other = self.is_encoded and self.value in {_SLASH, _PERCENT}
        return 0x21 <= self.value <= 0x7E and not is_other

    @property
    def may_be_encoded(self) -> bool:
        """Whether clients may send it as %XX: what is not unreserved, but for the slashes between the parts of a path."""
        return self.value not in _UNRESERVED and (self.is_encoded or self.value != _SLASH)


def octets(text: str) -> Iterator[Octet]:
    """The bytes of a path or of a piece of a pattern. Non-ASCII counts as UTF-8; a % that encodes nothing counts as itself."""
    for match in _OCTET.finditer(text.encode("utf-8", "surrogatepass")):
        is_escape = match[1] is not None
        value = int(match[1], 16) if is_escape else match[2][0]
        is_plain = value in _PLAIN and not (is_escape and value == _SLASH)
        yield Octet(value, not is_plain)


@lru_cache(maxsize=10_000)
def canonical(path: str) -> str:
    """The one spelling of a request path; query and fragment are left out."""
    bare = path.partition("#")[0].partition("?")[0]
    return "".join(f"%{item.value:02X}" if item.is_encoded else chr(item.value) for item in octets(bare))


def pieces(match: str) -> tuple[str, ...]:
    """The parts before and behind the `*` of a pattern; one piece if there is none. Raises ValueError for several."""
    parts = tuple(match.split("*"))
    if len(parts) > 2:
        raise ValueError(f"a pattern has one * at most: {match!r}")
    return parts


def fits(match: str, path: str) -> bool:
    """Whether a pattern matches a request path, in any spelling, with or without its query."""
    return fits_canonical(match, canonical(path))


def fits_canonical(match: str, path: str) -> bool:
    """As `fits`, for a path in canonical spelling."""
    head, *tails = pieces(match)
    if not tails:
        return path == head
    return len(path) >= len(head) + len(tails[0]) and path.startswith(head) and path.endswith(tails[0])


@dataclass(frozen=True, slots=True)
class Wish:
    """The header that one path of the page's own host should get."""

    path: str  # canonical
    value: str | None  # of the header; None: it must get none
    is_needed: bool  # the value differs from what the browser signals
    is_document: bool = False  # patterns with * must not touch it


@dataclass(frozen=True, slots=True)
class Pattern:
    """A rule without its reasons."""

    match: str
    value: str


def rules_for(wishes: Sequence[Wish]) -> tuple[Pattern, ...]:
    """Rules by which every path gets what it should: the wanted value where one is needed, else that or nothing.

    A rule touches no path of another wanted value, and a pattern with `*` never a document. Paths that need no header may be
    touched where it says what the browser signals anyway. wishes: one for each path.
    """
    reach = {match: _bits(fits_canonical(match, item.path) for item in wishes) for match in _patterns(wishes)}
    needed = _bits(item.is_needed for item in wishes)
    values = dict.fromkeys(item.value for item in wishes)
    by_value = {value: _bits(item.value == value for item in wishes) for value in values}
    ruled = 0
    rules: list[Pattern] = []
    while needed & ~ruled:
        options = (_option(match, reached & ~ruled, needed, by_value) for match, reached in reach.items())
        best = min(option for option in options if option is not None)
        others = best.reached & ~by_value[best.value]
        exact = [item for place, item in enumerate(wishes) if others >> place & 1]
        rules += [Pattern(item.path, item.value) for item in exact if item.value is not None]
        rules.append(Pattern(best.match, best.value))
        ruled |= best.reached
    return _lasting(rules, wishes)


def value_of(rules: Iterable[Pattern], path: str) -> str | None:
    """The value that the rules give to a path in canonical spelling."""
    return next((item.value for item in rules if fits_canonical(item.match, path)), None)


class _Option(NamedTuple):
    """A pattern that could come next; the least one is taken."""

    paths_per_rule_negative: float
    cost: int
    has_star: bool
    length_negative: int
    match: str
    value: str
    reached: int  # paths without a rule so far, as bits by their place


def _option(match: str, reached: int, needed: int, by_value: Mapping[str | None, int]) -> _Option | None:
    """The pattern with the value that most of what it reaches needs; None if it cannot be used now. Sets are bits."""
    needed &= reached
    if not needed:
        return None
    value = max(filter(None, by_value), key=lambda item: ((needed & by_value[item]).bit_count(), item))
    others = reached & ~by_value[value]
    if others & by_value.get(None, 0):
        return None
    cost = 1 + others.bit_count()
    return _Option(-needed.bit_count() / cost, cost, "*" in match, -len(match), match, value, reached)


def _bits(members: Iterable[bool]) -> int:
    return sum(1 << place for place, is_member in enumerate(members) if is_member)


def _patterns(wishes: Sequence[Wish]) -> list[str]:
    """All patterns worth a look, in a fixed order: the paths themselves, and with * what several paths have in common."""
    documents = [item.path for item in wishes if item.is_document]
    exact = dict.fromkeys(item.path for item in wishes if item.is_needed)
    counts: dict[str, int] = {}
    for item in wishes:
        if item.is_needed and not item.is_document:
            for match in dict.fromkeys(_with_star(item.path)):
                counts[match] = counts.get(match, 0) + 1
    shared = [match for match, count in counts.items() if count > 1]
    return [*exact, *(match for match in shared if not any(fits_canonical(match, path) for path in documents))]


def _with_star(path: str) -> Iterator[str]:
    """Patterns that match this path and others like it: folders, endings, numbered names, parts of names."""
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
    """The rules without hashes in names of files, which the next build would change, where that touches no other path."""
    lasting = list(rules)
    for index, rule in enumerate(rules):
        match = _without_hash(rule.match)
        reached = [item for item in wishes if fits_canonical(match, item.path)] if match != rule.match else []
        if not reached or any(item.is_document for item in reached):
            continue
        tried = [*lasting[:index], Pattern(match, rule.value), *lasting[index + 1 :]]
        if all(value_of(tried, item.path) == value_of(lasting, item.path) for item in reached):
            lasting = tried
    return tuple(lasting)


def _without_hash(match: str) -> str:
    folder, slash, name = match.rpartition("/")
    found = list(_HASH.finditer(name))
    if "*" in match or not found:
        return match
    return f"{folder}{slash}{name[: found[-1].start()]}*{name[found[-1].end() :]}"
