"""Changes on the way into a site: header fields that a copy does not keep, and names of hosts in bodies and fields.

Kept is what changes how a page loads: who may read what, caching, variants, policies, and links that preload or
preconnect. The study that the replay follows left out `expires`, `date`, `last-modified`, `link`, `alt-svc`, `connection`
and `transfer-encoding`; links are kept here if a browser fetches or connects because of them, since they decide the order
of requests. Cookies are personal, and are left out; so is what would bind a browser beyond the load, or report to others.

Of a text only the names of hosts change, not another byte. Texts are rewritten as bytes: origins are ASCII, which all
encodings of the web but UTF-16 leave as it is.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote, unquote_to_bytes

from mixedsched.sites.documents.links import links_in, relations_of, target_of
from mixedsched.sites.recorded.names import Origin
from mixedsched.sites.site.paths import absolute
from mixedsched.sites.site.responses import why_unfit

# Not counted: the server works them out, or they are of one connection, one day or one machine.
_WITHOUT_MEANING = frozenset(
    (
        *("expires", "date", "last-modified", "etag", "age", "server", "via", "x-powered-by", "accept-ranges"),
        *("connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade"),
        *("content-length", "content-encoding", "content-range", "content-type", "priority"),
    )
)
# Counted in the summary: a browser would do otherwise with them.
_DROPPED = frozenset(
    (
        *("set-cookie", "set-cookie2", "clear-site-data", "alt-svc", "alternate-protocol", "accept-ch", "critical-ch"),
        *("strict-transport-security", "public-key-pins", "public-key-pins-report-only", "expect-ct"),
        *("report-to", "reporting-endpoints", "nel", "content-security-policy-report-only", "refresh"),
        *("service-worker-allowed", "proxy-authenticate", "www-authenticate", "authorization"),
        *("sourcemap", "x-sourcemap"),
    )
)
_POLICY = "content-security-policy"
_LINK_RELATIONS = frozenset({"preload", "modulepreload", "preconnect", "dns-prefetch", "stylesheet", "prefetch"})
_FETCHED_RELATIONS = frozenset({"preload", "modulepreload", "prefetch"})
_LINK_CHARACTERS = 16_384  # more is not a list of hints
_REPORTS = re.compile(r"\s*(report-uri|report-to)\b", re.IGNORECASE)

Headers = dict[str, list[str]]


def kept_headers(lines: Iterable[tuple[str, str]], dropped: Counter[str]) -> Headers:
    """The fields that a copy of the response is to have, in order, in lower case.

    lines: as received. dropped: gets the names of those that are left out although they meant something.
    """
    kept: Headers = {}
    for raw_name, raw_value in lines:
        name = raw_name.strip().lower()
        values = _kept_values(name, raw_value)
        fit = [value for value in values if not why_unfit(name, value)]
        if fit:
            kept.setdefault(name, []).extend(fit)
        elif name not in _WITHOUT_MEANING and not name.startswith(":"):
            dropped[name] += 1
    return kept


def fetched_links(lines: Iterable[tuple[str, str]], url: str) -> frozenset[str]:
    """The addresses that a browser fetches because of the response's header, absolute, without fragments.

    lines: as received. url: of the response, to which the links are relative.
    """
    links = (link for name, value in lines if name.strip().lower() == "link" for link in _kept_values("link", value))
    fetched = [target_of(link) for link in links if relations_of(link) & _FETCHED_RELATIONS]
    return frozenset(address for target in fetched if (address := absolute(target, url)))


def _kept_values(name: str, raw_value: str) -> Sequence[str]:
    """The values of one line that are kept."""
    value = " ".join(raw_value.split("\n")).strip(" \t\r")
    if name in _WITHOUT_MEANING or name in _DROPPED or name.startswith(":"):
        return ()
    if name == "link" and len(value) > _LINK_CHARACTERS:
        return ()
    if name == "link":
        return [link for link in links_in(value) if relations_of(link) & _LINK_RELATIONS]
    if name == _POLICY:
        value = "; ".join(part.strip() for part in value.split(";") if part.strip() and not _REPORTS.match(part))
    return (value,) if value else ()


_TEXT_TYPES = re.compile(
    r"(text/(?!event-stream)|(application|image)/([\w.-]+\+)?(javascript|x-javascript|ecmascript|json|xml|manifest)\b|image/svg)"
    r"|application/[\w.-]+\+(json|xml)",
    re.IGNORECASE,
)
# After a host name, what would make it another: more of a name, or a port.
_NAME_ENDS = rb"(?![\w-]|:\d|\.[A-Za-z0-9])"
_NAME_BEGINS = rb"(?<![\w.@-])"
# Names of XML vocabularies look like addresses but load nothing, and would mean nothing under another scheme.
_VOCABULARIES = (
    rb"(?!(?<=www\.w3\.org)\\?/(?:1998\\?/Math|1999\\?/(?:xhtml|xlink|XSL|02\\?/22-rdf)|2000\\?/(?:svg|xmlns|01\\?/rdf)"
    rb"|2001\\?/XMLSchema|2002\\?/07\\?/owl|XML\\?/|ns\\?/))"
)
_SLASHES = (rb"//", rb"\\/\\/", rb"%2F%2F", rb"\\u002[fF]\\u002[fF]")
_COLONS = {_SLASHES[0]: rb":", _SLASHES[1]: rb"\\?:", _SLASHES[2]: rb"%3A", _SLASHES[3]: rb":"}
_USUAL_PORT = re.compile(rb":(80|443)$")
_META_POLICY = re.compile(rb"""(http-equiv\s*=\s*["']?)(content-security-policy)\b""", re.IGNORECASE)


def is_text(mime: str) -> bool:
    """Whether a body of this content type may spell out addresses."""
    return _TEXT_TYPES.match(mime.strip()) is not None


class Renaming:
    """Puts the site's names of hosts where a text has recorded ones. names: of each recorded origin."""

    def __init__(self, names: Mapping[Origin, str]) -> None:
        self.names = names
        self._new = {item.authority.encode().lower(): name.encode() for item, name in names.items()}
        # https origins under their own name need nothing done
        self.renamed = {
            str(origin): f"https://{name}" for origin, name in names.items() if str(origin) != f"https://{name}"
        }
        self._patterns = tuple(_pattern(slashes, names) for slashes in _SLASHES) if self.renamed else ()

    def __bool__(self) -> bool:
        """Whether any host has another name, or another scheme."""
        return bool(self.renamed)

    def apply(self, text: bytes) -> bytes:
        """The text with every recorded origin as the site has it."""
        for pattern in self._patterns:
            text = pattern.sub(self._replaced, text)
        return text

    def apply_text(self, text: str) -> str:
        """apply() for fields and addresses."""
        return self.apply(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def _replaced(self, match: re.Match[bytes]) -> bytes:
        scheme, slashes, authority = match["scheme"], match["slashes"], match["authority"].lower()
        if slashes.startswith(b"%"):
            authority = unquote_to_bytes(authority).lower()
        new = self._new.get(authority) or self._new[_USUAL_PORT.sub(b"", authority)]
        if not scheme:
            return slashes + new
        return b"https" + match["colon"] + slashes + new


def _pattern(slashes: bytes, names: Mapping[Origin, str]) -> re.Pattern[bytes]:
    """A pattern of the recorded authorities behind these slashes, with their scheme if there is one."""
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


def without_policies(document: bytes) -> bytes:
    """An HTML document whose own content security policies do nothing: they name hosts, and hashes of what was rewritten."""
    return _META_POLICY.sub(rb"\1x-recorded-\2", document)
