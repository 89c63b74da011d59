"""From exchanges to a site's folder: the files, and the manifest that server, page model and people read."""

import json
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mixedsched.errors import SiteError
from mixedsched.model.page import PAGE_FORMAT
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.recorded._copies import Copier, Copy
from mixedsched.sites.recorded._graph import CopyDiscovery, discovery
from mixedsched.sites.recorded._rewriting import Renaming
from mixedsched.sites.recorded.names import FileNames, Origin, origin_of, site_hosts
from mixedsched.sites.recorded.records import (
    UNKNOWN_LICENCE,
    KindSum,
    LeftOut,
    RecordedExchange,
    RecordingFacts,
    RecordingSummary,
)
from mixedsched.sites.recorded.selection import Selection, select
from mixedsched.sites.site import MANIFEST_NAME, ROOT_NAME, load_built, site_name_of
from mixedsched.sites.site.folders import make_folder, require_writable
from mixedsched.sites.site.paths import shown
from mixedsched.sites.site.wire import suffix_of_mime

_LINE_CHARACTERS = 110  # what fits stays on one line
_ID_PATH_CHARACTERS = 100
_ID_QUERY_CHARACTERS = 24
_OK = 200
_SHEET = Kind.STYLESHEET


def manifest_of(
    facts: RecordingFacts,
    hosts: Sequence[str],
    page: Sequence[tuple[Copy, CopyDiscovery, str]],
    besides: Sequence[tuple[Copy, str]],
    notes: Sequence[str],
) -> dict[str, Any]:
    """page: copies of the page with how they are found and their files; besides: what is served as well."""
    ids = _ids([copy for copy, _, _ in page], hosts)
    imported = _critical_imports([(copy.source, found) for copy, found, _ in page])
    return {
        "format": PAGE_FORMAT,
        "name": facts.name,
        "title": facts.title or facts.name,
        "description": facts.description or f"Recorded copy of {facts.url}",
        "licence": facts.licence or UNKNOWN_LICENCE,
        "source": facts.source or f"recorded from {facts.url}",
        "hosts": list(hosts),
        "entry": page[0][0].path,
        "replay": True,
        "record": {"url": facts.url, **facts.record, **({"notes": list(notes)} if notes else {})},
        "resources": [
            {**_resource(copy, found, file, ids, number), "flags": _flags(copy.source, number, imported)}
            for number, (copy, found, file) in enumerate(page)
        ],
        "also_served": [_served(copy, file) for copy, file in besides],
    }


def _critical_imports(page: Sequence[tuple[RecordedExchange, CopyDiscovery]]) -> frozenset[int]:
    """Which style sheets hold up the first paint because one that does imports them."""
    critical = {number for number, (item, _) in enumerate(page) if item.kind is _SHEET and Flag.CRITICAL in item.flags}
    imported: set[int] = set()
    for number, (item, found) in enumerate(page):  # parents stand before their children
        is_for_later = item.priority is ChromiumPriority.VERY_LOW  # of another medium
        if item.kind is _SHEET and not is_for_later and found.parent in critical:
            critical.add(number)
            imported.add(number)
    return frozenset(imported)


def _flags(source: RecordedExchange, number: int, imported: Container[int]) -> list[str]:
    flags = source.flags | {Flag.MAIN, Flag.CRITICAL} if number == 0 else source.flags - {Flag.MAIN}
    return [flag.value for flag in Flag if flag in flags or (flag is Flag.CRITICAL and number in imported)]


def _resource(copy: Copy, found: CopyDiscovery, file: str, ids: Sequence[str], number: int) -> dict[str, Any]:
    source = copy.source
    entry = {
        "id": ids[number],
        **_served(copy, file),
        "kind": source.kind.value,
        "chromium_priority": source.priority.value if source.priority is not None else None,
        "incremental": source.incremental,
        "found_by": ids[found.parent] if found.parent is not None else None,
        "found_when": found.when,
    }
    if found.when == "bytes":
        entry["found_at_bytes"] = found.at_bytes
    if found.delay_ms:
        entry["delay_ms"] = found.delay_ms
    return entry


def _served(copy: Copy, file: str) -> dict[str, Any]:
    """The keys of an entry that the server reads."""
    entry: dict[str, Any] = {"host": copy.host, "path": copy.path}
    if copy.source.method != "GET":
        entry["method"] = copy.source.method
    entry |= {"file": file, "mime": copy.mime, "body_bytes": len(copy.body)}
    if copy.source.encoding is not None and copy.body:
        entry["encoding"] = copy.source.encoding
    if copy.source.status != _OK:
        entry["status"] = copy.source.status
    entry["headers"] = {name: values[0] if len(values) == 1 else values for name, values in copy.headers.items()}
    if copy.priority:
        entry["priority"] = copy.priority
    return entry


def _ids(copies: Sequence[Copy], hosts: Sequence[str]) -> list[str]:
    """Names for people, each once: "html" for the document, paths for the page's own host, HOST/PATH for others."""
    ids = ["html"]
    taken = Counter(ids)
    for copy in copies[1:]:
        path, mark, query = copy.path.partition("?")
        if len(query) > _ID_QUERY_CHARACTERS:
            query = f"{query[:_ID_QUERY_CHARACTERS]}…"
        if len(path) > _ID_PATH_CHARACTERS:
            path = f"{path[:_ID_PATH_CHARACTERS]}…"
        base = (path.lstrip("/") or "/") + mark + query
        base = base if not copy.host else f"{hosts[copy.host]}/{base.lstrip('/')}"
        taken[base] += 1
        ids.append(base if taken[base] == 1 else f"{base}#{taken[base]}")
    return ids


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """The manifest as JSON: a key a line, short lists and tables on one line."""
    return _pretty(manifest, "") + "\n"


