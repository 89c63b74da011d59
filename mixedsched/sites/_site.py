"""A site: what the server serves. Its manifest is a page description with a few keys more; its files lie under www."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from mixedsched.errors import PageError, SiteError
from mixedsched.model.codings import Coding
from mixedsched.model.page import Page
from mixedsched.sites._paths import confined, default_file
from mixedsched.sites._responses import ResponseSettings, read_rules, settings_of
from mixedsched.sites._served import Manifest, Origins, Served
from mixedsched.sites._wire import mime_of_file

MANIFEST_NAME = "page.json"
ROOT_NAME = "www"

Key = tuple[int, str]  # host index, path with query


@dataclass(frozen=True, slots=True)
class Variant:
    """An answer to another request than a plain GET, of a site that is replayed.

    id: of its resource in the page, if it is one. file: None for a recorded 304, which answers GETs with this if_none_match.
    """

    id: str
    host: int
    path: str
    method: str
    file: Path | None
    mime: str
    encoding: Coding | None
    settings: ResponseSettings
    if_none_match: str | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """A complete page with its files, ready to serve.

    hosts: names it is reached under, the page's own first; resources name theirs by index. entry: path of the page.
    root: where the site's files are from; the compressed copies of a plain folder lie elsewhere, so only `files` tells
    what is sent. files: (host index, path with query) -> file, for the page's resources and for whatever else may be
    asked for, absolute and free of links. mimes: content type of each. encodings: content-encoding of those that have one.
    settings: what the site sets for the responses of some. origins: what is to become of its hosts, unless whoever opens it
    says otherwise. credentials: of paths for which the manifest says so, whether requests carry any. connections: how many a
    load takes, if the manifest says so. merged_hosts, notes: hosts that were merged into the first, and what that could not do.
    replay: requests are matched as in a recording, see docs/sites.md. variants: what it answers to others than plain GETs.
    """

    name: str
    description: str
    source: str
    licence: str
    hosts: tuple[str, ...]
    entry: str
    root: Path
    page: Page
    files: Mapping[Key, Path]
    mimes: Mapping[Key, str]
    encodings: Mapping[Key, Coding]
    title: str = ""
    settings: Mapping[Key, ResponseSettings] = field(default_factory=dict)
    origins: Origins = Origins.KEEP
    credentials: Mapping[Key, bool] = field(default_factory=dict)
    connections: int | None = None
    merged_hosts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    replay: bool = False
    variants: tuple[Variant, ...] = ()

    @property
    def url(self) -> str:
        """What a browser opens, without a port."""
        return f"https://{self.hosts[0]}{self.entry}"


def site_name_of(text: str) -> str:
    """A name that may stand in a host name: lower-case letters, digits and hyphens."""
    kept = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in text.lower())
    return kept.strip("-")[:63].strip("-") or "site"


def site_of(data: Any, root: Path, origin: str, encoded_root: Path | None = None) -> Site:
    """Check a manifest against its files and make the site.

    data: the manifest as JSON gives it. encoded_root: where files with an encoding lie, by default root as well.
    origin: how errors call the manifest. Raises SiteError.
    """
    page, manifest = _read(data, origin)
    rules = read_rules(manifest.responses, origin)
    found = _check_files(manifest, root, encoded_root or root, origin)
    own = [(item.host, item.path, item.settings(replay=manifest.replay)) for item in manifest.listed]
    settings = settings_of(rules, manifest.hosts, own, origin)
    chosen = _chosen(manifest)
    if (0, manifest.entry) not in chosen:
        raise SiteError(f"{origin} has no file for its entry '{manifest.entry}'", fix="list it among the resources")
    return Site(
        name=page.name,
        description=manifest.description,
        source=manifest.source,
        licence=manifest.licence,
        hosts=manifest.hosts,
        entry=manifest.entry,
        root=root,
        page=page,
        files=MappingProxyType({key: found[number] for key, number in chosen.items()}),
        mimes=MappingProxyType({key: _mime(manifest.listed[number]) for key, number in chosen.items()}),
        encodings=MappingProxyType(
            {key: coding for key, number in chosen.items() if (coding := manifest.listed[number].encoding) is not None}
        ),
        title=manifest.title or page.name,
        settings=MappingProxyType(
            {key: settings[number] for key, number in chosen.items() if settings[number] != ResponseSettings()}
        ),
        origins=manifest.origins,
        credentials=MappingProxyType(_told_credentials(manifest)),
        connections=manifest.connections,
        replay=manifest.replay,
        variants=tuple(
            _variant(item, found.get(number), settings[number])
            for number, item in enumerate(manifest.listed)
            if not item.is_plain
        ),
    )


def file_problems(data: Any, root: Path, origin: str) -> list[SiteError]:
    """All that is wrong with a manifest's files, where site_of would stop at the first. Raises SiteError for the manifest."""
    _, manifest = _read(data, origin)
    problems = []
    for served in manifest.listed:
        try:
            _checked_file(served, root, manifest, origin)
        except SiteError as error:
            problems.append(error)
    return problems


