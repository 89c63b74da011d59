"""Checks a site for what would spoil a measurement with it. Loading it has checked that files are there and sizes right."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import unquote

from mixedsched.errors import SiteError
from mixedsched.model.codings import UndecodableError, decode
from mixedsched.sites.documents.looking import references_of
from mixedsched.sites.documents.references import ReferenceRole, document_bytes
from mixedsched.sites.site import MANIFEST_NAME, ROOT_NAME, Key, Site, SiteVariant
from mixedsched.sites.site.paths import External, Local
from mixedsched.sites.site.wire import TYPES

_HTML, _CSS = ("text/html", "application/xhtml"), "text/css"
_WITHOUT_BODY = frozenset({204, 205, 304})


class Severity(StrEnum):
    """error: the site is not what it says, and a measurement with it is in doubt. warning: worth a look."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class SiteFinding:
    """Something that is wrong with a site."""

    level: Severity
    check: str  # which of the checks
    where: str  # address of the file, or "" for the whole site
    what: str  # a sentence without a stop

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


_Remark = tuple[Severity, str, str]  # level, where, what


def check_site(site: Site) -> list[SiteFinding]:
    """All that is wrong with a site, errors first, then by file.

    A further check is one more entry of CHECKS. What only a browser can tell, whether a load is as the manifest says, is
    no part of this: it needs a server and time.
    """
    found = [
        SiteFinding(level, name, where, what) for name, check in CHECKS.items() for level, where, what in check(site)
    ]
    return sorted(found, key=lambda finding: finding.level is not Severity.ERROR)


def _licence(site: Site) -> Iterator[_Remark]:
    if not site.licence.strip():
        yield Severity.WARNING, "", "no licence is named: say under which one its contents may be used"


def _hosts(site: Site) -> Iterator[_Remark]:
    used = {host for host, _ in site.files} | {item.host for item in site.variants}
    for index, host in enumerate(site.hosts):
        if index not in used:
            yield Severity.WARNING, host, "nothing is on this host"


def _entry(site: Site) -> Iterator[_Remark]:
    key = 0, site.entry
    if not site.mimes[key].startswith(_HTML):
        yield Severity.WARNING, address(site, key), f"the page itself is {site.mimes[key]}, not HTML"
    if (status := site.status(key)) >= 400:
        yield Severity.ERROR, address(site, key), f"the page itself is answered with {status}"


def _encodings(site: Site) -> Iterator[_Remark]:
    for key in site.encodings:
        try:
            document_bytes(site, key)
        except SiteError as error:
            yield Severity.ERROR, address(site, key), f"its file cannot be decoded {error.why}"
    for item in site.variants:
        if why := _undecodable(item):
            where = f"{item.method} {address(site, (item.host, item.path))}"
            yield Severity.ERROR, where, f"its file cannot be decoded as {item.encoding}: {why}"


def _undecodable(item: SiteVariant) -> str:
    if item.encoding is None or item.file is None:
        return ""
    try:
        if body := item.file.read_bytes():
            decode(body, item.encoding)
    except UndecodableError as error:
        return str(error)
    return ""


def _types(site: Site) -> Iterator[_Remark]:
    for key, mime in site.mimes.items():
        if site.status(key) != 200:
            continue
        try:
            found = contradiction(mime, document_bytes(site, key))
        except SiteError:
            continue  # another check tells
        if found is not None:
            level = Severity.ERROR if _is_used_as_told(mime) else Severity.WARNING
            yield level, address(site, key), f"it says {mime.partition(';')[0]}, its content is {found}"


def _is_used_as_told(mime: str) -> bool:
    """Whether browsers refuse what is of another type: style sheets and scripts, while images and fonts are looked at."""
    return mime.startswith((_CSS, "text/javascript", "application/javascript"))


def _references(site: Site) -> Iterator[_Remark]:
    """References of documents and style sheets to what the site does not have."""
    known = _Known(site)
    for key, mime in site.mimes.items():
        if not mime.startswith((*_HTML, _CSS)) or site.status(key) != 200:
            continue
        try:
            references = references_of(site, key)
        except SiteError as error:
            yield Severity.WARNING, address(site, key), f"it cannot be looked through: {error}"
            continue
        told: set[str] = set()
        for reference, target in references:
            why = known.why_missing(target)
            if why and reference.url not in told and reference.role in {ReferenceRole.LOAD, ReferenceRole.SERVE}:
                told.add(reference.url)
                # What a recorded page refers to and no load asked for, such as other sizes, is not a fault of the recording.
                is_fault = reference.role is ReferenceRole.LOAD and not site.replay
                level = Severity.ERROR if is_fault else Severity.WARNING
                yield level, address(site, key), f"it refers to {reference.url[:200]}: {why}"


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


def _unused_files(site: Site) -> Iterator[_Remark]:
    """Files that no request gets: of built sites only, as all files of a plain folder are served.

    Texts whose compressed copies are served beside them are left out.
    """
    if site.root.name != ROOT_NAME or not (site.root.parent / MANIFEST_NAME).is_file():
        return
    used = {*site.files.values(), *(item.file for item in site.variants)}
    for path in sorted(site.root.rglob("*")):
        is_source = any(path.with_name(f"{path.name}.{suffix}").resolve() in used for suffix in ("gz", "br", "zst"))
        if path.is_file() and path.resolve() not in used and not is_source:
            yield Severity.WARNING, path.relative_to(site.root).as_posix(), "no entry names this file"


def address(site: Site, key: Key) -> str:
    """The name of a file in findings: without the host where there is only one."""
    return f"{site.hosts[key[0]]}{key[1]}" if len(site.hosts) > 1 else key[1]


CHECKS: Mapping[str, Callable[[Site], Iterator[_Remark]]] = {
    "entry": _entry,
    "encoding": _encodings,
    "type": _types,
    "references": _references,
    "licence": _licence,
    "hosts": _hosts,
    "unused": _unused_files,
}


_SIGNATURES = {mime: re.compile(pattern.encode()) for mime, pattern in TYPES["signatures"].items()}
_SNIFFED_BYTES = 1024
_VIDEO_OR_AUDIO = ("video/", "audio/")


def sniffed(body: bytes) -> str | None:
    """The type that the body's beginning shows; None if it shows none."""
    head = body[:_SNIFFED_BYTES]
    return next((mime for mime, signature in _SIGNATURES.items() if signature.match(head)), None)


def contradiction(mime: str, body: bytes) -> str | None:
    """The type that a body (without its content coding) is in truth; None if it is what it says, or that cannot be told.

    Types that say nothing, such as application/octet-stream, contradict nothing.
    """
    told = mime.partition(";")[0].strip().lower()
    told = TYPES["same_content"].get(told, told)
    found = sniffed(body)
    if found is None:
        needs_signature = told in {mime for mime in _SIGNATURES if mime.startswith(("image/", "font/"))}
        return "something else" if needs_signature and body and told not in {"image/svg+xml", "image/bmp"} else None
    if told == found or told in {"application/octet-stream", "binary/octet-stream", "text/plain", "image/*", ""}:
        return None
    if told.startswith(_VIDEO_OR_AUDIO) and found.startswith(_VIDEO_OR_AUDIO):
        return None
    return None if {told, found} <= {"font/ttf", "font/otf"} else found
