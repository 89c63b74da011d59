"""An edition is the site, byte for byte, but for what was changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mixedsched.advice.changes.change import Action, Change, Key
from mixedsched.advice.changes.page_change import document_of, make_edition, with_resources
from mixedsched.model import codings
from mixedsched.sites.analysis.connections import expected_connections
from mixedsched.sites.making import merged
from mixedsched.sites.opening import load_site
from mixedsched.sites.serving import served_site
from mixedsched.sites.site import Site, site_digest
from tests.advice.changes.shop import HTML

SETTINGS = """
[[responses]]
match = "/below.jpg"
delay_ms = 50
priority = "u=4"
headers = { "cache-control" = "no-store" }
[[responses]]
match = "/*.js"
headers = { "set-cookie" = ["a=1", "b=2"] }
"""


def change(action: Action, *targets: Key, value: str = "") -> Change:
    return Change(action, targets, "", value)


@pytest.fixture
def plain(tmp_path: Path) -> Site:
    """A plain folder with compressed texts, settings for responses, and a file that no document names."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "index.html").write_text(HTML * 3, encoding="utf-8")
    for name in ("hero.jpg", "below.jpg", "spare.bin"):
        (folder / name).write_bytes(name.encode() * 500)
    for name in ("app.js", "late.js", "site.css", "odd [1]*.js"):
        (folder / name).write_text(f"/* {name} */" * 300, encoding="utf-8")
    (folder / "mixedsched.toml").write_text(SETTINGS, encoding="utf-8")
    return load_site(folder, tmp_path / "build")


@pytest.fixture
def two_hosts(plain: Site) -> Site:
    """The same, with an image on a second host."""
    moved = "/hero.jpg"
    resources = [item.model_copy(update={"host": 1}) if item.path == moved else item for item in plain.page.resources]
    tables: dict[str, Any] = {
        name: {(int(key[1] == moved), key[1]): value for key, value in getattr(plain, name).items()}
        for name in ("files", "mimes", "encodings", "settings")
    }
    page = with_resources(plain.page, resources)
    return replace(plain, hosts=(*plain.hosts, "cdn.shop.test"), page=page, **tables)


def contents(site: Site) -> dict[Key, bytes]:
    return {key: file.read_bytes() for key, file in site.files.items()}


def served(site: Site) -> object:
    """All that the server makes of it, apart from where files lie."""
    return {
        (host, path): (
            entry.mime,
            entry.encoding,
            entry.kind,
            entry.flags,
            entry.status,
            entry.delay_ms,
            sorted(entry.headers),
        )
        for host, entries in served_site(site).entries.items()
        for path, entry in entries.items()
    }


@pytest.mark.parametrize("kind", ["plain", "two hosts", "merged"])
def test_an_edition_without_changes_serves_the_same(kind: str, plain: Site, two_hosts: Site, tmp_path: Path) -> None:
    site = {"plain": plain, "two hosts": two_hosts, "merged": merged(two_hosts, tmp_path / "build")}[kind]
    edition = make_edition(site, "d", (), tmp_path / "editions")
    assert contents(edition.site) == contents(site)
    assert served(edition.site) == served(site)
    assert (edition.site.hosts, edition.site.url, edition.site.name) == (site.hosts, site.url, site.name)
    assert site_digest(edition.site) == site_digest(site)


@pytest.mark.parametrize("kind", ["plain", "two hosts"])
def test_a_changed_document_is_all_that_differs(kind: str, plain: Site, two_hosts: Site, tmp_path: Path) -> None:
    site = plain if kind == "plain" else two_hosts
    changes = [change(Action.DEFER, (0, "/app.js")), change(Action.PRELOAD, (0, "/site.css"))]
    edition = make_edition(site, "d", changes, tmp_path / "editions")
    before, after = contents(site), contents(edition.site)
    assert {key for key in before if before[key] != after[key]} == {(0, "/")}
    assert before.keys() == after.keys()
    text = codings.decode(after[0, "/"], "gzip").decode()
    assert text == document_of(site).text.encode("latin-1").decode().replace(
        '<script src="/app.js">', '<script defer src="/app.js">'
    ).replace("  <script defer", '  <link rel="preload" as="style" href="/site.css">\n  <script defer', 1)
    assert served(edition.site) == served(site)


