"""Merges the hosts of a site into its first: one origin, so one connection.

The files of host NAME move to /_host/NAME/PATH of the first host. References in HTML and style sheets follow; what scripts
build cannot be followed, and is reported.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from selectolax.lexbor import LexborHTMLParser

from mixedsched.model.codings import encode
from mixedsched.model.page import PAGE_FORMAT, Page, Resource
from mixedsched.sites.documents.css import rewrite_css
from mixedsched.sites.documents.html import rewrite_html
from mixedsched.sites.documents.links import with_links
from mixedsched.sites.documents.references import DROP, Reference, ReferenceRole, document_text
from mixedsched.sites.site import Key, Origins, ResponseSettings, Site, SiteVariant
from mixedsched.sites.site.folders import keep_files
from mixedsched.sites.site.paths import Local, resolve

_FOLDER = "/_host"
_COPIES_PREFIX = "merged-"
_MAX_NOTES = 20

_HTML, _CSS = "text/html", "text/css"
_ONLY_SEARCHED = (
    *("text/javascript", "application/javascript", "application/json", "application/manifest"),
    *("application/xhtml", "image/svg"),
)
_OF_HOSTS = {"content-security-policy", "content-security-policy-report-only"}
_FOLLOWED = {"location", "content-location"}
_LEADS_AWAY = {("a", "href"), ("area", "href"), ("form", "action"), ("blockquote", "cite"), ("q", "cite")}

T = TypeVar("T")


def merged(site: Site, build_dir: Path) -> Site:
    """The site with one host. build_dir: rewritten documents are kept there, as build_dir/merged-FINGERPRINT.

    Promises (`integrity`) of files that change are taken out, of elements also those of files that move; `crossorigin` stays.
    Notes tell which files still name a host that is gone. Raises SiteError for documents that cannot be rewritten.
    """
    if len(site.hosts) == 1:
        return replace(site, origins=Origins.MERGE)
    move = _Move(site)
    texts = {key: text for key in site.files if (text := move.rewritten(key)) is not None}
    changed = {key: _on_the_wire(site, key, text) for key, text in texts.items()}
    folder = keep_files(
        {_file_name(move.new_path(key)): body for key, body in changed.items()}, _COPIES_PREFIX, build_dir
    )
    files = {(0, move.new_path(key)): file for key, file in site.files.items()}
    for key in changed:
        files[0, move.new_path(key)] = (folder / _file_name(move.new_path(key))).resolve()
    sizes = {key: (site.files[key].stat().st_size, len(body)) for key, body in changed.items()}

    def moved(by_key: Mapping[Key, T]) -> Mapping[Key, T]:
        return MappingProxyType({(0, move.new_path(key)): value for key, value in by_key.items()})

    return replace(
        site,
        hosts=site.hosts[:1],
        page=_moved_page(site.page, move, sizes),
        files=MappingProxyType(files),
        mimes=moved({key: _as_utf8(mime) if key in changed else mime for key, mime in site.mimes.items()}),
        encodings=moved(site.encodings),
        settings=moved({key: move.settings(key, settings) for key, settings in site.settings.items()}),
        credentials=moved(site.credentials),
        connections=None,
        origins=Origins.MERGE,
        merged_hosts=site.hosts[1:],
        notes=(*site.notes, *_notes(site, move, texts)),
        variants=tuple(move.variant(item) for item in site.variants),
    )


class _Move:
    """The new places of all files, and references that follow them."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._folder = _FOLDER
        while any(host == 0 and path.startswith(f"{self._folder}/") for host, path in site.files):
            self._folder += "_"
        self._changing: set[Key] = set()  # style sheets whose own text changes
        sheets = [key for key, mime in site.mimes.items() if mime.startswith(_CSS)]
        self._changing.update(key for key in sheets if self.rewritten(key) is not None)

    def new_path(self, key: Key) -> str:
        host, path = key
        return path if host == 0 else f"{self._folder}/{self._site.hosts[host]}{path}"

    def rewritten(self, key: Key) -> str | None:
        """The text of a document with its references at their new places; None for other files, and if nothing changes."""
        mime = self._site.mimes[key]
        if not mime.startswith((_HTML, _CSS)):
            return None
        text = document_text(self._site, key)
        visit, origin = partial(self._answer, key), f"site '{self._site.name}': {key[1]}"
        if mime.startswith(_CSS):
            changed = rewrite_css(text, visit, origin)
        else:
            changed = rewrite_html(text, visit, origin, promises=("integrity",))
        return None if changed == text else changed

    def text_of(self, key: Key, rewritten: Mapping[Key, str]) -> str:
        return rewritten[key] if key in rewritten else document_text(self._site, key)

    def settings(self, key: Key, settings: ResponseSettings) -> ResponseSettings:
        """The same, with what its headers refer to at its new place, and without a policy for hosts that are gone."""
        headers = tuple(
            (name, tuple(self._field(key, name, value) for value in values))
            for name, values in settings.headers
            if name not in _OF_HOSTS
        )
        return replace(settings, headers=headers)

    def variant(self, item: SiteVariant) -> SiteVariant:
        key = item.host, item.path
        return replace(item, host=0, path=self.new_path(key), settings=self.settings(key, item.settings))

    def _field(self, key: Key, name: str, value: str) -> str:
        if name == "link":
            return with_links(value, partial(self._followed, key), partial(self._is_changing, key))
        return self._followed(key, value) if name in _FOLLOWED else value

    def _is_changing(self, key: Key, url: str) -> bool:
        """Whether a reference in the document `key` leads to a style sheet whose own text changes."""
        target = resolve(url, key[1], self._site.hosts, key[0])
        return isinstance(target, Local) and (target.host, target.path) in self._changing

    def _answer(self, key: Key, reference: Reference) -> str | None:
        if reference.role is ReferenceRole.CONTACT:
            target = resolve(reference.url, key[1], self._site.hosts, key[0])
            return DROP if isinstance(target, Local) and target.host else reference.url
        return self._followed(key, reference.url)

    def _followed(self, key: Key, url: str) -> str:
        """The URL that means the same file at its new place, for a reference in the document `key`."""
        site = self._site
        target = resolve(url, key[1], site.hosts, key[0])
        if not isinstance(target, Local):
            return url
        place = self.new_path((target.host, target.path))
        now = resolve(url, self.new_path(key), site.hosts[:1])
        fragment = re.search("#.*", url.strip(), re.DOTALL)
        moved = place + (fragment[0] if fragment else "")
        if not (isinstance(now, Local) and now.path == place):
            return moved
        if site.mimes.get(key, "").startswith(_CSS) or (target.host, target.path) not in self._changing:
            return url
        # With its URL the element would keep its promise of the file's old content.
        return moved if moved != url else f"https://{site.hosts[0]}{moved}"


