"""Hosts of recordings: which names a site gives them, and how texts and fields follow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.model.request import Kind
from mixedsched.sites.recorded._promises import without_stale_integrity
from mixedsched.sites.recorded._rewriting import Renaming
from mixedsched.sites.recorded.coding import decode_body
from mixedsched.sites.recorded.names import Origin, origin_of, site_hosts
from mixedsched.sites.site import site_name_of
from tests.sites.recorded.made import SHOP, Recorded, document, exchange


def names_of(*urls: str) -> list[str]:
    origins = [origin_of(url) for url in urls]
    return list(site_hosts([item for item in origins if item is not None]).values())


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://www.shop.test/a", "www.shop.test"),
        ("https://www.shop.test:443/", "www.shop.test"),
        ("http://127.0.0.1:8081/", "127-0-0-1-8081.test"),
        ("http://localhost:9000/", "localhost-9000.test"),
        ("http://localhost/", "localhost.test"),
        ("http://[::1]:8080/", "1-8080.test"),
        ("https://my_cdn.shop.test/", "my-cdn.shop.test"),
        ("https://_my_cdn_.shop.test:8443/", "my-cdn.shop.test"),
        ("https://__.test/", "test.test"),
        ("https://img.shop.test:8443/", "img.shop.test"),
    ],
)
def test_names_are_plain_ones(url: str, name: str) -> None:
    assert names_of(url) == [name]


def test_ports_keep_hosts_apart() -> None:
    assert names_of("https://shop.test/", "https://shop.test:8443/") == ["shop.test", "shop-8443.test"]
    assert names_of("http://127.0.0.1:1/", "http://127.0.0.1:2/") == ["127-0-0-1-1.test", "127-0-0-1-2.test"]


def test_names_that_differ_by_underscores_only_stay_apart() -> None:
    assert names_of("https://a_b.test/", "https://a-b.test/", "https://a__b.test/") == [
        "a-b-test.test",
        "a-b.test",
        "a--b.test",
    ]


def test_http_and_https_of_one_host_are_one() -> None:
    assert names_of("http://shop.test/", "https://shop.test/") == ["shop.test", "shop.test"]


@given(st.lists(st.from_regex(r"https?://[a-zA-Z0-9._-]{1,70}(:[1-9][0-9]{0,3})?/", fullmatch=True), max_size=8))
def test_every_host_gets_a_name_of_its_own_that_a_site_can_have(urls: list[str]) -> None:
    origins = [item for url in urls if (item := origin_of(url)) is not None]
    names = site_hosts(origins)
    assert len(set(names.values())) == len({item.authority for item in origins})
    for name in names.values():
        assert all(label == site_name_of(label) for label in name.split("."))


RENAMED = Renaming(
    {
        Origin("http", "127.0.0.1:8081"): "127-0-0-1-8081.test",
        Origin("https", "cdn.test:8443"): "cdn.test",
        Origin("http", "plain.test"): "plain.test",
        Origin("https", "same.test"): "same.test",
        Origin("http", "www.w3.org"): "www.w3.org",
        Origin("https", "my_cdn.test"): "my-cdn.test",
        Origin("http", "own.test:443"): "own.test",
        Origin("http", "a!b%20c.test"): "a-b.test",
    }
)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("http://127.0.0.1:8081/a", "https://127-0-0-1-8081.test/a"),
        ("HTTP://127.0.0.1:8081", "https://127-0-0-1-8081.test"),
        ("url(https://my_cdn.test/a) https://my_cdn.test_a/", "url(https://my-cdn.test/a) https://my_cdn.test_a/"),
        ("src=//127.0.0.1:8081/a", "src=//127-0-0-1-8081.test/a"),
        (r'"http:\/\/127.0.0.1:8081\/a"', r'"https:\/\/127-0-0-1-8081.test\/a"'),
        ("u=http%3A%2F%2F127.0.0.1%3A8081%2Fa", "u=https%3A%2F%2F127-0-0-1-8081.test%2Fa"),
        ("https://cdn.test:8443", "https://cdn.test"),
        ("u=http%3A%2F%2Fa%21b%2520c.test%2Fa http://a!b%20c.test/", "u=https%3A%2F%2Fa-b.test%2Fa https://a-b.test/"),
        ("see http://plain.test.", "see https://plain.test."),
        ("http://plain.test:80/x", "https://plain.test/x"),
        ("http://plain.test/2024/a.jpg", "https://plain.test/2024/a.jpg"),
        ("http://own.test:443/x //own.test:443", "https://own.test/x //own.test"),
        # and what only looks like one of them
        ("http://127.0.0.1:80810/a", None),
        ("http://127.0.0.1:8082/a", None),
        ("https://cdn.test/", None),
        ("http://plain.test.example/", None),
        ("http://notplain.test/", None),
        ("http://plain.test:8080/", None),
        ("https://same.test/x", None),
        ('xmlns="http://www.w3.org/2000/svg"', None),
        (r'"http:\/\/www.w3.org\/1999\/xhtml"', None),
        ("http://www.w3.org/2008/site/a.css", "https://www.w3.org/2008/site/a.css"),
    ],
)
def test_origins_in_texts_are_replaced_where_they_stand_by_themselves(text: str, changed: str | None) -> None:
    assert RENAMED.apply(text.encode()).decode() == (changed if changed is not None else text)


def test_bodies_stay_as_sent_where_no_host_has_another_name(tmp_path: Path) -> None:
    body = "<img src=https://cdn.shop.test/a.png>  \r\n" * 30
    sent = document(body, encoding="gzip")
    site = Recorded(tmp_path / "shop", sent, exchange("https://cdn.shop.test/a.png"))
    assert site.body("html") == sent.body
    assert site.summary.rewritten == ()


@pytest.mark.parametrize("encoding", [None, "gzip", "br", "zstd", "deflate"])
def test_rewritten_bodies_keep_their_coding_and_the_manifest_their_size(tmp_path: Path, encoding: str | None) -> None:
    body = "<img src='http://127.0.0.1:8081/a.png'> text" * 20
    site = Recorded(
        tmp_path / "shop",
        document(body, "http://localhost:9000/", encoding=encoding),
        exchange("http://127.0.0.1:8081/a.png", body=b"http://127.0.0.1:8081"),
    )
    text = decode_body(site.body("html"), encoding).decode()
    assert text == body.replace("http://127.0.0.1:8081", "https://127-0-0-1-8081.test")
    assert site.resource("html")["body_bytes"] == len(site.body("html"))
    assert site.resource("html").get("encoding") == encoding
    assert site.summary.rewritten == ("https://localhost-9000.test/",)
    assert site.body("127-0-0-1-8081.test/a.png") == b"http://127.0.0.1:8081", "an image is no text"


def test_promises_of_rewritten_files_and_policies_go(tmp_path: Path) -> None:
    page = (
        '<meta http-equiv="Content-Security-Policy" content="script-src 127.0.0.1:8081">'
        '<script src="http://127.0.0.1:8081/a.js" integrity="sha256-a"></script>'
        '<script src="http://127.0.0.1:8081/b.js" integrity="sha256-b"></script>'
    )
    policy = ("content-security-policy", "script-src 127.0.0.1:8081")
    site = Recorded(
        tmp_path / "shop",
        document(page, "http://localhost:9000/", headers=[policy]),
        exchange("http://127.0.0.1:8081/a.js", Kind.SCRIPT, "fetch('http://localhost:9000/x')"),
        exchange("http://127.0.0.1:8081/b.js", Kind.SCRIPT, "1"),
    )
    text = site.body("html").decode()
    assert "sha256-a" not in text
    assert "sha256-b" in text, "that file is as it was"
    assert 'http-equiv="x-recorded-' in text
    assert "content-security-policy" not in site.resource("html")["headers"]
    assert site.summary.dropped_headers == {"content-security-policy": 1}


def test_fields_follow(tmp_path: Path) -> None:
    headers = [("access-control-allow-origin", "http://localhost:9000")]
    site = Recorded(
        tmp_path / "shop",
        document(url="http://localhost:9000/"),
        exchange("http://127.0.0.1:8081/a.woff2", Kind.FONT, headers=headers),
    )
    fields = site.resource("127-0-0-1-8081.test/a.woff2")["headers"]
    assert fields["access-control-allow-origin"] == "https://localhost-9000.test"


def test_the_summary_tells_who_is_who(tmp_path: Path) -> None:
    site = Recorded(tmp_path / "shop", document(url="http://localhost:9000/x/"), exchange(f"{SHOP}a.png"))
    assert site.manifest["hosts"] == ["localhost-9000.test", "shop.test"]
    assert site.manifest["entry"] == "/x/"
    assert dict(site.summary.hosts) == {
        "localhost-9000.test": ("http://localhost:9000",),
        "shop.test": ("https://shop.test",),
    }


def test_a_promise_is_of_what_the_base_of_its_document_makes_of_the_address(tmp_path: Path) -> None:
    page = (
        '<base href="/lib/"><script src="a.js" integrity="sha256-a"></script>'
        '<script src="http://[x/b.js" integrity="sha256-b"></script>'
    )
    site = Recorded(
        tmp_path / "shop",
        document(page, "http://localhost:9000/"),
        exchange("http://localhost:9000/lib/a.js", Kind.SCRIPT, "fetch('http://localhost:9000/x')"),
    )
    text = site.body("html").decode()
    assert "sha256-a" not in text
    assert "sha256-b" in text, "what is no address is left alone"


def test_import_maps_and_links_make_no_promise_of_rewritten_files(tmp_path: Path) -> None:
    page = (
        '<script type="importmap">{"imports": {"a": "/a.js", "<": "/é"}, '
        '"integrity": {"http://127.0.0.1:8081/a.js": "sha256-a", "/b.js": "sha256-b", "./c.js": "sha256-c"}}</script>'
        '<script type="module" src="/b.js"></script>'
    )
    links = [
        ("link", '<http://127.0.0.1:8081/a.js>; rel=modulepreload; integrity="sha256-a"; fetchpriority=low'),
        ("link", "</c.js>; rel=modulepreload; integrity=sha256-c"),
    ]
    site = Recorded(
        tmp_path / "shop",
        document(page, "http://localhost:9000/", headers=links),
        exchange("http://127.0.0.1:8081/a.js", Kind.SCRIPT, "fetch('http://localhost:9000/x')"),
        exchange("http://localhost:9000/b.js", Kind.SCRIPT, "import 'http://127.0.0.1:8081/a.js'"),
        exchange("http://localhost:9000/c.js", Kind.SCRIPT, "1"),
    )
    text = site.body("html").decode()
    written = text.removeprefix('<script type="importmap">').partition("</script>")[0]
    assert "<" not in written
    assert json.loads(written) == {"imports": {"a": "/a.js", "<": "/é"}, "integrity": {"./c.js": "sha256-c"}}
    assert site.resource("html")["headers"]["link"] == [
        "<https://127-0-0-1-8081.test/a.js>; rel=modulepreload; fetchpriority=low",
        "</c.js>; rel=modulepreload; integrity=sha256-c",
    ]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"integrity": 7}', '{"integrity":{"/b.js":"x"}}', "[" * 100_000])
def test_import_maps_that_promise_nothing_of_rewritten_files_stay_as_they_are(text: str) -> None:
    page = f"<script type='importmap' >{text}</SCRIPT><script src=/a.js integrity='x'></script>".encode()
    honest = without_stale_integrity(page, SHOP, {f"{SHOP}a.js"})
    assert honest == page.replace(b" integrity='x'", b"")


@pytest.mark.parametrize(
    "text", [b"<script " * 2_000_000, b"<script src=a.js" + b" " * 1_000_000, b"<script type=importmap>" * 300_000]
)
def test_no_document_makes_the_look_for_promises_long(text: bytes) -> None:
    assert without_stale_integrity(text, SHOP, {f"{SHOP}a.js"}) == text
