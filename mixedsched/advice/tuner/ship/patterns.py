"""Patterns of request paths that every server can be told: a path, or a path with one `*`. Pure.

Paths are compared as they are asked for, without their query, in one spelling (`canonical`): what could have been written
plainly is, everything else is percent-encoded. So a pattern is printable ASCII without white space, quotes, backslashes
or `#`, and `*` in it is never a part of a path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PLAIN = _UNRESERVED | frozenset(b"/!$&'()+,;=:@")  # RFC 3986 pchar, but for * (ours) and %
_SLASH, _PERCENT = 0x2F, 0x25
_OCTET = re.compile(rb"%([0-9A-Fa-f]{2})|(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Octet:
    """One byte of a path. is_encoded: whether it is written as %XX in the canonical spelling."""

    value: int
    is_encoded: bool

    @property
    def is_unreserved(self) -> bool:
        """Whether all clients write it plainly."""
        return self.value in _UNRESERVED

    @property
    def may_be_plain(self) -> bool:
        """Whether clients may send it as it is: printable ASCII. An encoded slash or percent sign means something else then."""
        is_other = self.is_encoded and self.value in {_SLASH, _PERCENT}
        return 0x21 <= self.value <= 0x7E and not is_other

    @property
    def may_be_encoded(self) -> bool:
        """Whether clients may send it as %XX: what is not unreserved, but for the slashes between the parts of a path."""
        return not self.is_unreserved and (self.is_encoded or self.value != _SLASH)


def octets(text: str) -> Iterator[Octet]:
    """The bytes of a path, or of a piece of a pattern. What is no ASCII counts as UTF-8; a % that encodes nothing as itself."""
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
    """What stands before and behind the `*` of a pattern; one piece if there is none. Raises ValueError for several."""
    parts = tuple(match.split("*"))
    if len(parts) > 2:
        raise ValueError(f"a pattern has one * at most: {match!r}")
    return parts


def fits(match: str, path: str) -> bool:
    """Whether a request for this path is meant. path: in any spelling, with or without its query."""
    return fits_canonical(match, canonical(path))


def fits_canonical(match: str, path: str) -> bool:
    """As fits, for a path in canonical spelling."""
    head, *tails = pieces(match)
    if not tails:
        return path == head
    return len(path) >= len(head) + len(tails[0]) and path.startswith(head) and path.endswith(tails[0])
