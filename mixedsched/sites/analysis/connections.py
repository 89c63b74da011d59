"""The number of QUIC connections that Chromium uses for a page, worked out from its documents.

Hosts that share an address and a certificate share a connection, but for two parts of the session key: whether requests carry
credentials (privacy mode), and whether they come from a frame of another site (network anonymization key). Third-party cookies
are taken to be allowed, as the lab allows them; blocking them splits third parties off as well.
Source: net/quic/quic_session_key.h; each rule was tried with Chromium 156, in
tests/sites/analysis/test_connections_in_chromium.py.
"""

import contextlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from mixedsched.errors import SiteError
from mixedsched.model.request import Kind
from mixedsched.sites.documents.looking import references_of
from mixedsched.sites.documents.references import Credentials, Reference, ReferenceRole
from mixedsched.sites.site import Connections, Site
from mixedsched.sites.site.paths import External, Local

_COUNTRY_CHARACTERS = 2
# Registries below countries, as in co.uk, com.au, ac.jp.
_SECOND_LEVELS = {
    *("ac", "co", "com", "edu", "go", "gob", "gouv", "gov", "govt", "gv", "ltd"),
    *("mil", "ne", "net", "nhs", "nom", "or", "org", "plc", "re", "sch"),
}


@dataclass(frozen=True, slots=True)
class _Document:
    """An HTML document or style sheet that is loaded. frame: host index of the document that it belongs to."""

    target: Local
    is_sheet: bool
    frame: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request of the page. frame: host index of the document that makes it. why: it carries no credentials; "" if it does."""

    target: Local
    frame: int
    why: str = ""


def expected_connections(site: Site) -> Connections:
    """The number of connections that a load of the site should take, and why.

    Of what scripts fetch only the resources in the manifest are known: kind xhr goes without credentials to other hosts, as
    fetch() and XMLHttpRequest do by default; `credentials` of a resource, and `connections` of the manifest, say otherwise.
    """
    if site.connections is not None:
        return Connections(site.connections, "so the site's description says")
    examples: dict[tuple[bool, bool], _Asked] = {}
    for asked in _asked(site):
        examples.setdefault((_is_foreign(site, asked.frame), bool(asked.why)), asked)
    parts = [_part(site, key, asked) for key, asked in sorted(examples.items()) if key != (False, False)]
    return Connections(1 + len(parts), "; ".join([_main_part(site, alone=not parts), *parts]))


def _main_part(site: Site, *, alone: bool) -> str:
    if site.merged_hosts:
        hosts = f"the files of {', '.join(site.merged_hosts)} are merged into {site.hosts[0]}"
        return hosts if alone else f"{hosts}, on one"
    if len(site.hosts) == 1:
        return "all is on one host" if alone else "one for the page"
    shared = f"{len(site.hosts)} hosts share an address and a certificate"
    return (
        f"{shared}, and all requests carry credentials" if alone else f"one for what carries credentials, as {shared}"
    )


def _part(site: Site, key: tuple[bool, bool], asked: _Asked) -> str:
    is_foreign, goes_without = key
    url = f"https://{site.hosts[asked.target.host]}{asked.target.path}"
    frames = f"frames of other sites ({site.hosts[asked.frame]})"
    if not goes_without:
        return f"one for {frames}"
    where = f" by {frames}" if is_foreign else ""
    return f"one for what is fetched without credentials{where}: {url} ({asked.why})"


def _asked(site: Site) -> Iterator[_Asked]:
    """Every request of the page: what its documents ask for, then what only its manifest knows of."""
    loaded = site.page.by_path()
    seen: set[tuple[int, str]] = {(0, site.entry)}
    known: set[tuple[_Document, str]] = set()
    waiting = deque([_Document(Local(0, site.entry), is_sheet=False, frame=0)])
    yield _Asked(Local(0, site.entry), 0)
    while waiting:
        document = waiting.popleft()
        for reference, target in _references(site, document):
            is_manifest = reference.credentials is Credentials.OMIT
            if not isinstance(target, Local) or (target.host, target.path) not in site.files:
                continue
            if not is_manifest and (
                reference.role is not ReferenceRole.LOAD or (target.host, target.path) not in loaded
            ):
                continue
            seen.add((target.host, target.path))
            is_frame = reference.kind is Kind.DOCUMENT
            frame = target.host if is_frame else document.frame
            yield _Asked(target, frame, _why_without(site, reference.kind, reference.credentials, target, frame))
            follower = _Document(target, reference.kind is Kind.STYLESHEET, frame)
            # What a sheet asks of its own host makes no difference.
            may_matter = is_frame or (follower.is_sheet and len(site.hosts) > 1)
            if may_matter and (follower, target.path) not in known:
                known.add((follower, target.path))
                waiting.append(follower)
    for (host, path), item in loaded.items():
        if (host, path) not in seen:
            frame = host if item.kind is Kind.DOCUMENT else 0
            unseen = Credentials.SAME_ORIGIN if item.kind in {Kind.FONT, Kind.XHR} else Credentials.INCLUDE
            yield _Asked(Local(host, path), frame, _why_without(site, item.kind, unseen, Local(host, path), frame))


def _why_without(site: Site, kind: Kind, credentials: Credentials, target: Local, frame: int) -> str:
    """Why a request carries no credentials; "" if it does."""
    told = site.credentials.get((target.host, target.path))
    if told is not None:
        return "" if told else "so the manifest says"
    if credentials is Credentials.OMIT:
        return "web app manifests are"
    if credentials is Credentials.INCLUDE or target.host == frame:
        return ""
    if kind is Kind.FONT:
        return "fonts of other hosts are"
    if kind is Kind.XHR:
        return "fetch() and XMLHttpRequest ask other hosts so"
    return "its element asks another host so: crossorigin, a module, a mask"


def _references(site: Site, document: _Document) -> list[tuple[Reference, Local | External | None]]:
    """The references of a document, in order; none if it cannot be read, which other checks report."""
    key = document.target.host, document.target.path
    if not site.mimes[key].startswith("text/css" if document.is_sheet else ("text/html", "application/xhtml")):
        return []
    with contextlib.suppress(SiteError):
        return references_of(site, key)
    return []


def _is_foreign(site: Site, host: int) -> bool:
    """Whether a frame of this host is of another site than the page: scheme and registrable domain decide."""
    return registrable(site.hosts[host]) != registrable(site.hosts[0])


def registrable(host: str) -> str:
    """The domain that somebody has registered, by its form: the list of public suffixes is not looked up."""
    labels = host.split(".")
    under_registry = len(labels) > 2 and len(labels[-1]) == _COUNTRY_CHARACTERS and labels[-2] in _SECOND_LEVELS
    return ".".join(labels[-3:] if under_registry else labels[-2:])
