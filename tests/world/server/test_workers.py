"""Several server processes on one port."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from mixedsched.world.server.handover import CONNECTION_ID_BYTES, Handover, make_connection_id
from mixedsched.world.system.udp import open_shared_udp_sockets, open_udp_socket
from tests.sites.folders import write_files
from tests.world.server.client import RunningServer, fetch, serving
from tests.world.server.quic import Client

pytestmark = pytest.mark.slow  # servers in processes of their own

BIG_BYTES = 500_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(
        tmp_path_factory.mktemp("served") / "shop",
        {"index.html": "<!doctype html><p>shop", "big.bin": os.urandom(BIG_BYTES)},
    )


def workers_of(server: RunningServer) -> list[psutil.Process]:
    return psutil.Process(server.process.pid).children()


def all_end(processes: list[psutil.Process]) -> bool:
    return not psutil.wait_procs(processes, timeout=15)[1]


def line_of(server: RunningServer) -> dict[str, Any]:
    request: dict[str, Any] = server.next_line()["request"]
    return request


def test_clients_are_divided_among_the_workers_and_logged_in_one_place(site: Path) -> None:
    with serving(site, "--workers", "3") as server:
        assert server.first["workers"] == 3
        assert len(workers_of(server)) == 3
        seen = set()
        connections = set()
        for _ in range(40):  # on one worker all by chance: 3 ** -39
            assert b"shop" in fetch(server.port, ("GET", "/"))[0].body
            line = line_of(server)
            seen.add(line["worker"])
            connections.add(line["connection"])
            if len(seen) > 1:
                break
        assert len(seen) > 1
        assert seen <= {0, 1, 2}


def test_a_client_that_changes_its_port_stays_with_its_worker(site: Path) -> None:
    with (
        serving(site, "--workers", "4") as server,
        Client(server.port, max_data=100_000, max_stream_data=100_000) as one,
    ):
        one.get("/")
        first = line_of(server)
        for _ in range(8):  # with its worker again by chance each time: 4 ** -8
            stream_id = one.ask("/big.bin")
            one.run(lambda stream_id=stream_id: len(one.bodies[stream_id]) > 50_000)  # type: ignore[misc]
            one.change_port()
            one.quic.send_ping(1)
            one.run(lambda stream_id=stream_id: stream_id in one.ended)  # type: ignore[misc]
            assert one.bodies[stream_id] == (site / "big.bin").read_bytes()
            line = line_of(server)
            assert (line["worker"], line["connection"]) == (first["worker"], first["connection"])


def test_connection_ids_name_their_worker_and_nothing_else() -> None:
    made = {make_connection_id(7) for _ in range(100)}
    assert len(made) == 100
    assert {(connection_id[0], len(connection_id)) for connection_id in made} == {(7, CONNECTION_ID_BYTES)}


def test_a_packet_is_handed_over_with_its_address() -> None:
    first, second = Handover.among(2)
    try:
        assert first.owner_of(make_connection_id(1)) == 1
        assert first.owner_of(make_connection_id(0)) is None, "it is its own"
        assert first.owner_of(make_connection_id(2)) is None, "there is no such worker"
        assert first.owner_of(b"\x01short") is None
        addresses: list[tuple[Any, ...]] = [("192.0.2.1", 1), ("2001:db8::1", 65535, 0, 0)]
        packets = [b"", b"\n\n" * 100, os.urandom(65000)]
        for address in addresses:
            for packet in packets:
                first.give(1, packet, address)
        assert list(second.take()) == [(packet, address) for address in addresses for packet in packets]
        assert list(second.take()) == []
    finally:
        first.close()
        second.close()


def test_a_worker_that_does_not_keep_up_costs_packets_and_no_time() -> None:
    first, second = Handover.among(2)
    try:
        for _ in range(10_000):
            first.give(1, bytes(1200), ("192.0.2.1", 1))
        assert 0 < len(list(second.take())) < 10_000
    finally:
        first.close()
        second.close()


def test_a_port_is_not_shared_with_another_server() -> None:
    sockets = open_shared_udp_sockets("127.0.0.1", 0, 2)
    try:
        port = sockets[0].getsockname()[1]
        assert {sock.getsockname()[1] for sock in sockets} == {port}
        with pytest.raises(OSError, match="in use"):
            open_shared_udp_sockets("127.0.0.1", port, 2)
        with pytest.raises(OSError, match="in use"):
            open_udp_socket("127.0.0.1", port)
    finally:
        for sock in sockets:
            sock.close()


def test_all_stop_when_standard_input_ends(site: Path) -> None:
    with serving(site, "--workers", "2") as server:
        workers = workers_of(server)
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.process.wait(15) == 0
        assert all_end(workers)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_all_stop_when_told(site: Path, number: signal.Signals) -> None:
    with serving(site, "--workers", "2") as server:
        workers = workers_of(server)
        server.process.send_signal(number)
        assert server.process.wait(15) == 0
        assert all_end(workers)


def test_none_outlives_a_parent_that_was_killed(site: Path) -> None:
    with serving(site, "--workers", "3") as server:
        workers = workers_of(server)
        server.process.kill()
        server.process.wait(15)
        assert all_end(workers)


def test_a_worker_that_dies_ends_the_server_with_an_error(site: Path) -> None:
    with serving(site, "--workers", "2") as server:
        victim, other = workers_of(server)
        victim.kill()
        assert server.process.wait(15) == 1
        assert all_end([other])
        assert server.process.stderr is not None
        assert "has ended by itself" in server.process.stderr.read()


def test_responses_under_way_are_finished_and_logged(site: Path) -> None:
    with serving(site, "--workers", "2", "--grace", "15s") as server:
        with Client(server.port, max_data=50_000, max_stream_data=50_000) as client:
            stream_id = client.ask("/big.bin")
            client.run(lambda: len(client.bodies[stream_id]) > 20_000)
            server.process.terminate()
            time.sleep(0.2)
            client.run(lambda: stream_id in client.ended)
            assert client.bodies[stream_id] == (site / "big.bin").read_bytes()
            client.run_to_end()
        assert server.process.wait(15) == 0
        assert line_of(server)["complete"]
