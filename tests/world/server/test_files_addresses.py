"""Which path leads to which file: hosts, spellings, index files, and what a site sets for a response."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.response import RequestHead
from mixedsched.world.server._files import SiteFiles
from mixedsched.world.server._finding import Addresses, Redirect
from mixedsched.world.server.site import SiteEntry
from tests.world.server.asking import ask, body_of, site_files, written

LISTED = {
    name: name
    for name in ("/", "/index.html", "/docs/index.html", "/a%20b.txt", "/%C3%BC.txt", "/what%3F.txt", "/q?v=1", "/q?w=21",
                 "/a%2520b", "/docs", "/own/", "/own/index.html", "/x y/index.html", "//odd/index.html", "/deep/er/index.html")
}  # fmt: skip


@pytest.fixture
def addresses() -> Addresses[str]:
    return Addresses({name: entry for name, entry in LISTED.items() if name != "/docs"})


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("/docs/", "/docs/index.html"),
        ("/docs/?a", "/docs/index.html"),
        ("/%64ocs/", "/docs/index.html"),
        ("/own/", "/own/"),
        ("/a%20b.txt", "/a%20b.txt"),
        ("/a b.txt", "/a%20b.txt"),
        ("/%61%20b%2Etxt", "/a%20b.txt"),
        ("/a%2520b", "/a%2520b"),
        ("/ü.txt".encode().decode("latin-1"), "/%C3%BC.txt"),
        ("/%c3%bc.txt", "/%C3%BC.txt"),
        ("/what%3f.txt?x", "/what%3F.txt"),
        ("/what?.txt", None),
        ("/q?v=1", "/q?v=1"),
        ("/q?w=22", "/q?w=21"),
        ("/%71?v", "/q?v=1"),
        ("/q", "/q?w=21"),
        ("/q/", None),
        ("/DOCS/", None),
        ("/deep/", None),
        ("/deep", None),
        ("/docs//", None),
        ("", None),
    ],
)
def test_every_spelling_of_a_listed_path_is_found(addresses: Addresses[str], target: str, found: str | None) -> None:
    assert addresses.find(target) == found


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("/docs", "/docs/"),
        ("/docs?a=1&b=/", "/docs/?a=1&b=/"),
        ("/d%6Fcs", "/docs/"),
        ("/own", "/own/"),
        ("/deep/er", "/deep/er/"),
        ("/x%20y", "/x%20y/"),
        ("/docs?x\r\nset-cookie: a", "/docs/?x%0D%0Aset-cookie:%20a"),
        ("/docs?%0d%0a", "/docs/?%0d%0a"),
    ],
)
def test_a_folder_without_its_slash_redirects(addresses: Addresses[str], target: str, location: str) -> None:
    assert addresses.find(target) == Redirect(location)


def test_no_redirect_leads_to_another_host(addresses: Addresses[str]) -> None:
    assert addresses.find("//odd") is None


def test_a_listed_name_is_no_folder() -> None:
    assert Addresses(LISTED).find("/docs") == "/docs"


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=3), st.booleans())
def test_a_listed_file_is_found_however_it_is_encoded(segments: list[str], all_encoded: bool) -> None:
    path = "/" + "/".join(quote(segment, safe="") for segment in segments)
    if all_encoded:
        asked = "/" + "/".join("".join(f"%{byte:02x}" for byte in segment.encode()) for segment in segments)
    else:
        asked = path
    found = Addresses({path: "it"}).find(asked)
    impossible = any(segment in {".", ".."} or set(segment) & set("/\\\0") for segment in segments)
    assert found == ("it" if asked == path or not impossible else None)


@given(st.text(max_size=60))
def test_no_target_raises(target: str) -> None:
    found = Addresses(LISTED).find(target)
    assert found is None or isinstance(found, Redirect) or found in LISTED


class TestResponses:
    @pytest.fixture
    def files(self, tmp_path: Path) -> SiteFiles:
        file = written(tmp_path, "a", b"content")
        headers = (
            (b"cache-control", (b"no-store",)),
            (b"access-control-allow-origin", ()),
            (b"priority", (b"u=5, i",)),
        )
        return site_files(
            {
                "/docs/index.html": SiteEntry(file, "text/html"),
                "/set": SiteEntry(file, "text/html", headers=headers, delay_ms=150.0),
                "/twice": SiteEntry(file, "text/html", headers=((b"set-cookie", (b"a=1", b"b=2")),)),
                "/typed": SiteEntry(file, "text/html", headers=((b"content-type", (b"text/x-own",)),)),
                "/missing": SiteEntry(file, "text/html", status=404),
                "/nothing": SiteEntry(file, "text/html", status=204),
                "/moved": SiteEntry(file, "text/html", status=302, headers=((b"location", (b"/set",)),)),
            }
        )

    def test_index_files_and_folders(self, files: SiteFiles) -> None:
        assert ask(files, "/docs/").body == b"content"
        answer = ask(files, "/docs?x")
        assert (answer.status, answer.headers["location"]) == (301, "/docs/?x")
        assert int(answer.headers["content-length"]) == len(answer.body)
        assert ask(files, "/docs", "HEAD").response.body is None
        assert ask(files, f"/docs?{'é' * 21_000}").status == 301
        assert ask(files, f"/docs?{'é' * 31_000}").status == 414, "its location would be longer than a field can be"

    def test_fields_replace_or_take_away_ours(self, files: SiteFiles) -> None:
        answer = ask(files, "/set")
        assert [value for name, value in answer.response.fields if name == b"cache-control"] == [b"no-store"]
        assert "access-control-allow-origin" not in answer.headers
        assert answer.headers["timing-allow-origin"] == "*"
        assert answer.headers["priority"] == "u=5, i"
        cookies = [value for name, value in ask(files, "/twice").response.fields if name == b"set-cookie"]
        assert cookies == [b"a=1", b"b=2"]

    def test_think_time_comes_before_every_answer(self, files: SiteFiles) -> None:
        assert ask(files, "/set").response.delay_ms == 150.0
        assert ask(files, "/set", if_none_match="*").response.delay_ms == 150.0
        assert ask(files, "/docs/").response.delay_ms == 0.0

    def test_a_type_of_its_own_is_what_the_classifier_sees(self, files: SiteFiles) -> None:
        answer = ask(files, "/typed")
        assert (answer.response.mime, answer.headers["content-type"]) == ("text/x-own", "text/x-own")

    def test_another_status_has_the_files_content_and_no_validators(self, files: SiteFiles) -> None:
        answer = ask(files, "/missing", if_none_match="*")
        assert (answer.status, answer.body) == (404, b"content")
        assert not {"etag", "last-modified", "accept-ranges"} & answer.headers.keys()
        assert ask(files, "/moved").headers["location"] == "/set"

    def test_204_has_no_content(self, files: SiteFiles) -> None:
        answer = ask(files, "/nothing")
        assert (answer.status, answer.response.body) == (204, None)
        assert not {"content-length", "content-type"} & answer.headers.keys()

    @pytest.mark.parametrize(
        "authority", ["x.test", "X.Test", "x.test.", "x.test:443", "", "[::1]:4433", "elsewhere.test"]
    )
    def test_every_name_of_the_host_leads_there(self, files: SiteFiles, authority: str) -> None:
        response = files.respond(RequestHead("GET", authority, "/docs/", []))
        assert body_of(response) == b"content"

    def test_all_answers_are_dated(self, files: SiteFiles) -> None:
        for path, method in (("/docs/", "GET"), ("/docs", "GET"), ("/none", "GET"), ("/docs/", "POST")):
            assert ask(files, path, method).headers["date"] == "Tue, 14 Nov 2023 22:13:20 GMT"
