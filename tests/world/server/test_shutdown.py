"""How a server goes: it finishes what it has begun, but not for ever."""

from __future__ import annotations

import os
from pathlib import Path
from subprocess import TimeoutExpired

import pytest

from mixedsched.core.h3.codes import ErrorCode
from tests.sites.folders import write_files
from tests.world.server.client import RunningServer, serving
from tests.world.server.quic import Client

pytestmark = pytest.mark.slow  # servers in processes of their own

BIG_BYTES = 2_000_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(
        tmp_path_factory.mktemp("served") / "shop",
        {"index.html": "<!doctype html><p>shop", "big.bin": os.urandom(BIG_BYTES)},
    )


def slow_client(port: int) -> Client:
    return Client(port, max_data=50_000, max_stream_data=50_000)


@pytest.mark.parametrize("wish", ["SIGTERM", "end of standard input"])
@pytest.mark.parametrize("earlier_clients", [0, 2])
def test_a_response_under_way_is_finished(site: Path, wish: str, earlier_clients: int) -> None:
    """Also where the server has been without a client in between."""
    with serving(site, "--grace", "15s") as server:
        for _ in range(earlier_clients):
            with Client(server.port) as client:
                client.connect()
        finish_after(wish, server, site)


def finish_after(wish: str, server: RunningServer, site: Path) -> None:
    with slow_client(server.port) as client:
        stream_id = client.ask("/big.bin")
        client.run(lambda: len(client.bodies[stream_id]) > 20_000)
        if wish == "SIGTERM":
            server.process.terminate()
        else:
            assert server.process.stdin is not None
            server.process.stdin.close()
        client.run(lambda: stream_id in client.ended)
        assert client.bodies[stream_id] == (site / "big.bin").read_bytes()
        assert client.run_to_end().error_code == ErrorCode.H3_NO_ERROR
        assert server.process.wait(15) == 0
        assert server.next_line()["request"]["complete"]


def test_newcomers_are_refused_meanwhile(site: Path) -> None:
    with serving(site, "--grace", "15s") as server, slow_client(server.port) as client:
        stream_id = client.ask("/big.bin")
        client.run(lambda: len(client.bodies[stream_id]) > 20_000)
        server.process.terminate()
        with Client(server.port) as late:
            while late.terminated is None:  # until the server has noticed the signal it may still accept
                late.turn(0.02)
        client.run(lambda: stream_id in client.ended)


def test_a_client_that_does_not_read_is_cut_off_after_the_grace_time(site: Path) -> None:
    with serving(site, "--grace", "300ms") as server, slow_client(server.port) as client:
        stream_id = client.ask("/big.bin")
        client.run(lambda: len(client.bodies[stream_id]) > 20_000)
        server.process.terminate()
        assert server.process.wait(15) == 0
        line = server.next_line()["request"]
        assert (line["path"], line["complete"]) == ("/big.bin", False)


def test_a_second_signal_ends_it_at_once(site: Path) -> None:
    with serving(site, "--grace", "1000s") as server, slow_client(server.port) as client:
        stream_id = client.ask("/big.bin")
        client.run(lambda: len(client.bodies[stream_id]) > 20_000)
        server.process.terminate()
        with pytest.raises(TimeoutExpired):
            server.process.wait(0.5)
        server.process.terminate()
        assert server.process.wait(15) == 0


def test_an_idle_client_does_not_delay_the_end(site: Path) -> None:
    with serving(site, "--grace", "1000s") as server, Client(server.port) as client:
        client.get("/")
        server.process.terminate()
        assert client.run_to_end().error_code == ErrorCode.H3_NO_ERROR
        assert server.process.wait(15) == 0
