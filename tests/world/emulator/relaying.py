"""A relay in a process of its own, and sockets to talk through it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mixedsched.model.profile import Direction, Profile

LOOPBACK = "127.0.0.1"


def profile(**down: Any) -> Profile:
    """A link without limits but those of its way to the client."""
    return Profile("x", "", "", Direction(**down), Direction())


@contextmanager
def udp(host: str = LOOPBACK) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((host, 0))
        sock.settimeout(10)
        yield sock


def needs_ipv6() -> None:
    try:
        with udp("::1"):
            return
    except OSError:
        pytest.skip("no IPv6 on the loopback interface")


@contextmanager
def started(settings: str) -> Iterator[subprocess.Popen[str]]:
    """A relay that was sent this, and may yet refuse it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mixedsched.world.emulator.relay"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdin is not None
            process.stdin.write(settings)
            process.stdin.flush()
            yield process
        finally:
            process.kill()


@contextmanager
def relaying(
    network: Profile, server: Any, seed: int = 1, listen: str = LOOPBACK, packet_log: Path | None = None
) -> Iterator[tuple[subprocess.Popen[str], tuple[str, int]]]:
    """A relay at work, and where clients find it. server: what its getsockname() says."""
    settings = {"profile": network.facts(), "seed": seed, "server": server[:2], "listen": [listen, 0]}
    settings["packet_log"] = None if packet_log is None else str(packet_log)
    with started(json.dumps(settings) + "\n") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        assert first, process.stderr.read()
        host, port = json.loads(first)["listening"]
        yield process, (host, port)


def counters(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Stop it by the end of its input, as a killed parent would, and read its last line."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    last: dict[str, Any] = json.loads(process.stdout.readlines()[-1])
    assert process.wait(10) == 0
    return last


def introduced(client: socket.socket, relay: tuple[str, int], server: socket.socket) -> Any:
    """The address at which the server sees this client."""
    client.sendto(b"hello", relay)
    return server.recvfrom(100)[1]
