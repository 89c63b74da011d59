"""What users expect of a static site server, asked for over real UDP."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sites.folders import write_files
from tests.world.server.client import RunningServer, fetch, serving

pytestmark = pytest.mark.slow  # servers in processes of their own

BIG = os.urandom(1_000_000)
TEXT = "p { color: green } " * 500
SETTINGS = """
[[responses]]
match = "/late.json"
status = 503
delay_ms = 120
headers = { "retry-after" = "7" }

[[responses]]
match = "/big.bin"
priority = "u=6, i"
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "shop"
    files = {
        "index.html": '<!doctype html><link rel="stylesheet" href="a.css"><p>shop',
        "a.css": TEXT,
        "docs/index.html": "<p>docs",
        "big.bin": BIG,
        "late.json": "{}",
        "mixedsched.toml": SETTINGS,
        "../secret.txt": "secret",
    }
    return write_files(folder, files)


@pytest.fixture
def server(site: Path) -> Iterator[RunningServer]:
    with serving(site) as running:
        yield running


def test_ranges_conditions_encodings_and_folders(server: RunningServer) -> None:
    whole, plain, zipped, part, folder, redirect = fetch(
        server.port,
        ("GET", "/big.bin"),
        ("GET", "/a.css"),
        ("GET", "/a.css", {"accept_encoding": "gzip, br"}),
        ("GET", "/big.bin", {"range": "bytes=500000-"}),
        ("GET", "/docs/"),
        ("GET", "/docs"),
    )
    assert (whole.status, whole.body, whole.headers["content-length"]) == (200, BIG, "1000000")
    assert plain.body.decode() == TEXT
    assert (zipped.headers["content-encoding"], len(zipped.body) < len(TEXT)) == ("gzip", True)
    assert (part.status, part.body) == (206, BIG[500_000:])
    assert part.headers["content-range"] == "bytes 500000-999999/1000000"
    assert folder.body == b"<p>docs"
    assert (redirect.status, redirect.headers["location"]) == (301, "/docs/")
    known, unknown, beyond = fetch(
        server.port,
        ("GET", "/big.bin", {"if_none_match": whole.headers["etag"]}),
        ("GET", "/big.bin", {"if_match": '"other"'}),
        ("GET", "/big.bin", {"range": "bytes=1000000-"}),
    )
    assert (known.status, known.body) == (304, b"")
    assert [unknown.status, beyond.status] == [412, 416]


def test_what_the_site_sets(server: RunningServer) -> None:
    late, big = fetch(server.port, ("GET", "/late.json"), ("GET", "/big.bin", {"priority": "u=1"}))
    assert (late.status, late.headers["retry-after"], late.body) == (503, "7", b"{}")
    assert (big.headers["priority"], big.body) == ("u=6, i", BIG)
    lines = {line["request"]["path"]: line["request"] for line in (server.next_line() for _ in range(2))}
    assert lines["/late.json"]["first_byte_ms"] - lines["/late.json"]["requested_ms"] >= 119.5  # timers count in ms
    assert lines["/big.bin"]["effective_signal"] == "u=6, i"


def test_hostile_paths_find_nothing(server: RunningServer) -> None:
    paths = [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/%252e%252e/secret.txt",
        "/..%5csecret.txt",
        "/docs/../../secret.txt",
        "/%c0%ae%c0%ae/secret.txt",
        "/index.html%00",
        "/C:/secret.txt",
        "//etc/passwd",
        "/mixedsched.toml",
        "/" + "a" * 5000,
    ]
    answers = fetch(server.port, *(("GET", path) for path in paths))
    assert {path: answer.status for path, answer in zip(paths, answers, strict=True)} == dict.fromkeys(paths, 404)


def test_a_link_put_there_while_it_runs_is_not_followed(server: RunningServer, site: Path) -> None:
    (site / "docs/index.html").unlink()
    (site / "docs/index.html").symlink_to(site.parent / "secret.txt")
    try:
        (answer,) = fetch(server.port, ("GET", "/docs/"))
    finally:
        (site / "docs/index.html").unlink()
        (site / "docs/index.html").write_text("<p>docs")
    assert answer.status == 404


def test_a_file_that_shrinks_is_sent_as_it_is_now(server: RunningServer, site: Path) -> None:
    assert fetch(server.port, ("GET", "/big.bin"))[0].body == BIG
    os.truncate(site / "big.bin", 1000)
    try:
        (short,) = fetch(server.port, ("GET", "/big.bin"))
    finally:
        (site / "big.bin").write_bytes(BIG)
    assert short.body == BIG[:1000]
    assert fetch(server.port, ("GET", "/big.bin"))[0].body == BIG
