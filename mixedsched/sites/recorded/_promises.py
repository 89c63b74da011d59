"""Promises of contents (`integrity`) that are broken where a body is not what it was: browsers would refuse the file."""

import json
import re
from collections.abc import Callable, Set

from mixedsched.sites.site.paths import absolute

# Up to the end of the document where they are not closed, so that no document makes the search slow.
_TAG = re.compile(rb"<(?:script|link)\b[^>]*(?:>|\Z)", re.IGNORECASE)
_SCRIPT_ENDS = re.compile(rb"</script|\Z", re.IGNORECASE)
_INTEGRITY = re.compile(rb"""(?<!\s)\s+integrity\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)
_ADDRESS = re.compile(rb"""\s(?:src|href)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)
_IMPORT_MAP = re.compile(rb"""\stype\s*=\s*["']?importmap\b""", re.IGNORECASE)

IsStale = Callable[[str], bool]  # whether a reference leads to a rewritten body


def without_stale_integrity(document: bytes, base_url: str, changed: Set[str]) -> bytes:
    """An HTML document whose scripts, links and import maps make no promise of contents that were rewritten.

    base_url: to which the document's references are relative. changed: addresses of rewritten bodies.
    """

    def is_stale(reference: str) -> bool:
        return absolute(reference, base_url) in changed

    parts: list[bytes] = []
    at = 0
    for tag in _TAG.finditer(document):
        if tag.start() < at:  # within an import map
            continue
        parts += [document[at : tag.start()], _honest_tag(tag[0], is_stale)]
        at = tag.end()
        if _IMPORT_MAP.search(tag[0]) and (end := _SCRIPT_ENDS.search(document, at)) is not None:
            parts.append(_honest_map(document[at : end.start()], is_stale))
            at = end.start()
    return b"".join([*parts, document[at:]])


def _honest_tag(tag: bytes, is_stale: IsStale) -> bytes:
    found = _ADDRESS.search(tag)
    if found is None or not tag.endswith(b">") or not _INTEGRITY.search(tag):
        return tag
    reference = next(part for part in found.groups() if part is not None).decode("utf-8", "replace")
    return _INTEGRITY.sub(b"", tag) if is_stale(reference.replace("&amp;", "&")) else tag


def _honest_map(text: bytes, is_stale: IsStale) -> bytes:
    """The text of an import map: of its own spelling, if it has nothing to take back."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return text
    promises = told.get("integrity") if isinstance(told, dict) else None
    if not isinstance(promises, dict):
        return text
    kept = {reference: promise for reference, promise in promises.items() if not is_stale(reference)}
    if len(kept) == len(promises):
        return text
    return json.dumps({**told, "integrity": kept}).replace("<", "\\u003c").encode()
