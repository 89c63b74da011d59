"""The relay: an emulated link between real sockets, in a process of its own."""

from __future__ import annotations

import json
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import psutil
import pytest

from mixedsched.model.profile import RandomLoss, Trace
from mixedsched.world.emulator.relay._clients import MAX_CLIENTS
from tests.world.emulator.relaying import LOOPBACK, counters, introduced, needs_ipv6, profile, relaying, started, udp


def test_it_carries_datagrams_both_ways_and_keeps_clients_apart() -> None:
    with udp() as server, udp() as one, udp() as two, relaying(profile(), server.getsockname()) as (process, relay):
        for client, name in ((one, b"one"), (two, b"two")):
            client.sendto(name, relay)
            data, address = server.recvfrom(100)
            server.sendto(b"for " + data, address)
        assert (one.recv(100), two.recv(100)) == (b"for one", b"for two")
        told = counters(process)
    assert (told["clients"], told["up"]["packets"], told["down"]["packets"]) == (2, 2, 2)
    assert told["down"]["size_bytes"] == 2 * (len("for one") + 28)


def test_packets_take_their_time() -> None:
    with udp() as server, udp() as client, relaying(profile(delay_us=80_000), server.getsockname()) as (_, relay):
        started_s = time.monotonic()
        server.sendto(b"hello", introduced(client, relay, server))
        client.recv(100)
        assert time.monotonic() - started_s >= 0.080


def test_which_packets_are_lost_is_the_same_for_the_same_seed() -> None:
    def arrived(seed: int) -> list[int]:
        got = []
        network = profile(loss=RandomLoss(0.4))
        with udp() as server, udp() as client, relaying(network, server.getsockname(), seed) as (process, relay):
            address = introduced(client, relay, server)
            for number in range(60):
                server.sendto(bytes([number]), address)
            client.settimeout(1)
            with suppress(TimeoutError):
                while True:
                    got.append(client.recv(10)[0])
            assert counters(process)["down"]["lost"] == 60 - len(got)
        return got

    first = arrived(1)
    assert first == arrived(1)
    assert first != arrived(2)
    assert first == sorted(first)


def test_a_packet_that_arrives_twice_is_sent_twice() -> None:
    network = profile(duplicate_ratio=1.0)
    with udp() as server, udp() as client, relaying(network, server.getsockname()) as (process, relay):
        server.sendto(b"twice", introduced(client, relay, server))
        assert (client.recv(10), client.recv(10)) == (b"twice", b"twice")
        told = counters(process)
    assert (told["down"]["duplicated"], told["punctuality"]["down"]["delivered"]) == (1, 2)


def test_the_largest_datagrams_of_an_ethernet_pass_whole() -> None:
    with udp() as server, udp() as client, relaying(profile(), server.getsockname()) as (_, relay):
        largest = (bytes(range(256)) * 6)[:1472]
        client.sendto(largest, relay)
        data, address = server.recvfrom(65_536)
        assert data == largest
        server.sendto(data, address)
        assert client.recv(65_536) == largest


@pytest.mark.parametrize(("host", "too_large"), [("127.0.0.1", (1473, 65_000)), ("::1", (1453, 65_000))])
def test_datagrams_that_no_ethernet_carries_are_dropped_and_counted(host: str, too_large: tuple[int, ...]) -> None:
    if host == "::1":
        needs_ipv6()
    with (
        udp(host) as server,
        udp(host) as client,
        relaying(profile(), server.getsockname(), listen=host) as (process, relay),
    ):
        address = introduced(client, relay, server)
        for size_bytes in too_large:
            server.sendto(bytes(size_bytes), address)
            client.sendto(bytes(size_bytes), relay)
        server.sendto(b"small", address)
        client.sendto(b"small", relay)
        assert (client.recv(100), server.recv(100)) == (b"small", b"small")
        told = counters(process)
    assert (told["down"]["too_large"], told["up"]["too_large"]) == (2, 2)
    assert (told["down"]["packets"], told["up"]["packets"]) == (1, 2)


def test_it_speaks_ipv6() -> None:
    needs_ipv6()
    with (
        udp("::1") as server,
        udp("::1") as client,
        relaying(profile(), server.getsockname(), listen="::1") as (_, relay),
    ):
        server.sendto(b"back", introduced(client, relay, server))
        assert client.recv(10) == b"back"


def test_clients_on_ipv4_reach_a_server_on_ipv6() -> None:
    needs_ipv6()
    with udp("::1") as server, udp() as client, relaying(profile(), server.getsockname()) as (_, relay):
        server.sendto(b"back", introduced(client, relay, server))
        assert client.recv(10) == b"back"


