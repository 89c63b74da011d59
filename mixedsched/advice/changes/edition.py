"""Editions of a site: whole copies in folders of their own, equal byte for byte but for what was changed."""

from __future__ import annotations

import glob
import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mixedsched.advice.changes.change import Action, Change, Key, code_of
from mixedsched.advice.changes.html_change import Document, changed_text
from mixedsched.errors import SiteError
from mixedsched.model import codings
from mixedsched.model.page import PAGE_FORMAT
from mixedsched.sites.opening import load_site
from mixedsched.sites.site import ResponseSettings, Site, SiteVariant
from mixedsched.sites.site.folders import make_folder

MANIFEST_NAME, ROOT_NAME = "page.json", "www"
_ENTRY_FILE = "changed-entry"  # where the changed document lies, in a folder that no site of ours has files in


@dataclass(frozen=True, slots=True)
class Edition:
    """A changed copy of a site."""

    site: Site
    folder: Path
    digest: str  # fingerprint of the changes, and of the site that they were made to


def document_of(site: Site) -> Document:
    """The page's own document, ready to be changed. Raises SiteError if its file is not in the coding that it is served in."""
    key = 0, site.entry
    body = site.files[key].read_bytes()
    try:
        plain = codings.decode(body, site.encodings[key]) if key in site.encodings else body
    except codings.UndecodableError as error:
        raise SiteError(
            f"site '{site.name}': {site.entry} cannot be read", why=str(error), fix="put the right file there"
        ) from error
    return Document(plain.decode("latin-1"), site.page, site.hosts)


def make_edition(site: Site, site_digest: str, changes: Sequence[Change], folder: Path) -> Edition:
    """Write the site with its changes to a folder below `folder`, unless it is there already.

    site_digest: fingerprint of what the site serves. Raises SiteError if it cannot be written.
    """
    digest = hashlib.sha256(f"{site_digest} {code_of(changes)}".encode()).hexdigest()[:16]
    target = folder / digest

    def is_good() -> bool:
        return (target / MANIFEST_NAME).is_file()

    if not is_good():
        make_folder(target, lambda fresh: _fill(fresh, site, changes), is_good)
    return Edition(load_site(target), target, digest)


def _fill(fresh: Path, site: Site, changes: Sequence[Change]) -> None:
    manifest = _own_manifest(site)
    if manifest is not None:
        shutil.copytree(site.root, fresh / ROOT_NAME)
    else:
        manifest = _copied(site, fresh / ROOT_NAME)
    _change_document(site, manifest, changes, fresh / ROOT_NAME)
    manifest["responses"] = [*manifest.get("responses", ()), *_rules(site, changes)]
    (fresh / MANIFEST_NAME).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _own_manifest(site: Site) -> dict[str, Any] | None:
    """What stands beside the site's files, if it is served just so; None for plain folders and merged hosts."""
    file = site.root.parent / MANIFEST_NAME
    if site.merged_hosts or site.root.name != ROOT_NAME or not file.is_file():
        return None
    manifest: dict[str, Any] = json.loads(file.read_bytes())
    is_its_own = manifest.get("name") == site.name and manifest.get("hosts") == list(site.hosts)
    return manifest if is_its_own else None


def _copied(site: Site, www: Path) -> dict[str, Any]:
    """Copy the files of a site that has no manifest of its own, or another than it is served by; its manifest."""
    www.mkdir()
    files = [*site.files.values(), *(item.file for item in site.variants if item.file is not None)]
    names: dict[Path, str] = {}
    for number, file in enumerate(sorted(dict.fromkeys(files))):
        names[file] = f"{number:05d}{file.suffix if file.suffix.isascii() else ''}"
        shutil.copy2(file, www / names[file])  # with its time, which the server tells
    variants = {item.id: item for item in site.variants}
    resources = [
        {
            **item.model_dump(mode="json"),
            "flags": sorted(item.flags),
            **(
                _variant(variants[item.id], names)
                if item.id in variants
                else _served(site, (item.host, item.path), names)
            ),
        }
        for item in site.page.resources
    ]
    ids = {item.id for item in site.page.resources}
    keys = {(item.host, item.path) for item in site.page.resources if item.id not in variants}
    others = [_served(site, key, names) for key in site.files if key not in keys]
    others += [_variant(item, names) for item in site.variants if item.id not in ids]
    delays = {key: settings.delay_ms for key, settings in site.settings.items() if settings.delay_ms}
    return {
        "format": PAGE_FORMAT,
        "name": site.name,
        "title": site.title,
        "description": site.description,
        "licence": site.licence,
        "source": site.source,
        "hosts": list(site.hosts),
        "entry": site.entry,
        "resources": resources,
        "also_served": others,
        "responses": [{**_for_path(site, key), "delay_ms": delay_ms} for key, delay_ms in delays.items()],
        "replay": site.replay,
        **({"connections": site.connections} if site.connections is not None else {}),
    }


