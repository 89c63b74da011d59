"""`[[responses]]`: what a site sets for its responses, in which files, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mixedsched.core.h3.response import RequestHead
from mixedsched.errors import ExitCode, SiteError
from mixedsched.sites.making import Recipe, build
from mixedsched.sites.opening import load_site
from mixedsched.sites.serving import served_site
from mixedsched.sites.site import ResponseSettings, Site, site_digest
from mixedsched.world.server._files import SiteFiles
from tests.sites.folders import built, manifest, resource, write_files

FILES = {"index.html": "<img src=img/a.jpg><img src=img/b.jpg?2>", "img/a.jpg": "a", "img/b.jpg": "b", "c.css": "c"}


def folder(tmp_path: Path, toml: str | bytes) -> Path:
    return write_files(tmp_path / "shop", {**FILES, "mixedsched.toml": toml})


def settings(site: Site, path: str) -> ResponseSettings:
    return site.settings.get((0, path), ResponseSettings())


def refusal(directory: Path) -> SiteError:
    with pytest.raises(SiteError) as caught:
        load_site(directory)
    assert caught.value.exit_code == ExitCode.BAD_INPUT
    return caught.value


def test_an_entry_sets_status_think_time_priority_and_headers(tmp_path: Path) -> None:
    site = load_site(
        folder(
            tmp_path,
            """
            [[responses]]
            match = "/img/*.jpg"
            status = 203
            delay_ms = 150
            priority = "u=5, i"
            headers = { "Cache-Control" = "no-store", "set-cookie" = ["a=1", "b=2"], "timing-allow-origin" = [] }
            """,
        )
    )
    assert settings(site, "/img/a.jpg") == ResponseSettings(
        203,
        150.0,
        (
            ("cache-control", ("no-store",)),
            ("set-cookie", ("a=1", "b=2")),
            ("timing-allow-origin", ()),
            ("priority", ("u=5, i",)),
        ),
    )
    assert settings(site, "/img/b.jpg?2") == settings(site, "/img/a.jpg"), "a query need not be in the pattern"
    assert settings(site, "/c.css") == ResponseSettings()


def test_all_entries_that_match_apply_and_later_ones_win(tmp_path: Path) -> None:
    site = load_site(
        folder(
            tmp_path,
            """
            [[responses]]
            match = "*"
            delay_ms = 10
            headers = { x-a = "1", x-b = "1" }
            [[responses]]
            match = "/img/b.jpg?2"
            delay_ms = 20
            headers = { x-b = "2" }
            """,
        )
    )
    assert settings(site, "/c.css") == ResponseSettings(200, 10.0, (("x-a", ("1",)), ("x-b", ("1",))))
    assert settings(site, "/img/b.jpg?2") == ResponseSettings(200, 20.0, (("x-a", ("1",)), ("x-b", ("2",))))


def test_the_settings_file_itself_is_not_served(tmp_path: Path) -> None:
    site = load_site(folder(tmp_path, ""))
    assert (0, "/mixedsched.toml") not in site.files
    assert (0, "/c.css") in site.files


def test_a_host_can_be_named(tmp_path: Path) -> None:
    other = resource("/a.jpg", 1, host=1, id="cdn", file="a.jpg")
    rules = [{"match": "/*", "host": "cdn.test", "delay_ms": 5}]
    data = manifest(resource("/a.jpg", 1), other, hosts=["shop.test", "cdn.test"], responses=rules)
    site = load_site(built(tmp_path, data, {"a.jpg": "x"}))
    assert site.settings == {(1, "/a.jpg"): ResponseSettings(200, 5.0)}


def test_a_recipe_hands_its_entries_to_the_manifest(tmp_path: Path, package: Callable[..., Path]) -> None:
    packages = package("theme", {"index.html": "<img src=a.png>", "a.png": "x"})
    text = (
        'format = "mixedsched.site/1"\nname = "shop"\ntitle = "T"\ndescription = "D"\nlicence = "MIT"\nsource = "S"\n'
        'hosts = ["shop.test"]\n[recipe]\nkind = "npm"\npackage = "theme"\n'
        '[[responses]]\nmatch = "/a.png"\npriority = "u=1"\nheaders = { x-a = ["1", "2"] }\n'
    )
    recipe = Recipe.from_file(write_files(tmp_path, {"recipes/shop/site.toml": text}) / "recipes/shop/site.toml")
    site = build(recipe, tmp_path / "build", packages)
    assert settings(site, "/a.png") == ResponseSettings(200, 0.0, (("x-a", ("1", "2")), ("priority", ("u=1",))))
    write_files(tmp_path, {"recipes/shop/site.toml": text.replace("u=1", "u=9")})
    with pytest.raises(SiteError, match=r"entry 1 of responses \('/a.png'\)"):
        Recipe.from_file(tmp_path / "recipes/shop/site.toml")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('status = 99', "status"),
        ('status = 600', "status"),
        ('status = "200"', "status"),
        ('status = 304', "where a request asks for it"),
        ('status = 206', "where a request asks for it"),
        ('status = 301', "needs a location"),
        ('delay_ms = -1', "delay_ms"),
        ('delay_ms = 1e9', "delay_ms"),
        ('delay_ms = nan', "delay_ms"),
        ('delay_ms = inf', "delay_ms"),
        ('delay_ms = "10"', "delay_ms"),
        ('delay_ms = true', "delay_ms"),
        ('priority = "u=8"', "from 0 to 7"),
        ('priority = "u=1.5"', "from 0 to 7"),
        ('priority = "i=1"', "i stands alone"),
        ('priority = "u=1, i=?2"', "not a priority"),
        ('priority = "urgent"', "there are u and i"),
        ('priority = "u=1,, i"', "not a priority"),
        ('priority = "u=ü"', "not a priority"),
        ('priority = ""', "not a priority"),
        ('priority = 1', "priority"),
        ('headers = { "x y" = "1" }', "not a name"),
        ('headers = { ":status" = "1" }', "not a name"),
        ('headers = { "x" = "a\\r\\nb: c" }', "not a value"),
        ('headers = { "x" = "a\\u0000" }', "not a value"),
        ('headers = { "x" = " a" }', "not a value"),
        ('headers = { "x" = "ä" }', "not a value"),
        ('headers = { "x" = 1 }', "headers"),
        ('headers = { "x" = [1] }', "headers"),
        ('headers = "x: y"', "headers"),
        ('headers = { "Content-Length" = "1" }', "the server works it out"),
        ('headers = { "content-encoding" = [] }', "the server works it out"),
        ('headers = { "transfer-encoding" = "chunked" }', "HTTP/3 has no such field"),
        ('headers = { "priority" = "u=1" }', "key 'priority'"),
        ('headers = { "etag" = "x" }', "taken away"),
        ('delay = 1', "delay"),
        ('', "sets nothing"),
        ('match = ""', "match"),
        ('match = "a.jpg"\ndelay_ms = 1', "match"),
        ('match = 1\ndelay_ms = 1', "match"),
        ('match = "/gone.png"\ndelay_ms = 1', "no file of the site has such a path"),
        ('host = "other.test"\ndelay_ms = 1', "there is no host 'other.test'"),
    ],
)  # fmt: skip
def test_a_bad_entry_is_named_with_the_reason(tmp_path: Path, entry: str, words: str) -> None:
    match = "" if entry.startswith("match") else 'match = "/c.css"\n'
    toml = f'[[responses]]\nmatch = "*"\ndelay_ms = 1\n[[responses]]\n{match}{entry}\n'
    error = refusal(folder(tmp_path, toml))
    assert "mixedsched.toml" in error.what or "site 'shop'" in error.what
    assert "entry 2 of responses" in error.what
    assert words in str(error)


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("x =", "is not TOML"),
        (b"\xff\xfe", "is not TOML"),
        ("x = " + "[" * 100_000, "nested too deeply"),
        ("response = 1", "unknown key 'response'"),
        ("responses = 1", "not a list"),
        ("responses = [1]", "not a table"),
        ('[responses]\nmatch = "*"', "not a list"),
    ],
)
def test_a_settings_file_that_cannot_be_understood_is_refused(tmp_path: Path, toml: str | bytes, words: str) -> None:
    assert words in str(refusal(folder(tmp_path, toml)))


def test_a_settings_file_outside_the_folder_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path, {"secret.toml": "responses = []", **{f"shop/{name}": body for name, body in FILES.items()}})
    (tmp_path / "shop/mixedsched.toml").symlink_to(tmp_path / "secret.toml")
    assert "leads out of" in str(refusal(tmp_path / "shop"))


@pytest.mark.parametrize("responses", [1, {"match": "*"}, [1], [{"match": "*", "status": 1}], [None]])
def test_a_manifest_with_a_bad_table_is_refused(tmp_path: Path, responses: Any) -> None:
    assert "responses" in str(refusal(built(tmp_path, manifest(responses=responses), {})))


def test_a_settings_file_beside_a_manifest_is_refused_rather_than_ignored(tmp_path: Path) -> None:
    write_files(built(tmp_path, manifest(), {}), {"mixedsched.toml": ""})
    assert "under 'responses' in page.json" in refusal(tmp_path).fix


def test_the_server_gets_the_settings(tmp_path: Path) -> None:
    toml = (
        '[[responses]]\nmatch = "/c.css"\ndelay_ms = 7.5\npriority = "u=0"\nheaders = { cache-control = "no-cache" }\n'
    )
    site = load_site(folder(tmp_path, toml))
    response = SiteFiles(served_site(site).entries, site.hosts[0]).respond(
        RequestHead("GET", "shop.test", "/c.css", [])
    )
    assert response.delay_ms == 7.5
    assert {(b"priority", b"u=0"), (b"cache-control", b"no-cache")} <= set(response.fields)
    assert (b"cache-control", b"max-age=3600") not in response.fields


def test_the_fingerprint_follows_the_settings(tmp_path: Path) -> None:
    without = site_digest(load_site(write_files(tmp_path / "shop", FILES)))
    digests = [without]
    for line in ("delay_ms = 1", "delay_ms = 2", "status = 404", 'priority = "u=1"', 'headers = { x-a = "1" }'):
        digests.append(site_digest(load_site(folder(tmp_path, f'[[responses]]\nmatch = "/c.css"\n{line}\n'))))
    assert len(set(digests)) == len(digests)
    digests.append(site_digest(load_site(folder(tmp_path, ""))))
    assert digests[-1] == without, "a settings file without entries sets nothing"


def test_a_built_site_without_entries_has_no_such_key(tmp_path: Path) -> None:
    site = load_site(built(tmp_path, manifest(), {}))
    assert "responses" not in json.loads((tmp_path / "page.json").read_text())
    assert not site.settings


def test_files_behind_links_to_folders_are_served_by_their_real_names(tmp_path: Path) -> None:
    real = write_files(tmp_path / "real", FILES)
    (tmp_path / "shop").symlink_to(real)
    (real / "again").symlink_to("img")
    site = load_site(tmp_path / "shop")
    assert site.files[0, "/c.css"] == (real / "c.css").resolve()
    response = SiteFiles(served_site(site).entries, site.hosts[0]).respond(
        RequestHead("GET", "real.test", "/c.css", [])
    )
    assert response.status == 200