def _read(data: Any, origin: str) -> tuple[Page, Manifest]:
    try:
        page = Page.from_dict(data, origin)
        manifest = Manifest.model_validate(data)
    except PageError as error:
        raise SiteError(error.what, why=error.why, fix=error.fix) from error
    except ValidationError as error:
        finding = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in finding["loc"] if step != "[key]")
        reason = finding["msg"].removeprefix("Value error, ")
        raise SiteError(
            f"{origin} is refused", why=f"{where}: {reason}" if where else reason, fix="correct it"
        ) from error
    _check_hosts(manifest.hosts, origin)
    return page, manifest


def _variant(item: Served, file: Path | None, settings: ResponseSettings) -> Variant:
    return Variant(
        item.id, item.host, item.path, item.method, file, _mime(item), item.encoding, settings, item.if_none_match
    )


def _chosen(manifest: Manifest) -> dict[Key, int]:
    """Which entry answers plain GETs for each address: of twins the last one of status 200, else the first one."""
    chosen: dict[Key, int] = {}
    for number, item in enumerate(manifest.listed):
        twin = chosen.get((item.host, item.path))
        if item.is_plain and (twin is None or item.status == 200):
            chosen[item.host, item.path] = number
    return chosen


def _told_credentials(manifest: Manifest) -> dict[Key, bool]:
    return {(item.host, item.path): item.credentials for item in manifest.listed if item.credentials is not None}


def _check_hosts(hosts: Iterable[str], origin: str) -> None:
    seen = set()
    for host in hosts:
        labels = host.split(".")
        fine = all(label and label == site_name_of(label) for label in labels)
        if not fine or host in seen:
            why = "it is listed twice" if host in seen else "that is no lower-case host name"
            raise SiteError(f"{origin} names the host '{host}'", why=why, fix="write names such as shop.test")
        seen.add(host)


def _check_files(manifest: Manifest, root: Path, encoded_root: Path, origin: str) -> dict[int, Path]:
    """The files of the entries, by number, all but those of a recorded 304. Raises SiteError for the first bad one."""
    files: dict[int, Path] = {}
    seen: set[Key] = set()
    for number, served in enumerate(manifest.listed):
        if (served.host, served.path) in seen and not manifest.replay:
            raise SiteError(
                f"{origin}: resource '{served.name}' is refused",
                why=f"the path '{served.path}' is listed twice",
                fix="list it once",
            )
        seen.add((served.host, served.path))
        file = _checked_file(served, root if served.encoding is None else encoded_root, manifest, origin)
        if file is not None:
            files[number] = file
    return files


def _checked_file(served: Served, root: Path, manifest: Manifest, origin: str) -> Path | None:
    """The file of an entry, free of links; None for a recorded 304. Raises SiteError."""
    what = f"{origin}: resource '{served.name}'"
    if served.host >= len(manifest.hosts):
        raise SiteError(f"{what} is on host {served.host}", why=f"there are {len(manifest.hosts)}, counted from 0")
    if served.if_none_match is not None:
        return None
    file = _file(served)
    path = confined(root, file, what)
    size_bytes = path.stat().st_size
    if size_bytes != served.body_bytes:
        raise SiteError(
            f"{what} should have {served.body_bytes} bytes",
            why=f"its file '{file}' has {size_bytes}",
            fix="put the right file there, or correct body_bytes",
        )
    return path.resolve()  # the server follows no link


def _file(served: Served) -> str:
    return served.file if served.file is not None else default_file(served.path)


def _mime(served: Served) -> str:
    return served.mime or mime_of_file(_file(served))
