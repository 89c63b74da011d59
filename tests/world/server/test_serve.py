"""`mixedsched serve` over real UDP."""

from __future__ import annotations

import datetime as dt
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mixedsched.core.h3.certificate import Certificate, make_certificate, make_repeatable_certificate
from tests.world.server.client import RunningServer, fetch, serving


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "shop"
    folder.mkdir()
    (folder / "index.html").write_text('<!doctype html><link rel="stylesheet" href="a.css"><p>shop')
    (folder / "a.css").write_text("p { color: green }")
    (folder / "big.bin").write_bytes(os.urandom(3_000_000))
    (folder.parent / "secret.txt").write_text("secret")
    return folder


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[RunningServer]:
    with serving(site, "--scheme", "mixed") as running:
        yield running


def test_the_first_line_says_where_it_listens_and_whom_to_trust(server: RunningServer) -> None:
    host, port = server.first["listening"].split(":")
    assert (host, int(port) > 0) == ("127.0.0.1", True)
    assert len(server.first["spki_sha256"]) == 44
    assert server.first["url"] == "https://shop.test/"


def test_it_serves_the_site_and_logs_each_request(server: RunningServer, site: Path) -> None:
    page, style, big = fetch(
        server.port,
        ("GET", "/", {"sec_fetch_dest": "document", "priority": "u=0, i"}),
        ("GET", "/a.css", {"sec_fetch_dest": "style", "priority": "u=0"}),
        ("GET", "/big.bin", {}),
    )
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert style.body == (site / "a.css").read_bytes()
    assert big.body == (site / "big.bin").read_bytes()
    lines = {line["request"]["path"]: line["request"] for line in (server.next_line() for _ in range(3))}
    assert (lines["/a.css"]["signal"], lines["/a.css"]["signalled_by"]) == ("u=0", "field")
    assert (lines["/a.css"]["kind"], lines["/a.css"]["placement"]) == ("stylesheet", "u=1")
    assert lines["/"]["placement"] == "u=0"
    assert lines["/big.bin"]["signalled_by"] == "default"
    assert lines["/big.bin"]["body_bytes"] == 3_000_000
    assert lines["/big.bin"]["requested_ms"] <= lines["/big.bin"]["first_byte_ms"] <= lines["/big.bin"]["last_byte_ms"]


def test_what_is_not_there_or_not_possible_is_said_so(server: RunningServer) -> None:
    missing, post, outside = fetch(server.port, ("GET", "/none"), ("POST", "/"), ("GET", "/../secret.txt"))
    assert [missing.status, post.status, outside.status] == [404, 405, 404]


@pytest.mark.slow
def test_a_reader_that_stops_reading_does_not_stop_the_server(site: Path) -> None:
    with serving(site) as running:
        for _ in range(30):
            answers = fetch(running.port, *[("GET", f"/{'x' * 200}")] * 20)  # in all more than a pipe holds
        assert {answer.status for answer in answers} == {404}


@pytest.mark.slow
def test_a_reader_that_goes_away_ends_the_server(site: Path) -> None:
    with serving(site) as running:
        assert running.process.stdout is not None
        running.process.stdout.close()
        fetch(running.port, ("GET", "/"))
        assert running.process.wait(10) == 0


def test_rubbish_on_the_port_changes_nothing(server: RunningServer) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for size in (0, 1, 20, 1200, 1500):
            for first in (0x00, 0x40, 0x80, 0xC0, 0xFF):
                sock.sendto(bytes([first]) + os.urandom(size), ("127.0.0.1", server.port))
    assert fetch(server.port, ("GET", "/"))[0].status == 200
    assert server.process.poll() is None


def test_an_unknown_version_is_answered_with_the_known_ones(server: RunningServer) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        packet = b"\xc0" + b"\x1a\x2a\x3a\x4a" + b"\x08" + b"D" * 8 + b"\x08" + b"S" * 8
        sock.sendto(packet.ljust(1200, b"\x00"), ("127.0.0.1", server.port))
        answer = sock.recv(2000)
    assert answer[1:5] == bytes(4), "a version negotiation packet has version 0"
    assert (1).to_bytes(4, "big") in answer[23:]


@pytest.mark.slow
def test_it_stops_when_standard_input_ends(site: Path) -> None:
    with serving(site) as running:
        assert running.process.stdin is not None
        running.process.stdin.close()
        assert running.process.wait(10) == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly_when_told(site: Path, number: signal.Signals) -> None:
    with serving(site) as running:
        running.process.send_signal(number)
        assert running.process.wait(10) == 0


@pytest.mark.slow
def test_a_busy_port_is_a_clear_error(site: Path, server: RunningServer) -> None:
    command = [sys.executable, "-m", "mixedsched", "serve", str(site), "--port", str(server.port)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 1
    assert "the port is in use" in ended.stderr
    assert "--port" in ended.stderr


def test_the_certificate_covers_all_hosts_and_lasts() -> None:
    certificate = make_certificate(["a.test", "b.test", "127.0.0.1"], dt.datetime.now(dt.UTC)).certificate
    text = str(certificate.extensions)
    assert all(name in text for name in ("a.test", "b.test", "127.0.0.1"))
    assert certificate.not_valid_after_utc.timestamp() > time.time() + 5 * 365 * 86400


def test_a_certificate_comes_through_pem_with_its_key() -> None:
    for made in (make_certificate(["a.test"], dt.datetime.now(dt.UTC)), make_repeatable_certificate(["a.test"])):
        read = Certificate.from_pem(made.to_pem())
        assert (read.certificate, read.spki_sha256) == (made.certificate, made.spki_sha256)
        assert read.private_key.public_key() == made.private_key.public_key()
