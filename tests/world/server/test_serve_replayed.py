"""`serve` with a recording: what it answers over HTTP/3, and what its log says of it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import brotli
import pytest

from tests.sites.folders import resource, write_files
from tests.world.server.client import fetch, serving

pytestmark = pytest.mark.slow  # servers in processes of their own

STYLE = b"a { color: red } " * 50


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    packed = {"brotli": brotli.compress(STYLE), "gzip": gzip.compress(STYLE, mtime=0)}
    style = resource("/a.css?v=1", len(packed["brotli"]), file="a.br", encoding="br", headers={"x-own": ["1", "2"]})
    entries = [
        {"id": "html", "path": "/", "kind": "document", "file": "page", "body_bytes": 4, "flags": ["main"]},
        {**style, "kind": "stylesheet", "mime": "text/css"},
        resource("/old", 0, file="none", status=302, headers={"location": "/a.css"}),
        resource("/api?q=1", 4, file="page", method="POST", kind="xhr", mime="application/json"),
    ]
    page = {"format": "mixedsched.page/1", "name": "copy", "hosts": ["x.test"], "resources": entries, "replay": True}
    files = {"www/page": "page", "www/none": "", "www/a.br": packed["brotli"], "page.json": json.dumps(page)}
    return write_files(tmp_path / "copy", files)


def test_a_recording_is_replayed_and_misses_are_told_in_the_log(recording: Path) -> None:
    with serving(recording) as server:
        style, plain, redirect, posted, missed = fetch(
            server.port,
            ("GET", "/a.css?v=2", {"accept_encoding": "br"}),
            ("GET", "/a.css"),
            ("GET", "/old"),
            ("POST", "/api?q=7"),
            ("GET", "/never"),
        )
        lines = {line["path"]: line for line in (server.next_line()["request"] for _ in range(5))}
    assert (style.headers["content-encoding"], brotli.decompress(style.body)) == ("br", STYLE)
    assert plain.body == STYLE
    assert "content-encoding" not in plain.headers
    assert (redirect.status, redirect.headers["location"], redirect.body) == (302, "/a.css", b"")
    assert (posted.status, posted.body) == (200, b"page")
    assert missed.status == 404
    assert {path: line["missed"] for path, line in lines.items()} == {
        "/a.css?v=2": False,
        "/a.css": False,
        "/old": False,
        "/api?q=7": False,
        "/never": True,
    }
    assert lines["/a.css?v=2"]["kind"] == "stylesheet"