def test_a_priority_header_is_set_for_its_files_alone_and_over_the_sites_own(plain: Site, tmp_path: Path) -> None:
    header = change(Action.HEADER, (0, "/below.jpg"), (0, "/odd%20[1]*.js"), value="u=6, i")
    edition = make_edition(plain, "d", [header], tmp_path / "editions")
    assert contents(edition.site) == contents(plain)
    sent = {key: dict(settings.headers) for key, settings in edition.site.settings.items()}
    assert sent[0, "/below.jpg"] == {"priority": ("u=6, i",), "cache-control": ("no-store",)}
    assert sent[0, "/odd%20[1]*.js"] == {"priority": ("u=6, i",), "set-cookie": ("a=1", "b=2")}
    assert sent[0, "/app.js"] == {"set-cookie": ("a=1", "b=2")}
    assert (0, "/hero.jpg") not in sent


def test_editions_are_written_once_and_apart(plain: Site, tmp_path: Path) -> None:
    def document(digest: str, *changes: Change) -> Path:
        return make_edition(plain, digest, changes, tmp_path / "editions").site.files[0, "/"]

    lazy, eager = change(Action.LAZY, (0, "/below.jpg")), change(Action.DEFER, (0, "/app.js"))
    one = document("d", lazy)
    assert len({document("d"), one, document("d", eager), document("e", lazy)}) == 4
    stamp = one.stat().st_mtime_ns
    assert document("d", lazy) == one
    assert one.stat().st_mtime_ns == stamp


def test_the_page_of_a_changed_document_has_its_size_and_what_it_names_is_found_in_it(
    plain: Site, tmp_path: Path
) -> None:
    edition = make_edition(plain, "d", [change(Action.DEFER, (0, "/app.js"))], tmp_path / "editions").site
    assert edition.page.main.body_bytes == edition.files[0, "/"].stat().st_size
    assert all(item.found_at_bytes <= edition.page.main.body_bytes for item in edition.page.resources)
    assert expected_connections(edition) == expected_connections(plain)


def recording(folder: Path) -> Site:
    """A replayed site of two hosts: headers as recorded, an answer to a POST, and one to a conditional request."""
    www = folder / "www"
    www.mkdir(parents=True)
    html = b'<html><head><script src="/app.js"></script></head><img src="https://cdn.rec.test/a.jpg"></html>'
    bodies = {"index": html, "app": b"1;" * 400, "a": b"jpg" * 99, "api": b'{"ok": true}'}
    for name, body in bodies.items():
        (www / name).write_bytes(body)
    found = {"found_by": "html", "found_when": "complete"}
    resources = [
        {"id": "html", "path": "/", "kind": "document", "mime": "text/html", "file": "index", "headers": {"x-a": "1"}},
        {"id": "app", "path": "/app.js", "kind": "script", "mime": "text/javascript", "file": "app", **found},
        {"id": "a", "host": 1, "path": "/a.jpg", "kind": "image", "mime": "image/jpeg", "file": "a", "headers": {}, **found},
        {"id": "api", "path": "/api", "kind": "xhr", "mime": "application/json", "file": "api", "method": "POST",
         "status": 201, **found},
    ]  # fmt: skip
    conditional = {"path": "/app.js", "status": 304, "if_none_match": '"1"', "body_bytes": 0, "mime": "text/javascript"}
    manifest = {
        "format": "mixedsched.page/1",
        "name": "rec",
        "hosts": ["rec.test", "cdn.rec.test"],
        "replay": True,
        "resources": [{**item, "body_bytes": len(bodies[str(item["file"])])} for item in resources],
        "also_served": [conditional],
    }
    (folder / "page.json").write_text(json.dumps(manifest))
    return load_site(folder)


@pytest.mark.parametrize("is_merged", [False, True])
def test_an_edition_of_a_recording_answers_as_the_recording(is_merged: bool, tmp_path: Path) -> None:
    site = recording(tmp_path / "rec")
    site = merged(site, tmp_path / "build") if is_merged else site
    edition = make_edition(site, "d", [change(Action.DEFER, (0, "/app.js"))], tmp_path / "editions").site
    before, after = contents(site), contents(edition)
    assert {key for key in before if before[key] != after[key]} == {(0, "/")}
    assert served(edition) == served(site)
    assert edition.replay
    assert [
        (item.method, item.path, item.settings, item.if_none_match, item.file and item.file.read_bytes())
        for item in edition.variants
    ] == [
        (item.method, item.path, item.settings, item.if_none_match, item.file and item.file.read_bytes())
        for item in site.variants
    ]
