"""From exchanges to a site's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from mixedsched.errors import SiteError
from mixedsched.model.request import Flag, Kind
from mixedsched.sites.recorded.copies import Copier, Copy
from mixedsched.sites.recorded.exchange import Exchange
from mixedsched.sites.recorded.facts import KindTotal, LeftOut, RecordingFacts, RecordingSummary
from mixedsched.sites.recorded.graph import discovery
from mixedsched.sites.recorded.hosts import Origin, origin_of, site_hosts
from mixedsched.sites.recorded.manifest import manifest_of, manifest_text, suffix_for
from mixedsched.sites.recorded.names import FileNames
from mixedsched.sites.recorded.rewriting import Renaming
from mixedsched.sites.recorded.selection import Selection, select
from mixedsched.sites.site import MANIFEST_NAME, ROOT_NAME, load_built, site_name_of
from mixedsched.sites.site.folders import make_folder, require_writable
from mixedsched.sites.site.paths import shown

_EMPTY_NAME = "empty"  # the file of all that has no body


def write_recording(
    target: Path,
    exchanges: Sequence[Exchange],
    facts: RecordingFacts,
    *,
    besides: Sequence[Exchange] = (),
    replace: bool = False,
) -> RecordingSummary:
    """Make the folder `target`, a site that any rung can play.

    exchanges: of one page load, in the order in which requests left. besides: what is to be served as well, but is no part of
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
        notes=(*facts.notes, *selection.notes),
    )
    make_folder(target, made.fill, is_good=lambda: False)
    return made.summary(target)


@dataclass(frozen=True)
class _Made:
    """What is to be written, and told."""

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
        name = names.name(self.hosts[item.host], path, suffix_for(item.mime)) if item.body else _EMPTY_NAME
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
            kinds={kind: KindTotal(len(sizes), sum(sizes)) for kind, sizes in kinds.items() if sizes},
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
        raise SiteError(f"'{shown(target)}' is not replaced", why="it is no site that was made like this one")


def _named(facts: RecordingFacts) -> RecordingFacts:
    """With a name that a site can have."""
    return replace(facts, name=site_name_of(facts.name))


def _host_names(selection: Selection) -> dict[Origin, str]:
    """The site's name of every recorded origin, the page's own first."""
    urls = [item.url for item in (*selection.page, *selection.besides)]
    return site_hosts(origin for url in urls if (origin := origin_of(url)) is not None)
