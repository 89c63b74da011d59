"""Configurations for servers that cannot be had here with HTTP/3: what the same server without it makes of them, over TCP."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mixedsched.world.server.site import ServedSite
from mixedsched.world.servers import KINDS, find_server
from mixedsched.world.servers._certificates import write_certificate
from mixedsched.world.servers.answers import answers_of
from mixedsched.world.servers.kind import Launch, Order
from tests.world.servers.sites import (
    HOST,
    LONG_FIELD,
    ODD_QUERIES,
    ODD_TARGETS,
    OTHER,
    STYLE,
    full_site,
    odd_site,
    plain_site,
)

START_LIMIT_S = 20.0


def launch_of(name: str, site: ServedSite, folder: Path, values: dict[str, str] | None = None) -> tuple[Launch, Order]:
    found = find_server(KINDS[name])
    if found.program is None:
        pytest.skip(f"there is no {name} at all here: scripts/setup --lab fetches one")
    folder.chmod(0o755)
    (folder / "server").mkdir()
    files = write_certificate(folder, site.hosts)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    order = Order(
        program=found.program,
        folder=folder / "server",
        host="127.0.0.1",
        port=port,
        certificate=files.certificate,
        key=files.key,
        hosts=site.hosts,
        answers=answers_of(site),
        values=values or {},
        bursts=True,
    )
    return found.kind.prepare(order), order


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running(launch: Launch, order: Order) -> Iterator[None]:
    environment = {**os.environ, **order.program.environment, **launch.environment}
    process = subprocess.Popen(launch.words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        deadline_s = time.monotonic() + START_LIMIT_S
        while not listens(order.port):
            assert process.poll() is None, process.stdout and process.stdout.read()
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.communicate(timeout=20)


def got(order: Order, target: str, host: str = HOST) -> tuple[int, bytes, list[tuple[str, str]]]:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", order.port, timeout=20, context=context)
    connection.putrequest("GET", target, skip_host=True, skip_accept_encoding=True)
    connection.putheader("host", host)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body, [(name.lower(), value) for name, value in answer.getheaders()]


def without_quic(launch: Launch, order: Order) -> None:
    """Take the words from a configuration that only a server with HTTP/3 knows."""
    file = next(file for file in (order.folder / "nginx.conf", order.folder / "h2o.conf") if file.exists())
    text = file.read_text().replace(" quic;", " ssl;").replace('"type": "quic", ', "")
    text = re.sub(r"quic_gso \w+;|http3_stream_buffer_size \w+;", "", text)
    file.write_text(text)
    assert str(file) in launch.words


def test_nginx_maps_hosts_queries_case_and_fields_to_files(tmp_path: Path) -> None:
    shipped = tmp_path / "$my [best] *.conf"  # nginx takes such a name for a pattern, with a variable in it
    shipped.write_text(
        'map $request_uri $mixedsched_priority { default ""; "~^/css/" "u=1, i=?0"; }\n'
        "add_header priority $mixedsched_priority always;\n"
    )
    launch, order = launch_of("nginx", full_site(tmp_path), tmp_path, {"headers": str(shipped)})
    without_quic(launch, order)
    with running(launch, order):
        assert [got(order, target)[1] for target in ("/q?a=1", "/q?a=2&b={x}$(y)", "/Q?a=1")] == [
            b"one",
            b"two",
            b"three",
        ]
        assert got(order, "/", OTHER)[1] == b"other"
        status, body, fields = got(order, "/css/main.css?v=3")
        assert (status, body) == (200, STYLE)
        assert ("content-type", "text/css; charset=utf-8") in fields
        assert ("priority", "u=1, i=?0") in fields
        assert ("content-encoding", "gzip") in got(order, "/coded.css")[2]
        own = got(order, "/own")[2]
        assert ("link", '</css/main.css>; rel="preload"') in own
        assert [value for name, value in own if name == "set-cookie"] == ["a={x}$1", 'b="2"']
        assert "priority" not in dict(own)
        assert got(order, "/nothing")[0] == 404
        assert got(order, "/0.t0")[0] == 404


def test_nginx_gets_the_size_of_its_buffer(tmp_path: Path) -> None:
    _, order = launch_of("nginx", plain_site(tmp_path), tmp_path, {"http3_stream_buffer_size": "1m"})
    assert "http3_stream_buffer_size 1m;" in (order.folder / "nginx.conf").read_text()


def test_h2o_has_a_path_for_each_path_of_the_site(tmp_path: Path) -> None:
    shipped = tmp_path / "h2o.conf"
    shipped.write_text('mruby.handler: |\n  Proc.new { |env| [399, { "priority" => "u=1" }, []] }\n')
    launch, order = launch_of("h2o", plain_site(tmp_path), tmp_path, {"headers": str(shipped)})
    without_quic(launch, order)
    config = order.folder / "h2o.conf"
    # H2O 2.2 does not know that the key may stay in its process.
    config.write_text(config.read_text().replace('"neverbleed": "OFF", ', ""))
    with running(launch, order):
        status, body, fields = got(order, "/css/main.css?v=3")
        assert (status, body) == (200, STYLE)
        assert ("content-type", "text/css; charset=utf-8") in fields
        assert ("priority", "u=1") in fields
        assert got(order, "/")[1] == b"<!doctype html>hello"
        assert dict(got(order, "/")[2])["content-type"].startswith("text/html")
        assert {("access-control-allow-origin", "*"), ("cache-control", "max-age=3600")} <= set(fields)
        assert got(order, "/a%20b.js")[1] == b"let a"
        assert got(order, "/nothing")[0] == 404


@pytest.mark.parametrize(("name", "targets"), [("nginx", ODD_TARGETS + ODD_QUERIES), ("h2o", ODD_TARGETS)])
def test_odd_addresses_and_long_fields_are_answered_as_they_are(
    tmp_path: Path, name: str, targets: tuple[str, ...]
) -> None:
    launch, order = launch_of(name, odd_site(tmp_path, *targets), tmp_path)
    without_quic(launch, order)
    if name == "h2o":
        config = order.folder / "h2o.conf"
        config.write_text(config.read_text().replace('"neverbleed": "OFF", ', ""))
    with running(launch, order):
        for place, target in enumerate(targets):
            status, body, fields = got(order, target)
            assert (target, status, body) == (target, 200, str(place).encode())
            assert ("content-security-policy", LONG_FIELD) in fields


def test_caddy_and_our_quic_go_server_get_configurations_that_are_json(tmp_path: Path) -> None:
    for name, file in (("caddy", "caddy.json"), ("quic-go", "config.json")):
        folder = tmp_path / name
        folder.mkdir()
        _, order = launch_of(name, full_site(folder), folder)
        json.loads((order.folder / file).read_text())
