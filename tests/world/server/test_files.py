"""Which files are served, and which never."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixedsched.core.h3.response import RequestHead, Response
from mixedsched.model.request import Flag, Kind
from mixedsched.world.server._contents import CACHE_FILE_BYTES
from mixedsched.world.server._files import SiteFiles
from mixedsched.world.server.site import SiteEntry


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "a.txt").write_text("a")
    (folder / "q.txt").write_text("with query")
    (folder / "large.bin").write_bytes(bytes(range(256)) * 2000)
    (folder / "secret.txt").write_text("secret")
    (folder / "link").symlink_to(folder / "secret.txt")
    return folder.resolve()


@pytest.fixture(scope="module")
def files(root: Path) -> SiteFiles:
    entries = {
        "/": SiteEntry(root / "a.txt", "text/html; charset=utf-8", None, Kind.DOCUMENT, frozenset({Flag.MAIN})),
        "/a.txt": SiteEntry(root / "a.txt", "text/plain"),
        "/q.txt?v=1": SiteEntry(root / "q.txt", "text/plain"),
        "/with space": SiteEntry(root / "a.txt", "text/plain"),
        "/large.bin": SiteEntry(root / "large.bin", "application/octet-stream"),
        "/link": SiteEntry(root / "link", "text/plain"),
        "/gone": SiteEntry(root / "gone", "text/plain"),
    }
    other = {"/a.txt": SiteEntry(root / "q.txt", "text/plain")}
    return SiteFiles({"x.test": entries, "cdn.test": other}, "x.test")


def ask(files: SiteFiles, path: str, method: str = "GET") -> Response:
    return files.respond(RequestHead(method, "x.test", path, []))


def test_hosts_are_kept_apart_and_unknown_ones_get_the_main_site(files: SiteFiles) -> None:
    def at(authority: str) -> bytes:
        return body(files.respond(RequestHead("GET", authority, "/a.txt", [])))

    assert [at("x.test"), at("x.test:4433"), at("cdn.test"), at("127.0.0.1:4433"), at("[::1]:4433")] == [
        b"a",
        b"a",
        b"with query",
        b"a",
        b"a",
    ]


def body(response: Response) -> bytes:
    return response.body.read(10**9) if response.body else b""


def test_a_file_comes_with_type_and_length_and_what_the_manifest_knows(files: SiteFiles) -> None:
    response = ask(files, "/")
    assert (response.status, body(response)) == (200, b"a")
    fields = dict(response.fields)
    assert fields[b"content-type"] == b"text/html; charset=utf-8"
    assert fields[b"content-length"] == b"1"
    assert fields[b"cache-control"] == b"max-age=3600"
    assert fields[b"access-control-allow-origin"] == b"*"
    assert (response.kind, response.flags) == (Kind.DOCUMENT, {Flag.MAIN})


def test_head_tells_the_length_and_has_no_body(files: SiteFiles) -> None:
    response = ask(files, "/a.txt", "HEAD")
    assert response.body is None
    assert dict(response.fields)[b"content-length"] == b"1"


def test_head_of_what_is_not_there_has_no_body_either(files: SiteFiles) -> None:
    assert ask(files, "/none", "HEAD").body is None


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "CONNECT", ""])
def test_other_methods_are_refused(files: SiteFiles, method: str) -> None:
    response = ask(files, "/a.txt", method)
    assert response.status == 405
    assert dict(response.fields)[b"allow"] == b"GET, HEAD"


def test_a_query_matters_only_where_it_is_listed(files: SiteFiles) -> None:
    assert body(ask(files, "/a.txt?anything")) == b"a"
    assert body(ask(files, "/q.txt?v=1")) == b"with query"
    assert body(ask(files, "/q.txt?v=2")) == b"with query", "what is listed with queries only has the nearest of them"


def test_encoded_paths_are_found(files: SiteFiles) -> None:
    assert ask(files, "/with%20space").status == 200
    assert ask(files, "/%61.txt").status == 200


def test_large_files_are_whole(files: SiteFiles, root: Path) -> None:
    assert (root / "large.bin").stat().st_size > CACHE_FILE_BYTES
    assert body(ask(files, "/large.bin")) == (root / "large.bin").read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "/secret.txt",
        "/link",
        "/gone",
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "//etc/passwd",
        "/etc/passwd",
        "/a.txt/",
        "/a.txt%00",
        "/a.txt\x00",
        "/..\\secret.txt",
        "/C:/secret.txt",
        "/%ff%fe",
        "/%252e%252e/secret.txt",
        "/%c0%ae%c0%ae/secret.txt",
        "/%e0%80%ae/secret.txt",
        "/./a.txt",
        "/%2e/a.txt",
        "/x/../a.txt",
        "/..;/secret.txt",
        "/%2fa.txt",
        "//a.txt",
        "/a.txt%2f",
        "/%5c..%5csecret.txt",
        "/c:%5csecret.txt",
        "/\\\\?\\C:\\secret.txt",
        "/a.txt.",
        "/a.txt%20",
        "/a.txt::$DATA",
        "/A.TXT",
        "/SECRET~1.TXT",
        "/CON",
        "/dev/null",
        "/proc/self/environ",
        "/secret.txt?",
        "/%73ecret.txt",
        "/a.txt#x",
        "/link/",
        "https://x.test/a.txt",
        "file:///etc/passwd",
        "/" + "a/" * 50_000,
        "/" + "%2e%2e/" * 20_000 + "etc/passwd",
        "?",
        "/%",
        "/%zz",
        "a.txt",
        "",
        "*",
    ],
)
def test_nothing_else_is_served(files: SiteFiles, path: str) -> None:
    response = ask(files, path)
    assert response.status == 404
    assert b"secret" not in body(response)


@given(st.text(max_size=60))
def test_no_path_raises_or_reveals_what_is_not_listed(files: SiteFiles, path: str) -> None:
    response = ask(files, path)
    assert response.status in {200, 404}
    assert b"secret" not in body(response)
