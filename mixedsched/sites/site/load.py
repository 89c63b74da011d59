"""From the folder of a built site, or from a manifest, to a site: every file is checked. And its fingerprint."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from mixedsched.errors import PageError, SiteError
from mixedsched.model.page import Page
from mixedsched.model.toml_file import wrong_keys
from mixedsched.sites.site._manifest import Manifest, ManifestEntry
from mixedsched.sites.site._site import MANIFEST_NAME, ROOT_NAME, Key, Site, SiteVariant, site_name_of
from mixedsched.sites.site.paths import confined, shown
from mixedsched.sites.site.responses import SETTINGS_NAME, ResponseSettings, read_rules, settings_of


def load_built(directory: Path) -> Site:
    """Read a site that was built or recorded: page.json, with its files below www.

    Every file lies inside the root, links followed, can be read, and is as large as the manifest says. Raises SiteError.
    """
    origin = shown(directory / MANIFEST_NAME)
    try:
        if (directory / SETTINGS_NAME).exists():
            raise SiteError(
                f"'{shown(directory)}' has both {MANIFEST_NAME} and {SETTINGS_NAME}",
                why=f"{SETTINGS_NAME} is for plain folders",
                fix=f"write its entries under 'responses' in {MANIFEST_NAME}",
            )
        return site_of(_read_json(directory), directory / ROOT_NAME, origin)
    except OSError as error:
        raise not_a_site(directory, str(error)) from error


def built_problems(directory: Path) -> list[SiteError]:
    """Everything that is wrong with the manifest and the files of a built site; [] for a folder that is not one.

    load_built stops at the first missing file or wrong size; this lists all of them.
    """
    if not (directory / MANIFEST_NAME).is_file():
        return []
    origin = shown(directory / MANIFEST_NAME)
    problems = []
    try:
        _, manifest = _read(_read_json(directory), origin)
        for entry in manifest.listed:
            try:
                _checked_file(entry, directory / ROOT_NAME, manifest, origin)
            except SiteError as error:
                problems.append(error)
    except SiteError as error:
        return [error]
    except OSError as error:
        return [SiteError(f"{origin} cannot be read", why=error.strerror or str(error))]
    return problems


def not_a_site(directory: Path, why: str) -> SiteError:
    """The error for a folder that cannot be taken for a site."""
    return SiteError(
        f"'{shown(directory)}' is not a site",
        why=shown(why),
        fix="name the folder of a built site, or one with an index.html, that you may read",
    )


def site_of(data: Any, root: Path, origin: str, encoded_root: Path | None = None) -> Site:
    """Check a manifest against its files and make the site.

    data: the manifest as JSON gives it. encoded_root: where files with an encoding lie, by default root as well.
    origin: how errors call the manifest. Raises SiteError.
    """
    page, manifest = _read(data, origin)
    rules = read_rules(manifest.responses, origin)
    files = _check_files(manifest, root, encoded_root or root, origin)
    listed = manifest.listed
    own = [(item.host, item.path, item.settings(replay=manifest.replay)) for item in listed]
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
        files=MappingProxyType({key: files[number] for key, number in chosen.items()}),
        mimes=MappingProxyType({key: listed[number].content_type for key, number in chosen.items()}),
        encodings=MappingProxyType(
            {key: coding for key, number in chosen.items() if (coding := listed[number].encoding) is not None}
        ),
        title=manifest.title or page.name,
        settings=MappingProxyType(
            {key: settings[number] for key, number in chosen.items() if settings[number] != ResponseSettings()}
        ),
        origins=manifest.origins,
        credentials=MappingProxyType(
            {(item.host, item.path): item.credentials for item in listed if item.credentials is not None}
        ),
        connections=manifest.connections,
        replay=manifest.replay,
        variants=tuple(
            _variant(item, files.get(number), settings[number])
            for number, item in enumerate(listed)
            if not item.is_plain
        ),
    )


def _read_json(directory: Path) -> Any:
    try:
        return json.loads((directory / MANIFEST_NAME).read_bytes())
    except (ValueError, RecursionError) as error:
        raise SiteError(f"{shown(directory / MANIFEST_NAME)} is not JSON", why=str(error), fix="correct it") from error


def _read(data: Any, origin: str) -> tuple[Page, Manifest]:
    try:
        page = Page.from_dict(data, origin)
        manifest = Manifest.model_validate(data)
    except PageError as error:
        raise SiteError(error.what, why=error.why, fix=error.fix) from error
    except ValidationError as error:
        raise SiteError(f"{origin} is refused", why=wrong_keys(error), fix="correct it") from error
    _check_hosts(manifest.hosts, origin)
    return page, manifest


def _variant(item: ManifestEntry, file: Path | None, settings: ResponseSettings) -> SiteVariant:
    return SiteVariant(
        item.id, item.host, item.path, item.method, file, item.content_type, item.encoding, settings, item.if_none_match
    )


def _chosen(manifest: Manifest) -> dict[Key, int]:
    """Which entry answers plain GETs for each address: of twins the last one of status 200, else the first one."""
    chosen: dict[Key, int] = {}
    for number, item in enumerate(manifest.listed):
        twin = chosen.get((item.host, item.path))
        if item.is_plain and (twin is None or item.status == 200):
            chosen[item.host, item.path] = number
    return chosen


def _check_hosts(hosts: Iterable[str], origin: str) -> None:
    seen = set()
    for host in hosts:
        labels = host.split(".")
        fine = all(label and label == site_name_of(label) for label in labels)
        if not fine or host in seen:
            why = "it is listed twice" if host in seen else "that is not a lower-case host name"
            raise SiteError(f"{origin} names the host '{host}'", why=why, fix="write names such as shop.test")
        seen.add(host)


def _check_files(manifest: Manifest, root: Path, encoded_root: Path, origin: str) -> dict[int, Path]:
    """The files of the entries by number, except those of recorded 304s. Raises SiteError for the first bad one."""
    files: dict[int, Path] = {}
    seen: set[Key] = set()
    for number, entry in enumerate(manifest.listed):
        if (entry.host, entry.path) in seen and not manifest.replay:
            raise SiteError(
                f"{origin}: resource '{entry.name}' is refused",
                why=f"the path '{entry.path}' is listed twice",
                fix="list it once",
            )
        seen.add((entry.host, entry.path))
        file = _checked_file(entry, root if entry.encoding is None else encoded_root, manifest, origin)
        if file is not None:
            files[number] = file
    return files


def _checked_file(entry: ManifestEntry, root: Path, manifest: Manifest, origin: str) -> Path | None:
    """The file of an entry, free of links; None for a recorded 304. Raises SiteError."""
    what = f"{origin}: resource '{entry.name}'"
    if entry.host >= len(manifest.hosts):
        raise SiteError(f"{what} is on host {entry.host}", why=f"there are {len(manifest.hosts)}, counted from 0")
    if entry.if_none_match is not None:
        return None
    path = confined(root, entry.file_name, what)
    size_bytes = path.stat().st_size
    if size_bytes != entry.body_bytes:
        raise SiteError(
            f"{what} should have {entry.body_bytes} bytes",
            why=f"its file '{entry.file_name}' has {size_bytes}",
            fix="put the right file there, or correct body_bytes",
        )
    return path.resolve()  # the server follows no link


def site_digest(site: Site) -> str:
    """A fingerprint of what is served: results of a changed site must not be mixed with earlier ones."""
    digest = hashlib.sha256(site.entry.encode())
    if site.application is not None:  # what it serves is its own affair, and may change
        digest.update(f"live {site.application.origin} {site.application.rules_digest}".encode())
    for (host, path), file in sorted(site.files.items()):
        content = _content_digest(file)
        digest.update(f"{host} {path} {site.mimes[host, path]} {site.encodings.get((host, path))} {content}\n".encode())
        if (settings := site.settings.get((host, path))) is not None:
            digest.update(_settings_text(settings))
    if site.replay:
        digest.update(b"replay\n")
    for item in site.variants:
        content = _content_digest(item.file) if item.file is not None else ""
        facts = (item.method, item.host, item.path, item.if_none_match, item.mime, item.encoding, content)
        digest.update(f"{facts}\n".encode() + _settings_text(item.settings))
    return digest.hexdigest()[:16]


def _content_digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _settings_text(settings: ResponseSettings) -> bytes:
    bare = " bare" if settings.bare else ""
    return f"{settings.status} {settings.delay_ms} {sorted(settings.headers)}{bare}\n".encode()
