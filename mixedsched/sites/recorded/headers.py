"""Which header fields of a recorded response its copy keeps.

Kept is what changes how a page loads: who may read what, caching, variants, policies, and links that preload or
preconnect. The study that the replay follows left out `expires`, `date`, `last-modified`, `link`, `alt-svc`, `connection` and
`transfer-encoding`; links are kept here as far as a browser fetches or connects because of them, since they decide the order
of requests. Cookies are personal, and are left out; so is what would bind a browser beyond the load, or report to others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from urllib.parse import urldefrag, urljoin

from mixedsched.sites.site.responses import why_unfit

# Told to nobody: the server works them out, or they are of one connection, one day or one machine.
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
        *(
            "service-worker-allowed",
            "proxy-authenticate",
            "www-authenticate",
            "authorization",
            "sourcemap",
            "x-sourcemap",
        ),
    )
)
_POLICY = "content-security-policy"
_LINK_RELATIONS = frozenset({"preload", "modulepreload", "preconnect", "dns-prefetch", "stylesheet", "prefetch"})
_FETCHED_RELATIONS = frozenset({"preload", "modulepreload", "prefetch"})
_LINK_CHARACTERS = 16_384  # more is no list of hints
_REPORTS = re.compile(r"\s*(report-uri|report-to)\b", re.IGNORECASE)
_RELATION = re.compile(r""";\s*rel\s*=\s*("[^"]*"|[^\s;,"]+)""", re.IGNORECASE)
_LINK = re.compile(r"""<[^>]*>(?:[^,"]|"[^"]*")*""")

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
    """What a browser fetches because of the response's header: absolute addresses without fragments.

    lines: as received. url: of the response, to which the links are relative.
    """
    links = (link for name, value in lines if name.strip().lower() == "link" for link in _kept_values("link", value))
    fetched = [link[1 : link.index(">")].strip() for link in links if _relations(link) & _FETCHED_RELATIONS]
    return frozenset(address for target in fetched if (address := _absolute(target, url)))


def _absolute(target: str, url: str) -> str:
    try:
        return urldefrag(urljoin(url, target)).url
    except ValueError:  # half an IPv6 address
        return ""


def _kept_values(name: str, raw_value: str) -> Sequence[str]:
    """What is left of one line: its values, or nothing."""
    value = " ".join(raw_value.split("\n")).strip(" \t\r")
    if name in _WITHOUT_MEANING or name in _DROPPED or name.startswith(":"):
        return ()
    if name == "link" and len(value) > _LINK_CHARACTERS:
        return ()
    if name == "link":
        return [link.strip() for link in _LINK.findall(value) if _relations(link) & _LINK_RELATIONS]
    if name == _POLICY:
        value = "; ".join(part.strip() for part in value.split(";") if part.strip() and not _REPORTS.match(part))
    return (value,) if value else ()


def _relations(link: str) -> set[str]:
    found = _RELATION.search(link)
    return set(found[1].strip('"').lower().split()) if found else set()