def _on_the_wire(site: Site, key: Key, text: str) -> bytes:
    body = text.encode()
    return encode(body, site.encodings[key]) if key in site.encodings else body


def _as_utf8(mime: str) -> str:
    """The content type of a text that is UTF-8 now."""
    return f"{mime.partition(';')[0].strip()}; charset=utf-8"


def _file_name(path: str) -> str:
    """A name for the file of a path, whatever the path holds."""
    return hashlib.sha256(path.encode()).hexdigest()[:32]


def _moved_page(page: Page, move: _Move, sizes: Mapping[Key, tuple[int, int]]) -> Page:
    """The page at its new addresses. sizes: of documents that were rewritten, before and after."""
    keys = {item.id: item.key for item in page.resources}

    def moved(item: Resource) -> Resource:
        change: dict[str, object] = {"host": 0, "path": move.new_path(item.key)}
        if item.key in sizes:
            change["body_bytes"] = sizes[item.key][1]
        if item.found_when == "bytes" and item.found_by is not None and keys[item.found_by] in sizes:
            before, after = sizes[keys[item.found_by]]
            change["found_at_bytes"] = min(after, -(-item.found_at_bytes * after // max(1, before)))
        return item.model_copy(update=change)

    return Page(format=PAGE_FORMAT, name=page.name, resources=tuple(moved(item) for item in page.resources))


def _notes(site: Site, move: _Move, rewritten: Mapping[Key, str]) -> list[str]:
    """Which files still name hosts that are gone."""
    gone = re.compile("|".join(rf"//{re.escape(host)}(?![\w.-])" for host in site.hosts[1:]))
    notes = []
    for key, mime in site.mimes.items():
        if mime.startswith(_HTML):
            found = _named_in_html(move.text_of(key, rewritten), gone)
        elif mime.startswith(_ONLY_SEARCHED):
            found = gone.findall(move.text_of(key, rewritten))
        else:
            found = []
        fields = move.settings(key, site.settings[key]).headers if key in site.settings else ()
        in_fields = [name for _, values in fields for name in gone.findall(" ".join(values))]
        names = sorted({name.removeprefix("//") for name in (*found, *in_fields)})
        if names:
            notes.append(
                f"{site.hosts[key[0]]}{key[1]} still names {', '.join(names)}: what a script asks for there will not be found"
            )
    more = len(notes) - _MAX_NOTES
    return [*notes[:_MAX_NOTES], *([f"and {more} files more"] if more > 0 else [])]


def _named_in_html(text: str, gone: re.Pattern[str]) -> Sequence[str]:
    """Hosts in scripts, and in attributes but for those that lead to other pages."""
    found: list[str] = []
    for node in LexborHTMLParser(text).css("*"):
        for name, value in node.attributes.items():
            is_canonical = node.tag == "link" and node.attributes.get("rel") in {"canonical", "alternate"}
            if value and not is_canonical and (node.tag, name) not in _LEADS_AWAY and node.tag != "meta":
                found += gone.findall(value)
        if node.tag == "script":
            found += gone.findall(node.text())
    return found
