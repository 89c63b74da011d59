"""Looks a site over for what would spoil a measurement with it. Loading it has checked that files are there and sizes right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import unquote

from mixedsched.errors import SiteError
from mixedsched.model.codings import UndecodableError, decode
from mixedsched.sites._css import rewrite_css
from mixedsched.sites._html import rewrite_html
from mixedsched.sites._paths import External, Local, resolve
from mixedsched.sites._references import Reference, Role
from mixedsched.sites._site import MANIFEST_NAME, ROOT_NAME, Key, Site, Variant
from mixedsched.sites._sniff import contradiction
from mixedsched.sites._texts import document_bytes, document_text

_HTML, _CSS = ("text/html", "application/xhtml"), "text/css"
_WITHOUT_BODY = frozenset({204, 205, 304})


class Level(StrEnum):
    """error: the site is not what it says, and a measurement with it is in doubt. warning: worth a look."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """check: which of the checks. where: address of the file, or "" for the whole site. what: a sentence without a stop."""

    level: Level
    check: str
    where: str
    what: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def check_site(site: Site) -> list[Finding]:
    """What is wrong with a site, errors first, then by file.

    A further check is one more function in CHECKS. What only a browser can tell, whether a load is as the manifest says, is
    no part of this: it needs a server and time.
    """
    found = [finding for check in CHECKS for finding in check(site)]
    return sorted(found, key=lambda finding: finding.level is not Level.ERROR)


def _licence(site: Site) -> Iterator[Finding]:
    if not site.licence.strip():
        yield Finding(Level.WARNING, "licence", "", "no licence is named: say under which one its contents may be used")


def _hosts(site: Site) -> Iterator[Finding]:
    used = {host for host, _ in site.files} | {item.host for item in site.variants}
    for index, host in enumerate(site.hosts):
        if index not in used:
            yield Finding(Level.WARNING, "hosts", host, "nothing is on this host")


def _entry(site: Site) -> Iterator[Finding]:
    key = 0, site.entry
    if not site.mimes[key].startswith(_HTML):
        yield Finding(Level.WARNING, "entry", address(site, key), f"the page itself is {site.mimes[key]}, no HTML")
    if (status := _status(site, key)) >= 400:
        yield Finding(Level.ERROR, "entry", address(site, key), f"the page itself is answered with {status}")


def _encodings(site: Site) -> Iterator[Finding]:
    for key in site.encodings:
        try:
            document_bytes(site, key)
        except SiteError as error:
            yield Finding(Level.ERROR, "encoding", address(site, key), f"its file cannot be decoded {error.why}")
    for item in site.variants:
        if why := _undecodable(item):
            where = f"{item.method} {address(site, (item.host, item.path))}"
            yield Finding(Level.ERROR, "encoding", where, f"its file cannot be decoded as {item.encoding}: {why}")


def _undecodable(item: Variant) -> str:
    if item.encoding is None or item.file is None:
        return ""
    try:
        if body := item.file.read_bytes():
            decode(body, item.encoding)
    except UndecodableError as error:
        return str(error)
    return ""


def _types(site: Site) -> Iterator[Finding]:
    for key, mime in site.mimes.items():
        if _status(site, key) != 200:
            continue
        try:
            found = contradiction(mime, document_bytes(site, key))
        except SiteError:
            continue  # another check tells
        if found is not None:
            level = Level.ERROR if _is_used_as_told(mime) else Level.WARNING
            yield Finding(
                level, "type", address(site, key), f"it says {mime.partition(';')[0]}, its content is {found}"
            )


def _is_used_as_told(mime: str) -> bool:
    """Whether browsers refuse what is of another type: style sheets and scripts, while images and fonts are looked at."""
    return mime.startswith((_CSS, "text/javascript", "application/javascript"))


def _references(site: Site) -> Iterator[Finding]:
    """What documents and style sheets refer to and the site does not have."""
    known = _Known(site)
    for key, mime in site.mimes.items():
        if not mime.startswith((*_HTML, _CSS)) or _status(site, key) != 200:
            continue
        try:
            references = _references_of(site, key)
        except SiteError as error:
            yield Finding(Level.WARNING, "references", address(site, key), f"it cannot be looked through: {error}")
            continue
        told: set[str] = set()
        for reference in references:
            target = resolve(reference.url, key[1], site.hosts, key[0])
            why = known.why_missing(target)
            if why and reference.url not in told and reference.role in {Role.LOAD, Role.SERVE}:
                told.add(reference.url)
                # What a recorded page refers to and no load asked for, such as other sizes, is no fault of the recording.
                is_fault = reference.role is Role.LOAD and not site.replay
                level = Level.ERROR if is_fault else Level.WARNING
                yield Finding(level, "references", address(site, key), f"it refers to {reference.url[:200]}: {why}")


class _Known:
    """Which addresses are answered, by the server's rules: what is not listed with a query is answered without, by a recording
    with any other one."""

    def __init__(self, site: Site) -> None:
        self._listed = {(host, unquote(path)) for host, path in site.files}
        if site.replay:
            self._any_query = {(host, unquote(path.partition("?")[0])) for host, path in site.files}
            return
        files = {(host, path) for host, path in self._listed if "?" not in path}
        folders = {(host, path.removesuffix("index.html")) for host, path in files if path.endswith("/index.html")}
        self._any_query = files | folders | {(host, path.removesuffix("/")) for host, path in folders}

    def why_missing(self, target: Local | External | None) -> str:
        """Why nothing of the site answers; "" if something does, or nothing is asked."""
        if target is None:
            return ""
        if isinstance(target, External):
            return "that is on none of its hosts"
        bare = unquote(target.path.partition("?")[0])
        is_there = (target.host, unquote(target.path)) in self._listed or (target.host, bare) in self._any_query
        return "" if is_there else "that is not in the site"


def _references_of(site: Site, key: Key) -> list[Reference]:
    found: list[Reference] = []

    def note(reference: Reference) -> str:
        found.append(reference)
        return reference.url

    rewrite = rewrite_css if site.mimes[key].startswith(_CSS) else rewrite_html
    rewrite(document_text(site, key), note, address(site, key))
    return found


def _unused_files(site: Site) -> Iterator[Finding]:
    """Files that no request gets: of built sites only, as all files of a plain folder are served.

    A text whose compressed copy is served beside it is no such file.
    """
    if site.root.name != ROOT_NAME or not (site.root.parent / MANIFEST_NAME).is_file():
        return
    used = {*site.files.values(), *(item.file for item in site.variants)}
    for path in sorted(site.root.rglob("*")):
        is_source = any(path.with_name(f"{path.name}.{suffix}").resolve() in used for suffix in ("gz", "br", "zst"))
        if path.is_file() and path.resolve() not in used and not is_source:
            yield Finding(Level.WARNING, "unused", path.relative_to(site.root).as_posix(), "no entry names this file")


def address(site: Site, key: Key) -> str:
    """How findings name a file: without the host where there is but one."""
    return f"{site.hosts[key[0]]}{key[1]}" if len(site.hosts) > 1 else key[1]


def _status(site: Site, key: Key) -> int:
    return site.settings[key].status if key in site.settings else 200


CHECKS: tuple[Callable[[Site], Iterator[Finding]], ...] = (
    _entry,
    _encodings,
    _types,
    _references,
    _licence,
    _hosts,
    _unused_files,
)