def _pretty(value: Any, indent: str) -> str:
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    is_top = not indent
    if not isinstance(value, dict | list) or not value or (not is_top and len(line) + len(indent) <= _LINE_CHARACTERS):
        return line
    deeper = indent + " "
    if isinstance(value, dict):
        items = [
            f"{deeper}{json.dumps(key, ensure_ascii=False)}: {_pretty(item, deeper)}" for key, item in value.items()
        ]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    return "[\n" + ",\n".join(f"{deeper}{_pretty(item, deeper)}" for item in value) + f"\n{indent}]"


_EMPTY_NAME = "empty"  # the file of all that has no body


def write_recording(
    target: Path,
    exchanges: Sequence[RecordedExchange],
    facts: RecordingFacts,
    *,
    besides: Sequence[RecordedExchange] = (),
    replace: bool = False,
) -> RecordingSummary:
    """Make the folder `target`, a site that any rung can play.

    exchanges: of one page load, in the order in which requests left. besides: what is to be served as well, but is not part of
    the page, such as what only another form factor asks for. replace: whether a folder that is there may go.
    The folder appears whole, or not at all. Raises SiteError for recordings without the page's document, for too large
    ones, and for a target that exists.
    """
    check_target(target, replace=replace)
    selection = select(exchanges, facts.url, besides)
    names = _host_names(selection)
    hosts = tuple(dict.fromkeys(names.values()))
    copier = Copier(hosts, Renaming(names))
    page, others = copier.copies(selection.page, selection.besides)
    made = _Made(
        facts=_named(facts),
        names=names,
        page=page,
        besides=others,
        dropped_headers=copier.dropped,
        left_out=(*facts.left_out, *selection.left_out, *copier.left_out),
        doubled=selection.doubled + copier.doubled,
        notes=(*facts.notes, *selection.notes, *copier.notes),
    )
    make_folder(target, made.fill, is_good=lambda: False)
    return made.summary(target)


@dataclass(frozen=True)
class _Made:
    """A site that is ready to be written, and its summary."""

    facts: RecordingFacts
    names: Mapping[Origin, str]
    page: Sequence[Copy]
    besides: Sequence[Copy]
    dropped_headers: Mapping[str, int]
    left_out: tuple[LeftOut, ...]
    doubled: int
    notes: tuple[str, ...]

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.names.values()))

    def fill(self, folder: Path) -> None:
        """Write everything into an empty folder, and see that it is a site."""
        file_names = FileNames()
        page = [self._write(item, folder / ROOT_NAME, file_names) for item in self.page]
        besides = [self._write(item, folder / ROOT_NAME, file_names) for item in self.besides]
        listed = list(zip(self.page, discovery(self.page), page, strict=True))
        manifest = manifest_of(
            self.facts, self.hosts, listed, list(zip(self.besides, besides, strict=True)), self.notes
        )
        (folder / MANIFEST_NAME).write_text(manifest_text(manifest), encoding="utf-8")
        load_built(folder)

    def _write(self, item: Copy, root: Path, names: FileNames) -> str:
        """Write a body; the name of its file, which all that have none share."""
        path = item.path if item.source.method == "GET" else f"{item.path}~{item.source.method}"
        name = names.name(self.hosts[item.host], path, suffix_of_mime(item.mime)) if item.body else _EMPTY_NAME
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(item.body)
        return name

    def summary(self, folder: Path) -> RecordingSummary:
        kinds = {kind.value: [len(item.body) for item in self.page if item.source.kind is kind] for kind in Kind}
        first_screen = [item for item in self.page if item.source.flags & {Flag.ABOVE_FOLD, Flag.HERO}]
        return RecordingSummary(
            folder=folder,
            name=self.facts.name,
            url=self._url_of(self.page[0]),
            hosts={host: tuple(str(item) for item, name in self.names.items() if name == host) for host in self.hosts},
            kinds={kind: KindSum(len(sizes), sum(sizes)) for kind, sizes in kinds.items() if sizes},
            resources=len(self.page),
            body_bytes=sum(len(item.body) for item in self.page),
            above_fold=tuple(self._url_of(item) for item in first_screen),
            hero=next((self._url_of(item) for item in first_screen if Flag.HERO in item.source.flags), None),
            rewritten=tuple(self._url_of(item) for item in (*self.page, *self.besides) if item.rewritten),
            dropped_headers=dict(sorted(self.dropped_headers.items())),
            also_served=len(self.besides),
            doubled=self.doubled,
            left_out=self.left_out,
            notes=self.notes,
        )

    def _url_of(self, item: Copy) -> str:
        return f"https://{self.hosts[item.host]}{item.path}"


def check_target(target: Path, *, replace: bool) -> None:
    """Refuse a folder that cannot be made, or is there, unless it may be replaced and is a site. Raises SiteError."""
    require_writable(target)
    if not target.exists() and not target.is_symlink():
        return
    if not replace:
        raise SiteError(
            f"'{shown(target)}' exists", fix="--replace puts the new site in its place; or choose another --name"
        )
    if not target.is_dir() or target.is_symlink() or not (target / MANIFEST_NAME).is_file():
        raise SiteError(f"'{shown(target)}' is not replaced", why="it is not a site that was made like this one")


def _named(facts: RecordingFacts) -> RecordingFacts:
    """With a name that a site can have."""
    return replace(facts, name=site_name_of(facts.name))


def _host_names(selection: Selection) -> dict[Origin, str]:
    """The site's name of every recorded origin, the page's own first."""
    urls = [item.url for item in (*selection.page, *selection.besides)]
    return site_hosts(origin for url in urls if (origin := origin_of(url)) is not None)
