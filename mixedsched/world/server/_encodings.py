"""Content codings a client accepts (RFC 9110 section 12.5.3)."""

import re
from collections.abc import Iterable

GZIP = "gzip"
IDENTITY = "identity"
_ALIASES = {"x-gzip": GZIP}
_ITEM = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:[ \t]*;[ \t]*[qQ]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?")


def acceptable(lines: Iterable[bytes], offered: str) -> bool:
    """Whether the client accepts the coding at all. lines: its Accept-Encoding fields; malformed items are ignored.

    Without the field only `identity` counts as accepted: RFC 9110 leaves the choice to the server then, and clients that send
    none, such as a plain curl, do not decode.
    """
    return _quality(_qualities(lines), offered) > 0


def prefers(lines: Iterable[bytes], offered: str) -> bool:
    """Whether the coding is accepted, and no less than identity. identity, when only implied, ranks behind all others."""
    qualities = _qualities(lines)
    quality = _quality(qualities, offered)
    return quality > 0 and quality >= qualities.get(IDENTITY, 0.0)


def _qualities(lines: Iterable[bytes]) -> dict[str, float]:
    qualities: dict[str, float] = {}
    for item in b",".join(lines).decode("latin-1").split(","):
        match = _ITEM.fullmatch(item.strip(" \t"))
        if match:
            name = match[1].lower()
            qualities[_ALIASES.get(name, name)] = float(match[2] or 1)
    return qualities


def _quality(qualities: dict[str, float], coding: str) -> float:
    """0 = not acceptable. identity is acceptable unless it is excluded, by name or by `*;q=0`."""
    implied = 1.0 if coding == IDENTITY else 0.0
    return qualities.get(coding, qualities.get("*", implied))
