"""The UDP side of `serve`: system calls, limits, address validation, and clients that are slow, silent or hostile."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from aioquic.buffer import Buffer  # type: ignore[attr-defined]
from aioquic.quic.packet import QuicErrorCode, QuicPacketType, pull_quic_header

from tests.sites.folders import write_files
from tests.world.server.client import RunningServer, fetch, serving
from tests.world.server.quic import Client

pytestmark = pytest.mark.slow  # servers in processes of their own

BIG_BYTES = 2_000_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(
        tmp_path_factory.mktemp("served") / "shop",
        {"index.html": "<!doctype html><p>shop", "big.bin": os.urandom(BIG_BYTES)},
    )


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[RunningServer]:
    with serving(site) as running:
        yield running


@pytest.mark.parametrize("gso", ["auto", "off"])
def test_flights_and_single_packets_bring_the_same_bytes(site: Path, tmp_path: Path, gso: str) -> None:
    with serving(site, "--gso", gso) as running:
        assert running.first["gso"] in ({False} if gso == "off" else {False, True})
        assert fetch(running.port, ("GET", "/big.bin"))[0].body == (site / "big.bin").read_bytes()


def test_a_refusal_that_no_file_answers_has_a_date_as_all_others(server: RunningServer) -> None:
    (refused,) = fetch(server.port, ("GET", "/", {"x": "~" * 40_000}))
    assert refused.status == 431
    assert refused.headers["date"].endswith("GMT")


@pytest.mark.skipif(shutil.which("gtlsclient") is None, reason="gtlsclient (Debian: ngtcp2-client) is not installed")
@pytest.mark.parametrize("options", [["--gso", "auto"], ["--gso", "off"], ["--retry", "always"], ["--workers", "2"]])
def test_an_independent_client_gets_the_bytes(site: Path, tmp_path: Path, options: list[str]) -> None:
    with serving(site, *options) as running:
        subprocess.run(
            [
                *("gtlsclient", "-q", "--no-quic-dump", "--no-http-dump", f"--download={tmp_path}"),
                *("--exit-on-all-streams-close", "127.0.0.1", str(running.port), "https://shop.test/big.bin"),
            ],
            check=True,
            timeout=60,
        )
    assert (tmp_path / "big.bin").read_bytes() == (site / "big.bin").read_bytes()


def test_the_first_line_tells_what_the_system_granted(server: RunningServer) -> None:
    assert server.first["workers"] == 1
    assert server.first["receive_buffer_bytes"] > 100_000
    assert server.first["send_buffer_bytes"] > 100_000


def test_a_client_beyond_its_share_is_refused_at_once(site: Path) -> None:
    with serving(site, "--max-connections-per-client", "2") as running:
        with Client(running.port) as first, Client(running.port) as second, Client(running.port) as third:
            assert b"shop" in first.get("/")
            assert b"shop" in second.get("/")
            assert third.run_to_end().error_code == QuicErrorCode.CONNECTION_REFUSED
            assert b"shop" in first.get("/"), "those served already notice nothing"
        with Client(running.port) as later:
            assert b"shop" in later.get("/"), "there is room again when connections have ended"


def test_with_too_much_memory_in_use_newcomers_are_refused(site: Path) -> None:
    with serving(site, "--max-memory-mb", "1") as running, Client(running.port) as client:
        assert client.run_to_end().error_code == QuicErrorCode.CONNECTION_REFUSED


def test_a_connection_may_have_so_many_requests_open_and_no_more(site: Path) -> None:
    with serving(site, "--max-streams", "3") as running, Client(running.port) as client:
        client.connect()
        asked = [client.ask("/") for _ in range(10)]
        assert client.quic._remote_max_streams_bidi == 3
        client.run(lambda: client.ended >= set(asked))  # aioquic holds back what it has no credit for


def test_a_retry_packet_has_the_client_prove_its_address(site: Path) -> None:
    with serving(site, "--retry", "always") as running, Client(running.port) as client:
        assert b"shop" in client.get("/")
        first = pull_quic_header(Buffer(data=client.datagrams[0]), host_cid_length=8)
        assert first.packet_type == QuicPacketType.RETRY
        assert len(client.datagrams[0]) < 1200, "a forged address is not worth the trouble"


def test_a_token_of_ours_that_is_not_valid_ends_the_connection_at_once(server: RunningServer) -> None:
    """Its client takes no second Retry, and would wait in vain (RFC 9000 section 8.1.2)."""
    with Client(server.port, token=b"mixedsched" + os.urandom(80)) as client:
        assert client.run_to_end().error_code == QuicErrorCode.INVALID_TOKEN


@pytest.mark.parametrize("policy", ["auto", "always"])
def test_a_token_of_another_server_is_as_good_as_none(site: Path, policy: str) -> None:
    """Browsers keep what the server gave them that had this name and port before."""
    with serving(site, "--retry", policy) as running, Client(running.port, token=os.urandom(80)) as client:
        assert b"shop" in client.get("/")


def test_a_handshake_that_does_not_end_is_given_up(site: Path) -> None:
    with serving(site, "--handshake-timeout", "300ms", "--max-connections", "1") as running:
        silent = Client(running.port)
        silent._send()
        silent.socket.close()
        deadline_s = time.monotonic() + 20
        while True:
            with Client(running.port) as client:
                try:
                    assert b"shop" in client.get("/")
                    break
                except AssertionError:
                    assert client.terminated is not None
                    assert client.terminated.error_code == QuicErrorCode.CONNECTION_REFUSED
            assert time.monotonic() < deadline_s
            time.sleep(0.1)


def test_what_is_no_first_packet_gets_no_answer(server: RunningServer) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", server.port))
        short_header = b"\x40" + os.urandom(1300)
        small_initial = b"\xc0\x00\x00\x00\x01\x08" + bytes(8) + b"\x08" + bytes(8) + b"\x00\x41\x00" + bytes(256)
        small_unknown_version = b"\xc0\x1a\x2a\x3a\x4a\x08" + bytes(8) + b"\x08" + bytes(8) + bytes(100)
        handshake = b"\xe0\x00\x00\x00\x01\x08" + bytes(8) + b"\x08" + bytes(8) + b"\x44\x00" + bytes(1024)
        for packet in (b"", b"\x00", short_header, small_initial, small_unknown_version, handshake):
            sock.send(packet)
        sock.settimeout(0.5)
        with pytest.raises(TimeoutError):
            sock.recv(65536)
    assert fetch(server.port, ("GET", "/"))[0].status == 200


def test_a_slow_reader_gets_all_and_holds_up_nobody(server: RunningServer, site: Path) -> None:
    with Client(server.port, max_data=20_000, max_stream_data=20_000) as slow, Client(server.port) as other:
        stream_id = slow.ask("/big.bin")
        slow.run(lambda: len(slow.bodies[stream_id]) > 50_000)
        for _ in range(3):
            assert b"shop" in other.get("/")
        assert stream_id not in slow.ended
        slow.run(lambda: stream_id in slow.ended)
        assert slow.bodies[stream_id] == (site / "big.bin").read_bytes()


def test_silent_clients_with_requests_cost_little_memory(site: Path) -> None:
    with serving(site) as running:
        process = psutil.Process(running.process.pid)
        fetch(running.port, ("GET", "/big.bin"))
        before_bytes = process.memory_info().rss
        clients = [Client(running.port, max_data=100_000, max_stream_data=100_000) for _ in range(20)]
        for client in clients:
            client.connect()
            for _ in range(10):
                client.ask("/big.bin")
            client.turn(0.1)  # and never reads again
        assert b"shop" in fetch(running.port, ("GET", "/"))[0].body
        grown_bytes = process.memory_info().rss - before_bytes
        for client in clients:
            client.socket.close()
        assert grown_bytes < 60_000_000, "20 x 10 x 2 MB were asked for"


def test_a_flood_of_first_packets_leaves_room_for_honest_clients(site: Path) -> None:
    with serving(site) as running:
        clients = [Client(running.port) for _ in range(300)]
        for client in clients:
            client._send()  # each from a port of its own; none goes on
        assert b"shop" in fetch(running.port, ("GET", "/"))[0].body
        for client in clients:
            client.socket.close()


def test_a_client_that_missed_the_goodbye_hears_it_again(server: RunningServer) -> None:
    with Client(server.port) as client:
        client.connect()
        client.quic.send_stream_data(2, b"\x00\x00")  # DATA on the control stream: the server must close
        client.miss_the_answer()
        assert client.run_to_end().error_code == 0x105
