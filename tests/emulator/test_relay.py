"""The relay: an emulated link between real sockets, in a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from mixedsched.profile import Direction, Profile


def profile(**down: Any) -> Profile:
    one_way = {"rate_bps": None, "delay_us": 0, "queue_bytes": None, "loss_ratio": 0.0}
    return Profile("x", "", "", Direction(**{**one_way, **down}), Direction(**one_way))


@contextmanager
def udp() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(5)
        yield sock


@contextmanager
def relaying(
    network: Profile, server: socket.socket, seed: int = 1
) -> Iterator[tuple[subprocess.Popen[str], tuple[str, int]]]:
    settings = {"profile": network.facts(), "seed": seed, "server": server, "listen": ["127.0.0.1", 0]}
    process = subprocess.Popen(
        [sys.executable, "-m", "mixedsched.emulator.relay", json.dumps(settings)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        host, port = json.loads(process.stdout.readline())["listening"]
        try:
            yield process, (host, port)
        finally:
            process.kill()


def counters(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Stop it by the end of its input, as a killed parent would, and read its last line."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    last: dict[str, Any] = json.loads(process.stdout.readlines()[-1])
    assert process.wait(10) == 0
    return last


def test_it_carries_datagrams_both_ways_and_keeps_clients_apart() -> None:
    with udp() as server, udp() as one, udp() as two, relaying(profile(), server.getsockname()) as (process, relay):
        for client, name in ((one, b"one"), (two, b"two")):
            client.sendto(name, relay)
            data, address = server.recvfrom(100)
            server.sendto(b"for " + data, address)
        assert (one.recv(100), two.recv(100)) == (b"for one", b"for two")
        told = counters(process)
    assert (told["clients"], told["up"]["packets"], told["down"]["packets"]) == (2, 2, 2)


def test_packets_take_their_time() -> None:
    with udp() as server, udp() as client, relaying(profile(delay_us=80_000), server.getsockname()) as (_, relay):
        started = time.monotonic()
        client.sendto(b"hello", relay)
        _, address = server.recvfrom(100)
        server.sendto(b"hello", address)
        client.recv(100)
        assert time.monotonic() - started >= 0.080


def test_which_packets_are_lost_is_the_same_for_the_same_seed() -> None:
    def arrived(seed: int) -> list[int]:
        got = []
        with (
            udp() as server,
            udp() as client,
            relaying(profile(loss_ratio=0.4), server.getsockname(), seed) as (process, relay),
        ):
            client.sendto(b"hello", relay)
            _, address = server.recvfrom(100)
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


def test_ctrl_c_is_left_to_the_parent() -> None:
    with udp() as server, relaying(profile(), server.getsockname()) as (process, _):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert process.poll() is None
        assert "punctuality" in counters(process)
