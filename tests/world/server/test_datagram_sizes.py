"""Datagrams of a server on real sockets: as large as the path takes, unless 1200 bytes are asked for."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from mixedsched.core.h3.datagram_size import BASE_BYTES, MAX_BYTES, STEP_BYTES
from mixedsched.sites.opening import load_site
from mixedsched.sites.serving import served_site
from mixedsched.world.emulator.kernel._network import run
from mixedsched.world.server._datagram_sizes import DatagramSizes
from mixedsched.world.server.running import ServerInput, running_server
from mixedsched.world.server.settings import ServerSettings
from mixedsched.world.system.udp import forbid_fragments, largest_payload_bytes, open_udp_socket
from tests import command
from tests.world.emulator.privileged import needs_namespaces
from tests.world.server.client import serving
from tests.world.server.quic import Client

BIG_BYTES = 3_000_000
LOOPBACK = ("127.0.0.1", 9)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "index.html").write_text("<!doctype html><p>shop")
    (folder / "big.bin").write_bytes(os.urandom(BIG_BYTES))
    return folder


def test_the_settings_of_a_server_ask_for_1200_bytes_unless_told_otherwise() -> None:
    """So the servers of experiments do: emulated links count packets."""
    assert ServerSettings().max_datagram_bytes == BASE_BYTES


def test_the_limit_is_what_settings_and_route_allow() -> None:
    with open_udp_socket() as sock:
        route_bytes = largest_payload_bytes(LOOPBACK, sock.family)
        assert route_bytes is not None
        assert DatagramSizes(sock, None).limit_bytes(LOOPBACK) == min(MAX_BYTES, route_bytes)
        assert DatagramSizes(sock, 1472).limit_bytes(LOOPBACK) == 1472
        assert DatagramSizes(sock, None).limit_bytes(("no address", 1)) == BASE_BYTES


def test_only_who_wants_larger_datagrams_forbids_fragments() -> None:
    with open_udp_socket() as sock:
        before = sock.getsockopt(socket.IPPROTO_IP, 10)
        assert DatagramSizes(sock, BASE_BYTES).limit_bytes(LOOPBACK) == BASE_BYTES
        assert sock.getsockopt(socket.IPPROTO_IP, 10) == before
        assert forbid_fragments(sock)
        assert sock.getsockopt(socket.IPPROTO_IP, 10) == 3


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="there is no IPv6 here")
@pytest.mark.parametrize("address", [("::1", 9, 0, 0), ("::ffff:127.0.0.1", 9, 0, 0)])
def test_a_socket_of_ipv6_knows_its_routes_as_well(address: tuple[str, int, int, int]) -> None:
    with open_udp_socket("::") as sock:
        assert forbid_fragments(sock)
        assert (largest_payload_bytes(address, sock.family) or 0) > BASE_BYTES


@pytest.mark.slow
@pytest.mark.parametrize(("option", "largest"), [((), MAX_BYTES), (("1350",), 1350), (("1200",), BASE_BYTES)])
def test_a_client_gets_whole_files_in_datagrams_of_the_size_that_was_asked_for(
    site: Path, option: tuple[str, ...], largest: int
) -> None:
    options = [f"--max-datagram-size={size}" for size in option]
    with serving(site, *options) as server, Client(server.port, max_data=1 << 24, max_stream_data=1 << 24) as client:
        client.connect()
        assert client.get("/big.bin") == (site / "big.bin").read_bytes()
        assert max(map(len, client.datagrams)) == largest


@pytest.mark.parametrize("size", ["1199", "16001", "-5", "1e4", "large", ""])
def test_a_size_that_cannot_be_is_refused_before_anything_is_done(site: Path, size: str) -> None:
    done = command.run("serve", site, f"--max-datagram-size={size}")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "1200 to 16000, or auto" in done.stderr


@contextmanager
def two_hops(mtu: int) -> Iterator[tuple[str, str]]:
    """A server's and a client's network with a router between, behind which datagrams must be smaller: (server's, client's)."""
    with ExitStack() as stack:
        names = [f"mixedsched-{os.getpid()}-{part}" for part in ("server", "router", "client")]
        for name in names:
            run("ip", "netns", "add", name)
            stack.callback(run, "ip", "netns", "delete", name)
        server, router, client = names
        for end, subnet, size in ((server, 1, 1500), (client, 2, mtu)):
            run(*f"ip -n {end} link add up0 type veth peer name down{subnet} netns {router}".split())
            for name, device, host in ((end, "up0", 2), (router, f"down{subnet}", 1)):
                run(*f"ip -n {name} addr add 198.18.{subnet}.{host}/24 dev {device}".split())
                run(*f"ip -n {name} link set {device} mtu {size} up".split())
            run(*f"ip -n {end} route add default via 198.18.{subnet}.1".split())
        run("ip", "netns", "exec", router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        yield server, client


@needs_namespaces
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gtlsclient") is None, reason="gtlsclient is not installed (Debian: ngtcp2-client)")
def test_the_size_is_found_that_a_router_on_the_way_still_forwards(site: Path, tmp_path: Path) -> None:
    mtu = 1400

    async def fetch(server: str, client: str) -> str:
        settings = ServerSettings(host="198.18.1.2", max_datagram_bytes=None)
        given = ServerInput(served_site(load_site(site)), settings=settings)
        async with running_server(given, "a test", prefix=("ip", "netns", "exec", server)) as running:
            host, port = running.facts.address
            words = [
                "gtlsclient",
                "--exit-on-all-streams-close",
                "--no-quic-dump",
                f"--download={tmp_path}",
                host,
                str(port),
            ]
            words = ["ip", "netns", "exec", client, *words, f"https://{host}:{port}/big.bin"]
            done = await asyncio.to_thread(
                subprocess.run, words, capture_output=True, text=True, timeout=60, check=False
            )
            return done.stderr + done.stdout

    with two_hops(mtu) as (server, client):
        told = asyncio.run(fetch(server, client))
    assert (tmp_path / "big.bin").read_bytes() == (site / "big.bin").read_bytes()
    sizes = [int(size) for size in re.findall(r"Received packet: .* (\d+) bytes", told)]
    assert mtu - 28 - STEP_BYTES < max(sizes) <= mtu - 28
