"""Schedulers and their schemes, one policy per file. Every module here that defines SCHEMES is found automatically."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping

from mixedsched.model.scheme import LEARNING, SERVERS, Scheme, by_name

__all__ = ["COMPARED", "LEARNING_SCHEMES", "SCHEMES", "SERVER_SCHEMES", "schemes"]


def _defined() -> Iterator[Scheme]:
    for module in sorted(item.name for item in pkgutil.iter_modules(__path__)):
        if not module.startswith("_"):
            yield from importlib.import_module(f"{__name__}.{module}").SCHEMES


SCHEMES: Mapping[str, Scheme] = by_name(_defined())
"""All schemes by name."""
SERVER_SCHEMES: tuple[str, ...] = tuple(name for name, scheme in SCHEMES.items() if scheme.group == SERVERS)
"""Models of third-party servers."""
LEARNING_SCHEMES: tuple[str, ...] = tuple(name for name, scheme in SCHEMES.items() if scheme.group == LEARNING)
"""Those that find a page's order themselves, from its requests or from visits."""
COMPARED: tuple[str, ...] = tuple(name for name, scheme in SCHEMES.items() if not scheme.group)
"""What `all` means: fixed orders that one can choose, as in the literature."""


def schemes() -> list[Scheme]:
    """All delivery schemes, by name, with description, source and parameters."""
    return list(SCHEMES.values())
