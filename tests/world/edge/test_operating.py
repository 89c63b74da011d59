"""Operating an edge: certificates, names, origins over TLS, HTTP/2 and Unix sockets, files that change, logs, the command."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from mixedsched.core.h3.certificate import Certificate, make_certificate
from mixedsched.errors import MixedschedError
from mixedsched.world.edge._certificates import CertificateStore, covers
from mixedsched.world.edge.rules import parse_rules
from mixedsched.world.edge.run import open_edge
from mixedsched.world.edge.settings import (
    CertificateFiles,
    EdgeInput,
    EdgeLogs,
    EdgeSettings,
    OriginAddress,
    served_name,
)
from mixedsched.world.server.settings import ServerSettings
from tests import command
from tests.world.edge.commanding import FACTS, edge_command
from tests.world.edge.edging import (
    HOST,
    ROOM,
    Edging,
    KeptLog,
    Origin,
    answering,
    client_of,
    origin_running,
    plain,
    playing,
    run,
)

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def written(folder: Path, name: str, *hosts: str, certificate: Certificate | None = None) -> CertificateFiles:
    made = certificate or make_certificate(list(hosts), dt.datetime.now(dt.UTC))
    pem = made.to_pem()
    start = pem.index("-----BEGIN PRIVATE KEY")
    files = CertificateFiles(folder / f"{name}.pem", folder / f"{name}.key")
    files.certificate.write_text(pem[:start])
    files.key.write_text(pem[start:])
    return files


# Certificates


@pytest.mark.parametrize(
    ("name", "host", "fits"),
    [
        ("x.test", "x.test", True),
        ("*.x.test", "a.x.test", True),
        ("*.x.test", "x.test", False),
        ("*.x.test", "a.b.x.test", False),
        ("x.test", "a.x.test", False),
        ("*", "x.test", False),
    ],
)
def test_a_wildcard_stands_for_one_label(name: str, host: str, fits: bool) -> None:
    assert covers(name, host) == fits


def test_each_host_gets_its_own_certificate_and_others_the_first(tmp_path: Path) -> None:
    one, two = written(tmp_path, "one", "one.test"), written(tmp_path, "two", "two.test", "*.two.test")

    async def test(edge: Edging) -> None:
        assert edge.facts.hosts == ("one.test", "two.test", "*.two.test")
        for name, files in (("one.test", one), ("two.test", two), ("a.two.test", two), ("other.test", one)):
            async with client_of(edge.facts, name) as client:
                got = client._quic.tls._peer_certificate
                assert got == x509.load_pem_x509_certificate(files.certificate.read_bytes())
        answers = {name: await edge.ask("GET", "/", authority=name) for name in ("a.two.test", "other.test", "x.test")}
        assert {name: got.status for name, got in answers.items()} == {
            "a.two.test": 200,
            "other.test": 421,
            "x.test": 421,
        }

    playing(lambda origin: answering(origin, plain()), test, hosts=(), certificates=(one, two))


def expired() -> Certificate:
    return make_certificate(["x.test"], dt.datetime.now(dt.UTC) - dt.timedelta(days=4000))


def test_a_certificate_that_cannot_be_used_is_named_with_the_reason(tmp_path: Path) -> None:
    good, other = written(tmp_path, "good", "x.test"), written(tmp_path, "other", "x.test")
    broken = CertificateFiles(tmp_path / "broken.pem", good.key)
    broken.certificate.write_text("no certificate")
    cases = {
        "No such file": CertificateFiles(tmp_path / "none.pem", good.key),
        "broken|PEM|valid": broken,
        "of another certificate": CertificateFiles(good.certificate, other.key),
        "expired": written(tmp_path, "old", certificate=expired()),
    }
    for reason, files in cases.items():
        with pytest.raises(MixedschedError, match=str(files.certificate)) as caught:
            CertificateStore([files], [])
        assert caught.value.why is not None
        assert any(part in caught.value.why for part in reason.split("|")) or reason.startswith("broken")


def test_a_certificate_that_is_not_for_a_host_is_refused_with_the_name(tmp_path: Path) -> None:
    with pytest.raises(MixedschedError, match=r"y\.test"):
        CertificateStore([written(tmp_path, "x", "x.test")], ["x.test", "y.test"])


def test_a_certificate_is_read_again_and_the_old_one_stays_if_the_new_one_is_broken(tmp_path: Path) -> None:
    files = written(tmp_path, "x", "x.test")
    store = CertificateStore([files], ["x.test"])
    first = store.choose("x.test").certificate
    files.certificate.write_text("broken")
    store.reload()
    assert store.choose("x.test").certificate == first
    written(tmp_path, "x", "x.test")
    store.reload()
    assert store.choose("x.test").certificate != first


def test_hosts_of_a_certificate_that_is_read_again_are_served(tmp_path: Path) -> None:
    files = written(tmp_path, "one", HOST)

    async def test(edge: Edging) -> None:
        assert (await edge.ask("GET", "/", authority="new.test")).status == 421
        written(tmp_path, "one", HOST, "new.test")
        async with asyncio.timeout(30):
            while (await edge.ask("GET", "/", authority="new.test")).status == 421:
                await asyncio.sleep(0.1)

    playing(lambda origin: answering(origin, plain()), test, hosts=(), certificates=(files,))


# What is told on the command line


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "127.0.0.1:80",
            "ftp://x",
            "http://",
            "http://x/path",
            "http://u@x",
            "http://x:0",
            "http://x:99999",
            "unix:a",
        ),
        *("http://x..test", f"http://{64 * 'x'}.test"),
    ],
)
def test_an_origin_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(MixedschedError, match="no origin"):
        OriginAddress.parse(text)


@pytest.mark.parametrize("text", ["", "a b", "x.test:443", "*", "**.x", "https://x.test"])
def test_a_host_name_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(MixedschedError, match="no host name"):
        served_name(text)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(
            ("--origin-host", text)
            for text in ("a b", "\N{CJK UNIFIED IDEOGRAPH-4F8B}.test", "x.test/", "x\r\ny: z", "")
        ),
        *(("--health-path", text) for text in ("health", "/a b", "/a#b", "/\xfc")),
        *((f"--{name}-timeout", "0s") for name in ("connect", "answer", "silence")),
    ],
)
def test_what_no_origin_can_be_asked_for_is_refused_at_the_start(option: str, value: str) -> None:
    done = command.run("edge", "--origin", "http://127.0.0.1:1", option, value)
    assert (done.exit_code, done.stdout) == (2, "")


def test_host_names_are_compared_in_one_form() -> None:
    assert [served_name(text) for text in ("X.Test.", "*.Shop.Example", "2001:DB8:0::1")] == [
        "x.test",
        "*.shop.example",
        "2001:db8::1",
    ]


# Rules


def test_rules_are_what_tune_ships_and_the_first_that_fits_counts() -> None:
    rules = parse_rules(
        "# comment\n\n/a.css\tu=1, i=?0\ta.css, b.css\n*.css u=2\n/img/*.jpg priority: u=4, i\nother.test/x.css\tu=0\tx\n",
        "text",
    )
    found = {
        path: rules.value_for(path) for path in ("/a.css?v=1", "/b.css", "/img/a/b.jpg", "/x.css", "/a", "/img/[a].jpg")
    }
    assert found == {
        "/a.css?v=1": b"u=1, i=?0",
        "/b.css": b"u=2",
        "/img/a/b.jpg": b"u=4, i",
        "/x.css": b"u=2",
        "/a": None,
        "/img/[a].jpg": b"u=4, i",
    }


@pytest.mark.parametrize(
    ("match", "path", "fits"),
    [
        ("/a*", "/a", True),
        ("*", "/", True),
        ("/*/b/*.jpg", "/a/b/c.jpg", True),
        ("/*/b/*.jpg", "/b/c.jpg", False),
        ("/*/b/*.jpg", "/a/b/c/b/d.jpg", True),
        ("/*/b/*.jpg", "/a/b/c.jpg/", False),
        ("/a*a", "/a", False),
        ("/a*a", "/aa", True),
        ("*a*a*", "/a", False),
        ("*a**a*", "/xaxa", True),
        ("/a.b", "/axb", False),
    ],
)
def test_a_star_stands_for_anything(match: str, path: str, fits: bool) -> None:
    assert (parse_rules(f"{match} u=1", "text").value_for(path) == b"u=1") == fits


def test_a_long_path_is_compared_with_a_pattern_of_many_stars_in_no_time() -> None:
    """Clients choose paths: with a regular expression this one would take hours."""
    rules = parse_rules("/*/b*/b*/b*/b*.jpg u=1", "text")
    assert rules.value_for("/b" * 16_000) is None
    assert rules.value_for("/b" * 16_000 + ".jpg") == b"u=1"


@pytest.mark.parametrize("line", ["/a", "/a u=9", "/a x", "/a u=é", "/a ="])
def test_a_broken_rule_is_named_by_its_line(line: str) -> None:
    with pytest.raises(MixedschedError, match="text, line 2"):
        parse_rules(f"/ok u=1\n{line}\n", "text")


def test_a_rule_goes_before_the_origins_priority_which_goes_before_the_clients(tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("/a u=1\n")

    async def test(edge: Edging) -> None:
        for path in ("/a", "/b"):
            await edge.ask("GET", path, [("priority", "u=5")])
        assert [item.effective_signal for item in edge.log.requests] == ["u=1", "u=6"]

    playing(lambda origin: answering(origin, plain(b"x", "priority: u=6")), test, rules=rules)


def test_rules_that_change_count_at_once_and_broken_ones_do_not(tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("/a u=1\n")

    async def value(edge: Edging) -> str:
        return (await edge.ask("GET", "/a"))["priority"][0]

    async def test(edge: Edging) -> None:
        rules.write_text("/a u=2, i\n")
        while await value(edge) == "u=1":
            await asyncio.sleep(0.1)
        assert await value(edge) == "u=2, i"

    playing(lambda origin: answering(origin, plain()), test, rules=rules)


# Origins


@contextlib.contextmanager
def nginx(folder: Path, listen: str, *lines: str) -> Iterator[None]:
    """Debian's nginx with files of folder/www."""
    assert NGINX is not None
    folder.chmod(0o755)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    server = f"server {{ listen {listen}; root {folder}/www; {' '.join(lines)} }}"
    user = "user root;" if os.geteuid() == 0 else ""  # who may read a folder of tests
    text = f"{user} daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}"
    text += f" http {{ access_log off; {temporary} {server} }}"
    (folder / "nginx.conf").write_text(text)
    with subprocess.Popen([NGINX, "-c", str(folder / "nginx.conf")], stderr=subprocess.DEVNULL) as process:
        try:
            deadline_s = time.monotonic() + 10
            while not (folder / "pid").exists() or not (folder / "pid").read_text():
                assert time.monotonic() < deadline_s, (folder / "error.log").read_text()
                time.sleep(0.02)
            yield
        finally:
            process.terminate()


