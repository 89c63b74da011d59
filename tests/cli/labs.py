"""`lab` in a process of its own, and programs to run on either side of its network."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence

from tests.command import MIXEDSCHED

# A server that answers each datagram with itself, and a client that says what it got.
ECHO = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    sock.bind((sys.argv[1], int(sys.argv[2])))
    while True:
        data, client = sock.recvfrom(2000)
        sock.sendto(data, client)
"""
CALLER = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    sock.settimeout(10)
    sock.sendto(b"hello", (sys.argv[1], int(sys.argv[2])))
    print(sock.recv(100).decode())
"""


def lab(*words: str, env: dict[str, str] | None = None, prefix: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*prefix, *MIXEDSCHED, "lab", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **(env or {})},
    )


def free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
