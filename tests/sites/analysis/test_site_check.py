"""What a look over a site finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mixedsched.model.codings import encode
from mixedsched.sites.analysis.check import Severity, SiteFinding, check_site, contradiction
from mixedsched.sites.opening import load_site
from mixedsched.sites.site import Site, built_problems
from tests.sites.folders import built, manifest, page, resource, site_of, write_files

PNG, JPEG = b"\x89PNG\r\n\x1a\n" + bytes(20), b"\xff\xd8\xff\xe0" + bytes(20)


def findings(site: Site) -> list[tuple[str, str, str]]:
    return [(finding.level.value, finding.check, finding.where) for finding in check_site(site) if is_asked(finding)]


def is_asked(finding: SiteFinding) -> bool:
    return finding.check not in {"licence", "hosts"}


def test_a_sound_site_has_no_findings(tmp_path: Path) -> None:
    files: dict[tuple[int, str], str | bytes] = {
        (0, "/"): page("<link rel=stylesheet href=/a.css?v=1>", "<img src=//cdn.test/b.png><a href=/gone>"),
        (0, "/a.css"): "a { background: url(/c.png) }",
        (0, "/c.png"): PNG,
        (1, "/b.png"): PNG,
        (2, "/d.woff2"): "wOF2",
    }
    site = site_of(tmp_path, files, licence="MIT", zipped={(0, "/"), (0, "/a.css")})
    assert check_site(site) == []


def test_missing_references_are_named_with_the_file_that_refers_to_them(tmp_path: Path) -> None:
    files = {(0, "/"): page(body="<img src=/gone.png>"), (0, "/a.css"): "a { background: url(//ads.test/x.png) }"}
    (gone, foreign) = [finding for finding in check_site(site_of(tmp_path, files)) if is_asked(finding)]
    assert (gone.level, gone.where, "/gone.png" in gone.what) == (Severity.ERROR, "shop.test/", True)
    assert (foreign.level, foreign.where, "none of its hosts" in foreign.what) == (
        Severity.ERROR,
        "shop.test/a.css",
        True,
    )


def test_references_are_looked_for_where_a_base_element_has_them(tmp_path: Path) -> None:
    text = page("<base href=/app/>", "<img src=a.png><img src=gone.png><img src=data:,x>")
    (gone,) = [one for one in check_site(site_of(tmp_path, {(0, "/"): text, (0, "/app/a.png"): PNG})) if is_asked(one)]
    assert (gone.level, "gone.png" in gone.what) == (Severity.ERROR, True)


def test_a_recording_need_not_have_all_that_it_refers_to(tmp_path: Path) -> None:
    text = page(body="<img src=/gone.png><img src=/b.png?cb=2>")
    files: dict[tuple[int, str], str | bytes] = {(0, "/"): text, (0, "/b.png?cb=1"): PNG}
    assert findings(site_of(tmp_path, files, replay=True)) == [("warning", "references", "shop.test/")]


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
def test_what_is_not_in_its_encoding_is_an_error(tmp_path: Path, coding: str) -> None:
    files: dict[tuple[int, str], str | bytes] = {
        (0, "/"): "hi",
        (0, "/good.css"): encode(b"a {}", coding),
        (0, "/bad.css"): encode(b"a {}", coding)[:-2],
    }
    entries = {(0, path): {"encoding": coding} for path in ("/good.css", "/bad.css")}
    found = findings(site_of(tmp_path, files, entries=entries))
    assert ("error", "encoding", "shop.test/bad.css") in found
    assert not [finding for finding in found if "good" in finding[2]]


def test_types_that_contents_contradict(tmp_path: Path) -> None:
    files: dict[tuple[int, str], str | bytes] = {
        (0, "/"): "hi",
        (0, "/a.png"): JPEG,
        (0, "/a.js"): page(),
        (0, "/error.js"): page(),
    }
    found = findings(site_of(tmp_path, files, entries={(0, "/error.js"): {"status": 404}}))
    assert found == [("error", "type", "shop.test/a.js"), ("warning", "type", "shop.test/a.png")]


@pytest.mark.parametrize(
    ("mime", "body", "found"),
    [
        ("image/jpeg", PNG, "image/png"),
        ("image/png", b"<html>", "text/html"),
        ("image/png", b"nothing", "something else"),
        ("image/svg+xml", b"<?xml version='1.0'?><!-- a --><svg xmlns=''>", None),
        ("image/x-icon", PNG, "image/png"),
        ("image/vnd.microsoft.icon", b"\0\0\1\0", None),
        ("font/ttf", b"OTTO", None),
        ("application/octet-stream", PNG, None),
        ("text/css", b"a {}", None),
        ("image/png", b"", None),
        ("video/webm", b"\0\0\0\x18ftypmp42", None),
    ],
)
def test_sniffing(mime: str, body: bytes, found: str | None) -> None:
    assert contradiction(mime, body) == found


def test_files_that_nobody_can_ask_for_are_told_but_not_the_sources_of_compressed_ones(tmp_path: Path) -> None:
    style = resource("/a.css", 4, kind="stylesheet", file="a.css.gz", encoding="gzip")
    files = {"a.css": "a {}", "a.css.gz": "gzip", "left/over": "x"}
    site = load_site(built(tmp_path, manifest(style), files))
    assert ("warning", "unused", "left/over") in findings(site)
    assert not [finding for finding in findings(site) if finding[2] == "a.css"]


def test_the_page_itself_must_be_one(tmp_path: Path) -> None:
    site = site_of(tmp_path, {(0, "/"): "hi"}, entries={(0, "/"): {"status": 500, "mime": "text/plain"}})
    assert [finding for finding in findings(site) if finding[1] == "entry"] == [
        ("error", "entry", "shop.test/"),
        ("warning", "entry", "shop.test/"),
    ]


def test_licence_and_idle_hosts(tmp_path: Path) -> None:
    found = check_site(site_of(tmp_path, {(0, "/"): page()}))
    assert [finding.where for finding in found if finding.check == "hosts"] == ["cdn.test", "fonts.test"]
    assert [finding.check for finding in found].count("licence") == 1


def test_all_bad_files_are_told_at_once(tmp_path: Path) -> None:
    entries = [resource("/gone", 1), resource("/a", 7), resource("/b", 1)]
    folder = built(tmp_path, manifest(*entries), {"a": "x", "b": "x"})
    told = [str(problem) for problem in built_problems(folder)]
    assert len(told) == 2
    assert "does not exist" in told[0]
    assert "should have 7 bytes" in told[1]


@pytest.mark.parametrize("text", ["{", json.dumps({"format": "x"}), json.dumps(manifest(resource("/a", 1, status=9)))])
def test_a_bad_manifest_is_one_problem(tmp_path: Path, text: str) -> None:
    assert len(built_problems(write_files(tmp_path, {"page.json": text}))) == 1


def test_other_folders_have_no_such_problems(tmp_path: Path) -> None:
    assert built_problems(tmp_path) == []
