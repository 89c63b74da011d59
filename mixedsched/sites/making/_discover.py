"""Static analysis: from the documents of a site to its page manifest, without a browser.

Found are the references that HTML and CSS spell out. What scripts fetch is not; a recipe can include such files.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mixedsched.errors import SiteError
from mixedsched.model.request import ChromiumPriority, Flag, Kind
from mixedsched.sites.documents.css import rewrite_css
from mixedsched.sites.documents.html import rewrite_html
from mixedsched.sites.documents.references import Reference, ReferenceRole, Scripted, decoded, noting
from mixedsched.sites.site.paths import External, Local, confined, is_confined, matches_any, resolve
from mixedsched.sites.site.wire import mime_of_file

_DOCUMENT_SUFFIXES = (".html", ".htm")


@dataclass(frozen=True, slots=True)
class SentFile:
    """The form in which a file travels."""

    file: str  # the one that is sent, relative to the root
    size_bytes: int
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class Hints:
    """Facts that a recipe knows and the text does not tell, as patterns of request paths."""

    # Images of the first screen.
    hero: tuple[str, ...] = ()
    above_fold: tuple[str, ...] = ()
    # References that no visible element uses (a font weight, a background of another page): a first load never asks for them.
    not_loaded: tuple[str, ...] = ()
    scripted: tuple[Scripted, ...] = ()  # what scripts ask for


@dataclass(slots=True)
class _Found:
    """A resource on its way into the manifest."""

    id: str
    target: Local
    kind: Kind
    found_by: str | None
    found_when: str
    found_at_bytes: int
    flags: set[Flag] = field(default_factory=set)
    chromium_priority: ChromiumPriority | None = None


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a page refers to, as manifest entries."""

    resources: list[dict[str, Any]]  # of the page, in discovery order
    served: list[dict[str, Any]]  # what may be asked for beyond it


def serving_entry(target: Local, sent: SentFile) -> dict[str, Any]:
    """The entry of a manifest that tells the server of a file: address, file, type, size, encoding."""
    entry: dict[str, Any] = {
        "host": target.host,
        "path": target.path,
        "file": sent.file,
        "mime": mime_of_file(target.file),
        "body_bytes": sent.size_bytes,
    }
    return entry if sent.encoding is None else {**entry, "encoding": sent.encoding}


def discover(
    root: Path, entry: str, hosts: tuple[str, ...], sent: Callable[[str], SentFile], hints: Hints, origin: str
) -> Discovery:
    """Follow every reference from the entry page on.

    root: folder with the files as written, not compressed. sent: how a file of it travels.
    Raises SiteError for references that leave the site, all of them named, and for one whose file is missing.
    """
    return _Analysis(root, hosts, sent, hints, origin).run(entry)