@contextlib.asynccontextmanager
async def edge_before(origin: str, **settings: Any) -> AsyncIterator[tuple[Any, KeptLog]]:
    log = KeptLog()
    edge = EdgeSettings(**{"origin": origin, "hosts": ("x.test",), **settings})
    given = EdgeInput(edge, settings=ServerSettings(limits=ROOM))
    async with open_edge(given, log) as facts, client_of(facts) as client:
        yield client, log


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder, and a site in its folder `www`."""
    www = tmp_path / "www"
    www.mkdir()
    (www / "index.html").write_text("<!doctype html>hello")
    (www / "large.bin").write_bytes(b"".join(index.to_bytes(4, "big") for index in range(80_000)))
    return tmp_path


async def all_of_it(client: Any, www: Path) -> list[Any]:
    """Everything, at once; then ranges and conditions."""
    names = ["index.html", "large.bin"] * 2
    answers = await asyncio.gather(*(client.ask("GET", f"/{name}") for name in names))
    for name, got in zip(names, answers, strict=True):
        assert (got.status, got.reset) == (200, None), name
        assert hashlib.sha256(got.body).digest() == hashlib.sha256((www / name).read_bytes()).digest()
    part = await client.ask("GET", "/large.bin", [("range", "bytes=100-199")])
    assert (part.status, bytes(part.body)) == (206, (www / "large.bin").read_bytes()[100:200])
    same = await client.ask("GET", "/large.bin", [("if-none-match", answers[1]["etag"][0])])
    head = await client.ask("HEAD", "/large.bin")
    assert (same.status, head["content-length"], (await client.ask("GET", "/none")).status) == (304, ["320000"], 404)
    return list(answers)


needs_nginx = pytest.mark.skipif(NGINX is None, reason="nginx is missing (package nginx-light)")


@needs_nginx
def test_nginx_behind_a_unix_socket(files: Path) -> None:
    async def play() -> None:
        async with edge_before(f"unix:{files}/socket") as (client, _):
            answers = await all_of_it(client, files / "www")
            assert answers[0]["via"] == ["1.1 mixedsched"]

    with nginx(files, f"unix:{files}/socket"):
        run(play)


@needs_nginx
def test_nginx_over_tls_and_http2_which_must_prove_who_it_is(files: Path) -> None:
    certificate = written(files, "origin", "localhost")
    lines = [f"ssl_certificate {certificate.certificate};", f"ssl_certificate_key {certificate.key};"]

    async def play() -> None:
        async with edge_before(f"https://localhost:{port}", origin_ca=certificate.certificate) as (client, _):
            answers = await all_of_it(client, files / "www")
            assert answers[0]["via"] == ["2 mixedsched"]
        async with edge_before(f"https://localhost:{port}") as (client, _):
            assert (await client.ask("GET", "/")).status == 502
        async with edge_before(f"https://localhost:{port}", origin_verify=False) as (client, _):
            assert (await client.ask("GET", "/")).status == 200

    port = free_port()
    with nginx(files, f"127.0.0.1:{port} ssl http2", *lines):
        run(play)


@needs_nginx
def test_nginx_over_http2_without_tls_on_one_connection(files: Path) -> None:
    async def play() -> None:
        async with edge_before(f"h2c://127.0.0.1:{port}") as (client, _):
            answers = await all_of_it(client, files / "www")
            assert answers[0]["via"] == ["2 mixedsched"]

    port = free_port()
    with nginx(files, f"127.0.0.1:{port} http2"):
        run(play)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


# Logs and counters


def test_each_request_is_in_the_access_logs_and_in_the_counters(tmp_path: Path) -> None:
    logs = EdgeLogs(tmp_path / "access.log", tmp_path / "access.json", metrics_port=0)

    async def test(edge: Edging) -> None:
        await edge.ask("GET", "/a?b=c", [("user-agent", 'x "y" \\'), ("referer", "https://x.test/")])
        await edge.ask("GET", "/", authority="other.test")
        assert edge.facts.metrics is not None
        text = await asyncio.to_thread(lambda: urllib.request.urlopen(edge.facts.metrics or "").read().decode())
        for line in (
            'mixedsched_edge_requests_total{status="200"} 1',
            'mixedsched_edge_requests_total{status="421"} 1',
            "mixedsched_edge_origin_up 1",
            "mixedsched_edge_origin_faults_total 0",
            "mixedsched_edge_connections 1",
            "# TYPE mixedsched_edge_requests_total counter",
        ):
            assert line in text.splitlines()

    playing(lambda origin: answering(origin, plain()), test, log=logs)
    first, second = (tmp_path / "access.log").read_text().splitlines()
    assert first.startswith("127.0.0.1 - - [")
    assert first.endswith('] "GET /a?b=c HTTP/3" 200 5 "https://x.test/" "x \\x22y\\x22 \\x5c"')
    assert second.endswith('"GET / HTTP/3" 421 0 "-" "-"')
    records = [json.loads(line) for line in (tmp_path / "access.json").read_text().splitlines()]
    assert [(item["client"], item["status"], item["error"]) for item in records] == [
        ("127.0.0.1", 200, None),
        ("127.0.0.1", 421, "the host is not served here"),
    ]
    assert records[0]["origin_ms"] > 0


def test_a_path_that_is_told_with_a_fault_is_fit_for_a_terminal(caplog: pytest.LogCaptureFixture) -> None:
    async def test(edge: Edging) -> None:
        got = edge.client.got[edge.client.begin("CONNECT", "/\x1b[2J", ends=False, protocol="connect-udp")]
        assert (await got.whole()).status == 501

    playing(lambda origin: answering(origin, plain()), test)
    assert [line for line in caplog.messages if line.startswith("CONNECT")] == [
        "CONNECT /\\x1b[2J: 501, an extended CONNECT for another protocol than websocket"
    ]


# The command


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_the_command_says_where_it_listens_survives_hangup_and_finishes_what_is_under_way(workers: int) -> None:
    origin = Origin()

    async def play() -> None:
        async with origin_running(origin, answering(origin, plain())):
            options = ["--origin", origin.url, "--host", "x.test", "--workers", str(workers)]
            with edge_command(*options) as (process, first):
                assert {"listening", "spki_sha256", "url", "hosts", "scheme", "workers", "gso"} <= first.keys()
                assert (first["origin"], first["hosts"], first["scheme"]) == (origin.url, ["x.test"], "eps")
                process.send_signal(signal.SIGHUP)
                facts = FACTS.validate_python(first)
                async with client_of(facts) as client:
                    assert (await client.ask("GET", "/")).body == b"hello"
                    assert process.stdout is not None
                    line = json.loads(await asyncio.to_thread(process.stdout.readline))
                    assert (line["request"]["path"], line["request"]["complete"]) == ("/", True)
                process.send_signal(signal.SIGTERM)
                assert await asyncio.to_thread(process.wait, 60) == 0

    run(play)
