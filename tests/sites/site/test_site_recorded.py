"""What a manifest may say of recorded answers, and what becomes of it when hosts are merged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mixedsched.errors import SiteError
from mixedsched.model.codings import decode, encode
from mixedsched.sites.making import merged
from mixedsched.sites.opening import load_site
from mixedsched.sites.serving import served_site
from mixedsched.sites.site import ResponseSettings, Site, site_digest
from mixedsched.sites.site.responses import why_unfit
from tests.sites.folders import built, manifest, resource, site_of

REDIRECT = {"status": 301, "headers": {"Location": "https://shop.test/new"}}


def recorded(folder: Path, *entries: dict[str, Any], replay: bool = True, **more: Any) -> Site:
    return load_site(built(folder, manifest(*entries, replay=replay, **more), {"a": "a", "b": "bb", "empty": ""}))


def test_an_entry_sets_status_headers_and_priority(tmp_path: Path) -> None:
    entry = resource("/old", 1, file="a", priority="u=1, i", **REDIRECT)
    settings = recorded(tmp_path, entry, replay=False).settings[0, "/old"]
    headers = (("location", ("https://shop.test/new",)), ("priority", ("u=1, i",)))
    assert settings == ResponseSettings(301, 0.0, headers)


def test_with_replay_an_entry_with_headers_has_no_others(tmp_path: Path) -> None:
    site = recorded(tmp_path, resource("/a", 1, headers={}), resource("/b", 2))
    assert site.settings[0, "/a"].bare
    assert (0, "/b") not in site.settings


def test_the_table_of_responses_overrides_entries(tmp_path: Path) -> None:
    entry = resource("/a", 1, status=404, headers={"x-a": "own", "x-b": ["1", "2"]})
    rules = [{"match": "/a", "status": 200, "delay_ms": 5, "headers": {"x-a": "table"}}]
    settings = recorded(tmp_path, entry, responses=rules).settings[0, "/a"]
    assert settings == ResponseSettings(200, 5.0, (("x-a", ("table",)), ("x-b", ("1", "2"))), bare=True)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"status": 206}, "status 206 cannot be set"),
        ({"status": 304}, "status 304 cannot be set"),
        ({"status": 302}, "needs a location"),
        ({"status": 99}, "status"),
        ({"status": "404"}, "status"),
        ({"mime": "text/css\r\nx: y"}, "not a value of a header field"),
        ({"headers": {"content-length": "1"}}, "the server works it out"),
        ({"headers": {"etag": '"x"'}}, "can only be taken away"),
        ({"headers": {"x-a": "a\r\nb"}}, "not a value of a header field"),
        ({"headers": {"x a": "b"}}, "not a name of a header field"),
        ({"headers": {"x-a": "b" * 65_536}}, "a header field of 65536 bytes cannot be sent"),
        ({"headers": ["x-a"]}, "headers"),
        ({"priority": "u=9"}, "u goes from 0 to 7"),
        ({"encoding": "compress"}, "encoding"),
        ({"method": "post"}, "method"),
        ({"method": "HEAD"}, "HEAD cannot be answered"),
        ({"if_none_match": '"x"'}, "goes with status 304"),
    ],
)
def test_what_no_answer_can_be_is_refused_with_its_place(tmp_path: Path, keys: dict[str, Any], words: str) -> None:
    with pytest.raises(SiteError) as caught:
        recorded(tmp_path, resource("/a", 1, **keys))
    assert words in str(caught.value)
    assert "resources.1" in str(caught.value)


@pytest.mark.parametrize("keys", [{"method": "POST"}, {"status": 304, "if_none_match": '"x"', "body_bytes": 0}])
def test_other_answers_than_to_plain_gets_need_replay(tmp_path: Path, keys: dict[str, Any]) -> None:
    entry = {**resource("/c", 0), **keys}
    with pytest.raises(SiteError, match="only goes with replay"):
        recorded(tmp_path, entry, replay=False)


def test_of_twins_the_last_good_one_is_served(tmp_path: Path) -> None:
    twins = [resource("/a", size, id=f"{size}", file=file) for size, file in ((1, "a"), (2, "b"))]
    bad = resource("/a", 1, id="bad", file="a", status=500)
    assert recorded(tmp_path, *twins, bad).files[0, "/a"].name == "b"
    with pytest.raises(SiteError, match="listed twice"):
        recorded(tmp_path, *twins, replay=False)


def test_variants_are_replayed_beside_the_files(tmp_path: Path) -> None:
    post = resource("/api", 1, id="post", kind="xhr", method="POST", file="a")
    unchanged = {"path": "/a", "body_bytes": 0, "status": 304, "if_none_match": '"v"'}
    site = recorded(tmp_path, resource("/a", 1), post, also_served=[unchanged])
    answers = served_site(site).recorded
    assert answers is not None
    told = [(item.method, item.target, item.status, item.if_none_match) for item in answers]
    assert told == [
        ("GET", "/", 200, None),
        ("GET", "/a", 200, None),
        ("POST", "/api", 200, None),
        ("GET", "/a", 304, '"v"'),
    ]
    assert answers[2].entry.kind == "xhr"
    assert (0, "/api") not in site.files


def test_plain_sites_are_not_replayed(tmp_path: Path) -> None:
    assert served_site(recorded(tmp_path, resource("/a", 1), replay=False)).recorded is None


def test_every_key_changes_the_fingerprint(tmp_path: Path) -> None:
    post = {**resource("/p", 1, file="a"), "method": "POST"}
    variants: list[tuple[dict[str, Any], bool]] = [
        ({}, False),
        ({}, True),
        ({"headers": {}}, True),
        ({"headers": {"x": "1"}}, True),
        ({"status": 404}, True),
        ({"priority": "u=1"}, True),
        ({"encoding": "br"}, True),
    ]
    digests = {
        site_digest(recorded(tmp_path / f"{n}", resource("/a", 1, **keys), replay=replay))
        for n, (keys, replay) in enumerate(variants)
    }
    digests.add(site_digest(recorded(tmp_path / "p", resource("/a", 1), post)))
    digests.add(site_digest(recorded(tmp_path / "q", resource("/a", 1), {**post, "method": "PUT"})))
    assert len(digests) == len(variants) + 2


def test_fields_that_are_taken_over_can_be_asked_about() -> None:
    assert why_unfit("X-Cache", "HIT") == ""
    assert "only be taken away" in why_unfit("ETag", '"x"')
    assert "works it out" in why_unfit("Content-Length", "3")
    assert "ASCII" in why_unfit("x-name", "Zürich")


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
def test_merging_rewrites_documents_in_any_coding(tmp_path: Path, coding: str) -> None:
    style = encode(b"a { background: url(https://cdn.test/b.png) }", coding)
    files: dict[tuple[int, str], str | bytes] = {(0, "/"): "hi", (0, "/a.css"): style, (1, "/b.png"): "png"}
    site = site_of(tmp_path / "site", files, entries={(0, "/a.css"): {"encoding": coding}})
    whole = merged(site, tmp_path / "build")
    assert whole.encodings[0, "/a.css"] == coding
    text = decode(whole.files[0, "/a.css"].read_bytes(), coding).decode()
    assert "/_host/cdn.test/b.png" in text


def test_merging_carries_what_is_recorded(tmp_path: Path) -> None:
    headers = {
        "location": "https://cdn.test/new.js",
        "link": "<https://cdn.test/new.js>; rel=preload; as=script, </a.css>; rel=preload",
        "content-security-policy": "script-src cdn.test",
        "x-cache": "HIT",
    }
    files: dict[tuple[int, str], str | bytes] = {(0, "/"): "hi", (0, "/old.js"): "", (1, "/new.js"): "js"}
    post = {**resource("/api", 2, host=1, id="post"), "method": "POST", "file": "1/new.js", "found_by": "0/"}
    entries = {(0, "/old.js"): {"status": 302, "headers": headers}, (1, "/new.js"): {"status": 404, "headers": {}}}
    site = site_of(tmp_path / "site", files, entries=entries, replay=True, also_served=[post])
    whole = merged(site, tmp_path / "build")
    assert whole.replay
    moved = dict(whole.settings[0, "/old.js"].headers)
    place = "/_host/cdn.test/new.js"
    assert moved["location"] == (place,)
    assert moved["link"] == (f"<{place}>; rel=preload; as=script, </a.css>; rel=preload",)
    assert "content-security-policy" not in moved
    assert whole.settings[0, place] == ResponseSettings(404, bare=True)
    assert [(item.host, item.path) for item in whole.variants] == [(0, "/_host/cdn.test/api")]
    assert served_site(whole).entries["shop.test"][place].status == 404
