"""Schedulers and the schemes made of them, one policy a file. Every module here that defines SCHEMES is found by itself."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping

from mixedsched.model.scheme import SERVERS, Scheme, by_name

__all__ = ["COMPARED", "SCHEMES", "SERVER_SCHEMES", "schemes"]


def _defined() -> Iterator[Scheme]:
    for module in sorted(item.name for item in pkgutil.iter_modules(__path__)):
        if not module.startswith("_"):
            yield from importlib.import_module(f"{__name__}.{module}").SCHEMES


SCHEMES: Mapping[str, Scheme] = by_name(_defined())
"""All schemes by name."""
SERVER_SCHEMES: tuple[str, ...] = tuple(name for name, scheme in SCHEMES.items() if scheme.group == SERVERS)
"""Models of what other people's servers do."""
COMPARED: tuple[str, ...] = tuple(name for name in SCHEMES if name not in SERVER_SCHEMES)
"""What the word `all` stands for: orders that one may choose, not those that somebody's server happens to have."""


def schemes() -> list[Scheme]:
    """All delivery schemes, by name, with description, source and parameters."""
    return list(SCHEMES.values())
