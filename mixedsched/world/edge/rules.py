"""The operator's own priorities, by the path of a request: what `tune` ships as headers.txt, or lines like it.

A line has a pattern of paths (`*` stands for anything) and a value of `priority`; the first line that fits counts. Empty lines
and those that begin with `#` are left out, and so are lines for other hosts, which name them before the path.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from mixedsched.errors import MappingError
from mixedsched.model.priority import PriorityParameters, parse_parameters
from mixedsched.world.catalog import read_text

_MAX_BYTES = 1_000_000
_REMEMBERED = 4096  # answers, as the same paths are asked for again and again
_REMEMBERED_CHARACTERS = 512  # of such a path: clients choose them
_LINE = re.compile(r"(?P<match>\S+)\s+(?:priority:\s*)?(?P<value>\S.*?)\s*", re.IGNORECASE)


class Rules:
    """Patterns, each with the value of `priority` that its responses get."""

    def __init__(self, rules: Sequence[tuple[str, str]] = ()) -> None:
        self.rules = tuple(rules)
        self._patterns = [(match.split("*"), value.encode("ascii")) for match, value in rules]
        self._remembered = lru_cache(_REMEMBERED)(self._find)

    def value_for(self, path: str) -> bytes | None:
        """The value for a request's path, with its query; None if no line fits."""
        if not self.rules:
            return None
        return self._remembered(path) if len(path) <= _REMEMBERED_CHARACTERS else self._find(path)

    def _find(self, path: str) -> bytes | None:
        bare = path.partition("?")[0]
        return next((value for parts, value in self._patterns if _fits(parts, path) or _fits(parts, bare)), None)


def _fits(parts: Sequence[str], path: str) -> bool:
    """Whether a path has all parts of a pattern, with anything in between. Takes time in proportion to its length at most for
    each part, which a regular expression with several `.*` does not."""
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return path == first
    start, stop = len(first), len(path) - len(last)
    if start > stop or not path.startswith(first) or not path.endswith(last):
        return False
    for part in parts[1:-1]:
        found = path.find(part, start, stop)
        if found < 0:
            return False
        start = found + len(part)
    return True


def parse_rules(text: str, origin: str) -> Rules:
    """Read lines. origin: what errors call the text. Raises MappingError."""
    rules: list[tuple[str, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        found = _LINE.fullmatch("\t".join(bare.split("\t")[:2]))  # `tune` adds the files that are meant
        if found is None:
            raise _broken(origin, number, "there is no priority behind the path")
        if not found["match"].startswith(("/", "*")):
            continue  # a file of another host
        value = found["value"]
        parameters = parse_parameters(value.encode()) if value.isascii() else None
        if parameters is None or parameters == PriorityParameters():
            raise _broken(origin, number, f"'{value}' is no priority")
        rules.append((found["match"], value))
    return Rules(rules)


def _broken(origin: str, number: int, why: str) -> MappingError:
    return MappingError(f"{origin}, line {number}: {why}", fix="write a path and a priority, like: /img/*.jpg u=4, i")


def read_rules(path: Path | None) -> Rules:
    """The rules of a file; none without one. Raises MappingError."""
    if path is None:
        return Rules()
    return parse_rules(read_text(path, _MAX_BYTES, f"the rules {path}", MappingError), str(path))