def _served(site: Site, key: Key, names: Mapping[Path, str]) -> dict[str, Any]:
    """The entry of a file."""
    file = site.files[key]
    entry: dict[str, Any] = {"host": key[0], "path": key[1], "file": names[file], "mime": site.mimes[key]}
    entry |= {"body_bytes": file.stat().st_size, **_answer(site.settings.get(key, ResponseSettings()))}
    entry |= {"encoding": site.encodings[key]} if key in site.encodings else {}
    return entry | ({"credentials": site.credentials[key]} if key in site.credentials else {})


def _variant(item: SiteVariant, names: Mapping[Path, str]) -> dict[str, Any]:
    """The entry of an answer to another request than a plain GET."""
    entry: dict[str, Any] = {"host": item.host, "path": item.path, "method": item.method, "mime": item.mime}
    entry |= {"id": item.id} if item.id else {}
    entry |= {"encoding": item.encoding} if item.encoding is not None else {}
    entry |= {"if_none_match": item.if_none_match} if item.if_none_match is not None else {}
    if item.file is not None:
        entry["file"] = names[item.file]
    return entry | {"body_bytes": item.file.stat().st_size if item.file is not None else 0, **_answer(item.settings)}


def _answer(settings: ResponseSettings) -> dict[str, Any]:
    """What is set for a response, as keys of its entry; a delay is a rule of its own."""
    headers = {name: list(values) for name, values in settings.headers}
    priority = headers.pop("priority", [])
    answer: dict[str, Any] = {"status": settings.status} if settings.status != ResponseSettings().status else {}
    answer |= {"priority": priority[0]} if priority else {}
    return answer | ({"headers": headers} if headers or settings.bare else {})


def _rules(site: Site, changes: Sequence[Change]) -> list[dict[str, Any]]:
    return [
        {**_for_path(site, key), "priority": change.value}
        for change in changes
        if change.action is Action.HEADER
        for key in change.targets
    ]


def _for_path(site: Site, key: Key) -> dict[str, Any]:
    return {"match": glob.escape(key[1]), "host": site.hosts[key[0]]}


def _change_document(site: Site, manifest: dict[str, Any], changes: Sequence[Change], www: Path) -> None:
    """Put the changed document in the place of the page's own; nothing happens if no change is about it."""
    document = document_of(site)
    text = changed_text(document, changes)
    if text == document.text:
        return
    body = text.encode("latin-1")
    coding = site.encodings.get((0, site.entry))
    body = body if coding is None else codings.encode(body, coding)
    (www / _ENTRY_FILE).write_bytes(body)
    entry = _entry_of(manifest, site.entry)
    entry |= {"file": _ENTRY_FILE, "mime": site.mimes[0, site.entry], "body_bytes": len(body)}
    for item in manifest["resources"]:
        if item.get("found_by") == entry.get("id") and item.get("found_when") == "bytes":
            item["found_at_bytes"] = min(item.get("found_at_bytes", 0), len(body))


def _entry_of(manifest: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The record of the page's document: the last one, where a recording has several."""
    found = [
        item
        for item in (*manifest["resources"], *manifest.get("also_served", ()))
        if item.get("host", 0) == 0 and item["path"] == path and item.get("method", "GET") == "GET"
    ]
    entry: dict[str, Any] = found[-1]
    return entry