class _Analysis:
    """The breadth-first walk over documents: HTML first, then what its style sheets and frames find."""

    def __init__(
        self, root: Path, hosts: tuple[str, ...], sent: Callable[[str], SentFile], hints: Hints, origin: str
    ) -> None:
        self._root = root
        self._hosts = hosts
        self._sent = sent
        self._hints = hints
        self._origin = origin
        self._found: dict[tuple[int, str], _Found] = {}
        self._served: dict[tuple[int, str], Local] = {}
        self._waiting: deque[_Found] = deque()
        self._ids: set[str] = set()
        self._external: list[str] = []

    def run(self, entry: str) -> Discovery:
        main = _Found("html", Local(0, entry), Kind.DOCUMENT, None, "start", 0, {Flag.MAIN, Flag.CRITICAL})
        self._add(main)
        while self._waiting:
            self._read(self._waiting.popleft())
        for item in self._hints.scripted:
            self._add_scripted(item)
        if self._external:
            raise SiteError(
                f"{self._origin} refers to other hosts: {'; '.join(self._external)}",
                why="a lab site must be complete: nothing is fetched from other hosts",
                fix="add --fetch, and the browser fetches them once; or copy each file into the folder and refer to it there",
            )
        resources = [self._entry_of(found) for found in self._found.values()]
        served = [self._serving(target) for key, target in self._served.items() if key not in self._found]
        return Discovery(resources, served)

    def _add(self, found: _Found) -> None:
        self._found[found.target.host, found.target.path] = found
        self._ids.add(found.id)
        self._waiting.append(found)

    def _add_scripted(self, item: Scripted) -> None:
        """List what a script asks for when it runs."""
        target, script = Local(0, item.path), self._found.get((0, item.by))
        if script is None or script.kind is not Kind.SCRIPT:
            raise SiteError(f"{self._origin} has no script '{item.by}'", why=f"it is said to ask for '{item.path}'")
        if (0, item.path) in self._found:
            raise SiteError(f"{self._origin} lists '{item.path}' twice", why="a document spells it out already")
        confined(self._root, target.file, self._origin)
        reference = Reference(item.path, item.kind, 0)
        flags = self._flags(reference, target)
        self._add(_Found(self._unused_id(target), target, item.kind, script.id, "complete", 0, flags))

    def _read(self, parent: _Found) -> None:
        """Find what one document refers to."""
        file = parent.target.file
        is_html = parent.kind is Kind.DOCUMENT and file.lower().endswith(_DOCUMENT_SUFFIXES)
        if not is_html and parent.kind is not Kind.STYLESHEET:
            return
        where = f"{self._origin}: {file}"
        text = decoded(confined(self._root, file, where).read_bytes())
        references: list[Reference] = []
        note = noting(references)
        if is_html:
            rewrite_html(text, note, where)
        else:
            rewrite_css(text, note, where, flags=frozenset({Flag.CRITICAL} & parent.flags))
        size_bytes = max(1, len(text.encode()))
        is_idle = parent.chromium_priority is ChromiumPriority.VERY_LOW  # a sheet that applies to no screen
        for item in sorted(references, key=_turn):
            share = len(text[: item.offset].encode()) / size_bytes
            item = item.unneeded() if is_idle and item.styled else item
            if item.role not in {ReferenceRole.SPARE, ReferenceRole.CONTACT}:  # these load nothing, wherever they point
                self._follow(item, parent, share, where)

    def _follow(self, reference: Reference, parent: _Found, share: float, where: str) -> None:
        target = resolve(reference.url, parent.target.path, self._hosts, parent.target.host)
        if target is None:
            return
        if isinstance(target, External):
            self._external.append(f"{target.url} in {parent.target.file}")
            return
        key = target.host, target.path
        if matches_any(target.path, self._hints.not_loaded):
            if is_confined(self._root, target.file):
                self._served.setdefault(key, target)
        elif reference.role is ReferenceRole.SERVE:
            confined(self._root, target.file, where)
            self._served.setdefault(key, target)
        elif key in self._found:  # preloaded first, used later; what a style shows is not critical for that
            self._found[key].flags |= (
                reference.flags if reference.kind is not Kind.IMAGE else self._flags(reference, target)
            )
        else:
            confined(self._root, target.file, where)
            self._add(self._resource(reference, target, parent, share))

    def _resource(self, reference: Reference, target: Local, parent: _Found, share: float) -> _Found:
        """The resource behind a new reference. share: how much of the parent's text comes before the reference."""
        finder, when, found_at_bytes = parent.id, "complete", 0
        layout = self._last_blocking_sheet(parent) if reference.styled else None
        if parent.kind is not Kind.STYLESHEET and layout is not None:
            finder = layout.id
        elif parent.kind is not Kind.STYLESHEET:
            size_bytes = self._sent(parent.target.file).size_bytes
            when, found_at_bytes = "bytes", min(size_bytes, int(share * size_bytes) + 1)
        flags = self._flags(reference, target)
        name = self._unused_id(target)
        return _Found(name, target, reference.kind, finder, when, found_at_bytes, flags, reference.chromium_priority)

    def _flags(self, reference: Reference, target: Local) -> set[Flag]:
        flags = set() if reference.styled else set(reference.flags)
        if reference.kind is Kind.IMAGE and matches_any(target.path, self._hints.hero):
            flags |= {Flag.HERO, Flag.ABOVE_FOLD}
        elif reference.kind is Kind.IMAGE and matches_any(target.path, self._hints.above_fold):
            flags.add(Flag.ABOVE_FOLD)
        return flags

    def _last_blocking_sheet(self, document: _Found) -> _Found | None:
        """The style sheet of a document's head that comes last: its layout waits for it."""
        own = (item for item in self._found.values() if item.found_by == document.id and item.kind is Kind.STYLESHEET)
        return next((sheet for sheet in reversed(list(own)) if Flag.CRITICAL in sheet.flags), None)

    def _unused_id(self, target: Local) -> str:
        base = target.path.lstrip("/") or target.file
        name = base if not target.host else f"{self._hosts[target.host]}/{base}"
        return name if name not in self._ids else f"{name}#{len(self._ids)}"

    def _entry_of(self, found: _Found) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "id": found.id,
            **self._serving(found.target),
            "kind": found.kind.value,
            "chromium_priority": found.chromium_priority.value if found.chromium_priority else None,
            "incremental": None,
            "found_by": found.found_by,
            "found_when": found.found_when,
        }
        if found.found_when == "bytes":
            entry["found_at_bytes"] = found.found_at_bytes
        entry["flags"] = [flag.value for flag in Flag if flag in found.flags]
        return entry

    def _serving(self, target: Local) -> dict[str, Any]:
        return serving_entry(target, self._sent(target.file))


def _turn(reference: Reference) -> int:
    """The turn in which a browser handles a reference of a document; among those of one turn places in the text decide.

    Its scanner runs ahead of the parser and leaves out style sheets that do not apply; what a style needs is fetched at
    first layout, which waits for the style sheets of the head.
    """
    if reference.styled:
        return 2
    return 1 if reference.kind is Kind.STYLESHEET and reference.chromium_priority is ChromiumPriority.VERY_LOW else 0