def test_settings_may_be_megabytes_long() -> None:
    network = profile(trace=Trace("long", tuple(range(1, 400_001))))
    assert len(json.dumps(network.facts())) > 2_000_000
    with udp() as server, udp() as client, relaying(network, server.getsockname()) as (process, relay):
        server.sendto(b"paced", introduced(client, relay, server))
        assert client.recv(10) == b"paced"
        assert counters(process)["down"]["packets"] == 1


@pytest.mark.parametrize("sent", ["", "\n", "{]\n"])
def test_without_settings_it_says_so(sent: str) -> None:
    with started(sent) as process:
        said, complaint = process.communicate(timeout=20)
    assert (process.returncode, complaint) == (2, "")
    assert json.loads(said)["error"]["what"] == "the relay got no settings"


def test_an_address_in_use_is_a_clear_error() -> None:
    with udp() as other:
        port = other.getsockname()[1]
        settings = {"profile": profile().facts(), "seed": 1, "server": [LOOPBACK, 9], "listen": [LOOPBACK, port]}
        with started(json.dumps(settings) + "\n") as process:
            said, _ = process.communicate(timeout=20)
    assert process.returncode == 1
    assert json.loads(said)["error"]["what"] == f"the relay cannot listen at 127.0.0.1 port {port}"


def test_a_server_that_is_gone_does_not_stop_it() -> None:
    with udp() as server:
        gone = server.getsockname()
    with udp() as client, relaying(profile(), gone) as (process, relay):
        for _ in range(20):
            client.sendto(b"hello", relay)
            time.sleep(0.01)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_a_server_that_comes_back_gets_the_very_next_packet() -> None:
    with udp() as server:
        address = server.getsockname()
    with udp() as client, relaying(profile(), address) as (_, relay), ExitStack() as later:
        client.sendto(b"nobody is there", relay)
        time.sleep(0.2)
        server = later.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        server.bind(address)
        server.settimeout(10)
        client.sendto(b"now", relay)
        assert server.recv(100) == b"now"


def test_a_client_that_is_gone_does_not_hold_up_the_others() -> None:
    with udp() as server, udp() as client, relaying(profile(), server.getsockname()) as (process, relay):
        with udp() as leaving:
            gone = introduced(leaving, relay, server)
        for _ in range(5):
            server.sendto(b"too late", gone)
        server.sendto(b"in time", introduced(client, relay, server))
        assert client.recv(100) == b"in time"
        assert counters(process)["clients"] == 2


def test_a_thousand_clients_at_once_are_served_and_those_beyond_refused() -> None:
    beyond = 8
    with many_files(2 * MAX_CLIENTS), ExitStack() as stack:
        server = stack.enter_context(udp())
        process, relay = stack.enter_context(relaying(profile(), server.getsockname()))
        clients = [stack.enter_context(udp()) for _ in range(MAX_CLIENTS + beyond)]
        for number, client in enumerate(clients):
            client.sendto(number.to_bytes(2, "big"), relay)
            if number < MAX_CLIENTS:
                name, address = server.recvfrom(2)
                server.sendto(b"for " + name, address)
        for number, client in enumerate(clients[:MAX_CLIENTS]):
            assert client.recv(10) == b"for " + number.to_bytes(2, "big")
        told = counters(process)
    assert (told["clients"], told["refused_clients"], told["refused_datagrams"]) == (MAX_CLIENTS, beyond, beyond)


@contextmanager
def many_files(count: int) -> Iterator[None]:
    """Let this process open so many files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        pytest.skip(f"this account may not open more than {hard} files")
    if soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_ctrl_c_is_left_to_the_parent() -> None:
    with udp() as server, relaying(profile(), server.getsockname()) as (process, _):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert process.poll() is None
        assert "punctuality" in counters(process)


def test_it_ends_when_its_parent_is_killed() -> None:
    settings = {"profile": profile().facts(), "seed": 1, "server": [LOOPBACK, 9], "listen": [LOOPBACK, 0]}
    parent_text = (
        "import subprocess, sys\n"
        "relay = subprocess.Popen([sys.executable, '-m', 'mixedsched.world.emulator.relay'], stdin=subprocess.PIPE)\n"
        f"relay.stdin.write({json.dumps(settings)!r}.encode() + b'\\n')\n"
        "relay.stdin.flush()\n"
        "print(relay.pid, flush=True)\n"
        "relay.wait()\n"
    )
    with subprocess.Popen([sys.executable, "-c", parent_text], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        relay = psutil.Process(int(parent.stdout.readline()))
        assert "listening" in parent.stdout.readline()
        parent.kill()
    assert not psutil.wait_procs([relay], timeout=10)[1]
