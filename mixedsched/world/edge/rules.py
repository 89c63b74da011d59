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
_LINE = re.compile(r"(?P<match>\S+)\s+(?:priority:\s*)?(?P<value>\S.*?)\s*", re.IGNORECASE)


class Rules:
    """Patterns, each with the value of `priority` that its responses get."""

    def __init__(self, rules: Sequence[tuple[str, str]] = ()) -> None:
        self.rules = tuple(rules)
        patterns = [(_pattern(match), value.encode("ascii")) for match, value in rules]

        @lru_cache(_REMEMBERED)
        def find(path: str) -> bytes | None:
            bare = path.partition("?")[0]
            return next(
                (value for pattern, value in patterns if pattern.fullmatch(path) or pattern.fullmatch(bare)), None
            )

        self._find = find

    def value_for(self, path: str) -> bytes | None:
        """The value for a request's path, with its query; None if no line fits."""
        return self._find(path) if self.rules else None


def _pattern(match: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, match.split("*"))), re.DOTALL)


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
