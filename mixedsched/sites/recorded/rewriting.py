"""Names of hosts in bodies and fields, as the site has them; nothing else of a text changes, not a byte.

Texts are rewritten as bytes: origins are ASCII, which all encodings of the web but UTF-16 leave as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, urljoin

from mixedsched.sites.recorded.hosts import Origin

_TEXT_TYPES = re.compile(
    r"(text/(?!event-stream)|(application|image)/([\w.-]+\+)?(javascript|x-javascript|ecmascript|json|xml|manifest)\b|image/svg)"
    r"|application/[\w.-]+\+(json|xml)",
    re.IGNORECASE,
)
# After a host name, what would make it another: more of a name, or a port.
_NAME_ENDS = rb"(?![\w-]|:\d|\.[A-Za-z0-9])"
_NAME_BEGINS = rb"(?<![\w.@-])"
# Names of XML vocabularies look like addresses but load nothing, and would mean nothing under another scheme.
_VOCABULARIES = rb"(?!/(?:19|20)\d\d/|/XML/|/TR/|/ns/)"
_SLASHES = (rb"//", rb"\\/\\/", rb"%2F%2F", rb"\\u002[fF]\\u002[fF]")
_COLONS = {_SLASHES[0]: rb":", _SLASHES[1]: rb"\\?:", _SLASHES[2]: rb"%3A", _SLASHES[3]: rb":"}
_TAG = re.compile(rb"<(?:script|link)\b[^>]{0,5000}>", re.IGNORECASE)
_INTEGRITY = re.compile(rb"""\s+integrity\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)
_ADDRESS = re.compile(rb"""\s(?:src|href)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)
_META_POLICY = re.compile(rb"""(http-equiv\s*=\s*["']?)(content-security-policy)\b""", re.IGNORECASE)


def is_text(mime: str) -> bool:
    """Whether a body of this content type may spell out addresses."""
    return _TEXT_TYPES.match(mime.strip()) is not None


class Renaming:
    """Puts the site's names of hosts where a text has recorded ones. names: of each recorded origin."""

    def __init__(self, names: Mapping[Origin, str]) -> None:
        self.names = names
        self._new: dict[bytes, bytes] = {}
        self._plain: set[bytes] = set()  # https origins under their own name: nothing to do
        for origin, name in names.items():
            key = _key(origin.scheme.encode(), origin.authority.encode())
            self._new[key] = name.encode()
            if origin.scheme == "https" and origin.authority == name:
                self._plain.add(key)
        self.renamed = {str(origin): f"https://{name}" for origin, name in names.items() if not self._stays(origin)}
        self._patterns = tuple(_pattern(slashes, names) for slashes in _SLASHES) if self.renamed else ()

    def _stays(self, origin: Origin) -> bool:
        return _key(origin.scheme.encode(), origin.authority.encode()) in self._plain

    def __bool__(self) -> bool:
        """Whether any host has another name, or another scheme."""
        return bool(self.renamed)

    def apply(self, text: bytes) -> bytes:
        """The text with every recorded origin as the site has it."""
        for pattern in self._patterns:
            text = pattern.sub(self._replaced, text)
        return text

    def apply_text(self, text: str) -> str:
        """As apply, for fields and addresses."""
        return self.apply(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def _replaced(self, match: re.Match[bytes]) -> bytes:
        scheme, slashes, authority = match["scheme"], match["slashes"], match["authority"]
        key = _key(scheme.lower() if scheme else b"https", _unquoted(authority))
        if key not in self._new:  # no scheme, or one that was not recorded with this authority
            key = next(item for item in self._new if item.partition(b" ")[2] == key.partition(b" ")[2])
        new = self._new[key]
        if not scheme:
            return slashes + new
        return b"https" + match["colon"] + slashes + new


def _key(scheme: bytes, authority: bytes) -> bytes:
    return scheme + b" " + authority.lower()


def _unquoted(authority: bytes) -> bytes:
    authority = authority.lower().replace(b"%3a", b":").replace(b"%5b", b"[").replace(b"%5d", b"]")
    return re.sub(rb":(80|443)$", b"", authority)


def _pattern(slashes: bytes, names: Mapping[Origin, str]) -> re.Pattern[bytes]:
    """What finds the recorded authorities behind these slashes, with their scheme if there is one."""
    spelt: set[bytes] = set()
    for origin in names:
        authority = origin.authority
        if slashes == _SLASHES[2]:
            authority = quote(authority, safe="")
        has_port = origin.authority.rpartition(":")[2].isdecimal()
        port = b"" if has_port else (b"(?::80)?" if origin.scheme == "http" else b"(?::443)?")
        spelt.add(re.escape(authority.encode()) + port)
    longest_first: list[bytes] = sorted(sorted(spelt), key=len, reverse=True)
    authorities = b"|".join(longest_first)
    return re.compile(
        b"(?:" + _NAME_BEGINS + b"(?P<scheme>https?)(?P<colon>" + _COLONS[slashes] + b"))?"
        b"(?P<slashes>" + slashes + b")(?P<authority>" + authorities + b")" + _NAME_ENDS + _VOCABULARIES,
        re.IGNORECASE,
    )


def without_stale_integrity(document: bytes, url: str, changed: Iterable[str]) -> bytes:
    """An HTML document whose scripts and sheets make no promise of contents that were rewritten.

    url: of the document. changed: addresses of rewritten bodies, as the document's references resolve.
    """
    addresses = frozenset(changed)

    def seen(tag: re.Match[bytes]) -> bytes:
        found = _ADDRESS.search(tag[0])
        if found is None or not _INTEGRITY.search(tag[0]):
            return tag[0]
        reference = next(part for part in found.groups() if part is not None).decode("utf-8", "replace")
        target = urljoin(url, reference.strip().replace("&amp;", "&")).partition("#")[0]
        return _INTEGRITY.sub(b"", tag[0]) if target in addresses else tag[0]

    return _TAG.sub(seen, document)


def without_policies(document: bytes) -> bytes:
    """An HTML document whose own content security policies do nothing: they name hosts, and hashes of what was rewritten."""
    return _META_POLICY.sub(rb"\1x-recorded-\2", document)
