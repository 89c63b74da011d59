"""`conform`: a server asked from outside, ours and those that it cannot ask."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import queue
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aioquic.asyncio import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, QuicEvent, StreamDataReceived

from mixedsched.cli.conform import _target
from mixedsched.core.h3.certificate import make_certificate
from mixedsched.core.h3.codes import ErrorCode
from mixedsched.world.client.talk import Talk
from tests.command import run
from tests.world.server.client import serving


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "index.html").write_text("<p>small")
    (folder / "big.bin").write_bytes(random.Random(1).randbytes(1_200_000))
    return folder


@pytest.fixture(scope="module")
def port(site: Path) -> Iterator[int]:
    """Of one server of ours, whom all that can be refused is asked of."""
    with serving(site) as server:
        yield server.port


@pytest.mark.slow
def test_our_own_server_keeps_all_that_can_be_seen(site: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.md"
    with serving(site) as server:
        asked = run(
            *("conform", f"127.0.0.1:{server.port}", "--path", "/big.bin", "--risky", "--tries", "1", "--strict"),
            *("--json", "--markdown", table),
        )
    told = json.loads(asked.stdout)
    assert [probe for probe in told["probes"] if probe["verdict"] != "right"] == []
    assert asked.exit_code == 0
    assert told["summary"] == {"orders": {"asked": 11, "right": 11}, "frames": {"asked": 20, "right": 20}}
    assert told["died_after"] is None
    assert table.read_text().count("| right |") == 31


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [("/", 3, "no large file"), ("/nothing.bin", 3, "status 404"), ("big.bin", 2, "not a path")],
)
def test_without_a_large_file_nothing_is_asked(port: int, path: str, code: int, words: str) -> None:
    asked = run("conform", f"127.0.0.1:{port}", "--path", path)
    assert asked.exit_code == code
    assert words in asked.stderr
    assert asked.stdout == ""


def test_nobody_there_is_told_at_once() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    asked = run("conform", f"127.0.0.1:{port}")
    assert asked.exit_code == 4
    assert "nobody listens there" in asked.stderr


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.1:0", "127.0.0.1:port", ":443"])
def test_an_address_is_a_host_and_a_port(address: str) -> None:
    asked = run("conform", address)
    assert asked.exit_code == 2
    assert "HOST:PORT" in asked.stderr


def test_a_host_without_address_is_told() -> None:
    asked = run("conform", "no-such-host.invalid:443")
    assert asked.exit_code == 4
    assert "no address" in asked.stderr


@pytest.mark.parametrize("address", ["[fe80::1%lo]:443", "255.255.255.255:443"])
def test_an_address_to_which_no_way_leads_is_told(address: str) -> None:
    asked = run("conform", address)
    assert asked.exit_code == 4
    assert "no HTTP/3" in asked.stderr


@pytest.mark.parametrize("name", ["b\u00fccher test", "a..b", "", "x" * 300])
def test_a_name_that_no_host_has_is_refused(name: str) -> None:
    asked = run("conform", "127.0.0.1:9", "--host", name)
    assert asked.exit_code == 2
    assert "not the name of a host" in asked.stderr


def test_a_name_beyond_ascii_is_sent_as_dns_writes_it() -> None:
    assert _target("127.0.0.1:443", "/", "b\u00fccher.test").authority == "xn--bcher-kva.test"


def test_an_address_is_asked_for_as_requests_have_it() -> None:
    assert _target("[::1]:443", "/", None).authority == "[::1]"
    assert _target("[fe80::1%lo]:4433", "/", None).authority == "[fe80::1]:4433"


def test_of_several_addresses_of_a_name_the_one_where_somebody_is_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real resolver of one machine may have both addresses of localhost, that of another only one."""
    with quic_server("h3", closes_on=StreamDataReceived, host="::1") as port:
        both = [
            (socket.AF_INET6, socket.SOCK_DGRAM, 0, "", ("::1", port, 0, 0)),
            (socket.AF_INET, socket.SOCK_DGRAM, 0, "", ("127.0.0.1", port)),
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
        with Talk("localhost", port, "localhost") as talk:
            assert talk.host == "::1"


def test_a_table_that_cannot_be_written_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    for file in (tmp_path / "none" / "table.md", tmp_path):
        asked = run("conform", "127.0.0.1:9", "--markdown", file)
        assert asked.exit_code == 2
        assert "cannot write" in asked.stderr


def test_quic_with_another_protocol_is_no_http3() -> None:
    with quic_server("hq-interop", closes_on=None) as port:
        asked = run("conform", f"127.0.0.1:{port}")
    assert asked.exit_code == 4
    assert "no HTTP/3" in asked.stderr
    assert "another protocol" in asked.stderr


def test_quic_of_another_version_is_no_http3() -> None:
    """The server's answer to any version that it does not know is a list of those that it does (RFC 9000 section 17.2.1)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(20)

        def negotiate() -> None:
            asked, client = sock.recvfrom(2000)
            theirs = asked[6 : 6 + asked[5]]
            ours = asked[7 + len(theirs) :][: asked[6 + len(theirs)]]
            names = bytes([len(ours), *ours, len(theirs), *theirs])
            sock.sendto(bytes([0x80]) + bytes(4) + names + bytes.fromhex("ff00001d"), client)

        thread = threading.Thread(target=negotiate)
        thread.start()
        asked = run("conform", f"127.0.0.1:{sock.getsockname()[1]}")
        thread.join()
    assert asked.exit_code == 4
    assert "no version of it" in asked.stderr


@pytest.mark.parametrize(
    ("event", "words"),
    [(ProtocolNegotiated, "closes the connection at once"), (StreamDataReceived, "instead of answering: go away")],
)
def test_a_server_that_closes_at_once_is_told(event: type[QuicEvent], words: str) -> None:
    with quic_server("h3", closes_on=event) as port:
        asked = run("conform", f"127.0.0.1:{port}")
    assert asked.exit_code == 1
    assert words in asked.stderr.replace("\n  why", "")


def test_a_server_that_wants_no_more_of_a_request_still_answers_it() -> None:
    with quic_server("h3", closes_on=None, answer=NOT_FOUND) as port:
        asked = run("conform", f"127.0.0.1:{port}")
    assert asked.exit_code == 3
    assert "status 404" in asked.stderr


NOT_FOUND = bytes([1, 3, 0, 0, 0xC0 | 27])
"""A HEADERS frame with line 27 of QPACK's static table: status 404."""


@contextmanager
def quic_server(
    protocol: str, *, closes_on: type[QuicEvent] | None, host: str = "127.0.0.1", answer: bytes = b""
) -> Iterator[int]:
    """A real QUIC server in a thread, which speaks this protocol. answer: to the first request, of which it wants no more."""
    certificate = make_certificate(["site.test"], dt.datetime.now(dt.UTC))
    configuration = QuicConfiguration(is_client=False, alpn_protocols=[protocol])
    configuration.certificate, configuration.private_key = certificate.certificate, certificate.private_key

    class Closes(QuicConnectionProtocol):
        def quic_event_received(self, event: QuicEvent) -> None:
            if closes_on is not None and isinstance(event, closes_on):
                self.close(error_code=0x10B, reason_phrase="go away")
            if answer and isinstance(event, StreamDataReceived) and event.stream_id == 0:
                self._quic.stop_stream(0, ErrorCode.H3_NO_ERROR)
                self.transmit()
                self._quic.send_stream_data(0, answer, True)

    ports: queue.Queue[int] = queue.Queue()
    loop, over = asyncio.new_event_loop(), asyncio.Event()

    async def serve_until_over() -> None:
        _, server = await loop.create_datagram_endpoint(
            lambda: QuicServer(configuration=configuration, create_protocol=Closes), (host, 0)
        )
        ports.put(server._transport.get_extra_info("sockname")[1])
        await over.wait()
        server.close()
        await asyncio.sleep(0)  # transports close in the next turn

    def run_loop() -> None:
        loop.run_until_complete(serve_until_over())
        loop.close()

    thread = threading.Thread(target=run_loop)
    thread.start()
    try:
        yield ports.get(timeout=10)
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)
