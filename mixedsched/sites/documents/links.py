"""The links of a `link` header field (RFC 8288), as they are written."""

import re
from collections.abc import Callable

_LINK = re.compile(r"""<([^<>]*)>((?:[^,"]|"[^"]*")*)""")
_RELATION = re.compile(r""";\s*rel\s*=\s*("[^"]*"|[^\s;,"]+)""", re.IGNORECASE)
_INTEGRITY = re.compile(r""";\s*integrity\s*=\s*("[^"]*"|[^\s;,"]+)""", re.IGNORECASE)


def links_in(value: str) -> list[str]:
    """Each link of a field."""
    return [found[0].strip() for found in _LINK.finditer(value)]


def target_of(link: str) -> str:
    """The address that a link names, as it is written."""
    return link[1 : link.index(">")].strip()


def relations_of(link: str) -> set[str]:
    """What it is for (`rel`), in lower case."""
    found = _RELATION.search(link)
    return set(found[1].strip('"').lower().split()) if found else set()


def with_links(value: str, answer: Callable[[str], str], is_stale: Callable[[str], bool]) -> str:
    """A field with other addresses in its links, and without promises (`integrity`) of contents that were rewritten.

    answer: what stands for an address. is_stale: whether what is at an address, as written, was rewritten.
    """

    def rewritten(found: re.Match[str]) -> str:
        target = found[1].strip()
        return f"<{answer(target)}>{_INTEGRITY.sub('', found[2]) if is_stale(target) else found[2]}"

    return _LINK.sub(rewritten, value)
