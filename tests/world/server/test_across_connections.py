"""`serve --across-connections` over UDP: the connections of one client compete in one scheduler."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.world.server.client import serving
from tests.world.server.quic import LIMIT_S, Client

pytestmark = pytest.mark.slow  # servers in processes of their own

BIG_BYTES, SMALL_BYTES = 1_500_000, 150_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "shop"
    folder.mkdir()
    (folder / "index.html").write_text("<!doctype html><p>shop")
    for name, size_bytes in (("big.bin", BIG_BYTES), ("small.bin", SMALL_BYTES)):
        (folder / name).write_bytes(bytes(index % 251 for index in range(size_bytes)))
    (folder / "mixedsched.toml").write_text(
        '[[responses]]\nmatch = "/small.bin"\npriority = "u=0"\n[[responses]]\nmatch = "/big.bin"\npriority = "u=5"\n'
    )
    return folder


def run_both(first: Client, second: Client, limit_s: float = LIMIT_S) -> None:
    """Serve both until all they have asked for is there."""
    deadline_s = time.monotonic() + limit_s
    while len(first.ended) < len(first.bodies) or len(second.ended) < len(second.bodies):
        assert time.monotonic() < deadline_s, "it takes too long"
        first.turn(0.001)
        second.turn(0.001)


def big_bytes_before_small_is_over(port: int) -> int:
    """Two connections of one address ask at once; how much of the large, unimportant response comes first."""
    with Client(port) as first, Client(port) as second:
        first.connect()
        second.connect()
        small = second.ask("/small.bin")
        big = first.ask("/big.bin")
        second.turn(0.0)
        first.turn(0.0)
        while small not in second.ended:
            first.turn(0.001)
            second.turn(0.001)
        came = len(first.bodies[big])
        run_both(first, second)
        assert len(first.bodies[big]) == BIG_BYTES
        assert len(second.bodies[small]) == SMALL_BYTES
        return came


def test_what_is_urgent_on_one_connection_goes_before_what_is_not_on_another(site: Path) -> None:
    with serving(site, "--across-connections") as server:
        assert server.first["across_connections"] is True
        came = min(big_bytes_before_small_is_over(server.port) for _ in range(3))
    # The small one is twelve initial windows long; only at its end may the other connection's bytes overtake on loopback.
    assert came < SMALL_BYTES / 2
    with serving(site) as server:
        assert server.first["across_connections"] is False
        apart = max(big_bytes_before_small_is_over(server.port) for _ in range(3))
    assert apart > came, "without the option each connection sends for itself"


def test_a_client_that_falls_silent_does_not_hold_its_siblings(site: Path) -> None:
    with serving(site, "--across-connections") as server, Client(server.port) as silent, Client(server.port) as other:
        silent.connect()
        other.connect()
        silent.ask("/small.bin")
        silent.turn(0.0)  # has asked, and acknowledges nothing from here on
        assert len(other.get("/big.bin")) == BIG_BYTES


def test_a_connection_that_closes_leaves_the_others_going_on(site: Path) -> None:
    with serving(site, "--across-connections") as server, Client(server.port) as other:
        other.connect()
        with Client(server.port) as leaving:
            leaving.connect()
            leaving.ask("/small.bin")
            leaving.turn(0.0)
            big = other.ask("/big.bin")
            other.turn(0.0)
        other.run(lambda: big in other.ended)
        assert len(other.bodies[big]) == BIG_BYTES


def test_several_workers_cannot_do_it(site: Path) -> None:
    command = [sys.executable, "-m", "mixedsched", "serve", str(site), "--across-connections", "--workers", "2"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 2
    assert "different processes" in ended.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_connections_are_told_of_with_the_host_that_was_asked_for(site: Path, workers: str) -> None:
    with serving(site, "--log-connections", "--workers", workers) as server, Client(server.port) as client:
        client.connect()
        client.get("/")
        lines = [server.next_line(), server.next_line()]
    connection = next(line["connection"] for line in lines if "connection" in line)
    request = next(line["request"] for line in lines if "request" in line)
    assert connection["server_name"] == "x.test"
    assert connection["client"].startswith("127.0.0.1:")
    assert connection["connection"] == request["connection"]
    assert ("worker" in connection) == (workers == "2")


def test_a_connection_without_a_request_or_a_host_shows_too(site: Path) -> None:
    with serving(site, "--log-connections") as server, Client(server.port, server_name=None) as client:
        client.connect()
        assert server.next_line()["connection"]["server_name"] is None
