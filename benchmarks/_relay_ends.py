"""What stands around a relay in its benchmark: `python -m benchmarks._relay_ends ROLE ...`, each a process of its own.

`server MBPS SECONDS` and `client MBPS SECONDS PORT` send numbered datagrams at that pace, headers counted, and receive those
of the other end at the same time, in a forked process. Each datagram carries the time at which it was sent (CLOCK_MONOTONIC).
At the end they print, as a line of JSON, how many they sent and [number, sent_us, arrived_us] of all that they received. When
one arrived is the kernel's word, so how fast this program wakes up does not count.

`plain PORT` is the least relay that can be: datagrams of one client to the server at PORT and back, as they come.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import sys
import time
from typing import Any

from mixedsched.model.profile import IP_UDP_HEADER_BYTES
from mixedsched.world.emulator._timestamps import ANCILLARY_BYTES, arrived_ns, ask_for_timestamps
from mixedsched.world.emulator.relay._promptness import ask_for_exact_timers
from mixedsched.world.system.udp import open_udp_socket

DATAGRAM_BYTES = 1250
_HEAD = struct.Struct("<QQ")  # number, sent_ns
_HELLO = b"hello"
_SILENCE_S = 1.0  # that ends a measurement


def end(role: str, rate_mbps: float, duration_s: float, port: int | None) -> None:
    sock = open_udp_socket()
    ask_for_timestamps(sock)
    if role == "server":
        say(sock.getsockname()[1])
        select.select([sock], [], [])
        _, peer = sock.recvfrom(64)
        sock.connect(peer)
        sock.send(_HELLO)
    else:
        sock.connect(("127.0.0.1", port))
        sock.send(_HELLO)
        select.select([sock], [], [])
        sock.recv(64)
    reading, writing = os.pipe()
    if not (receiver := os.fork()):
        received = json.dumps(receive(sock))
        with os.fdopen(writing, "w") as told:
            told.write(received)
        os._exit(0)
    os.close(writing)
    sent = send(sock, rate_mbps, duration_s)
    with os.fdopen(reading) as told:
        say({"sent": sent, "received": json.loads(told.read())})
    os.waitpid(receiver, 0)


def send(sock: socket.socket, rate_mbps: float, duration_s: float) -> int:
    """Send at this pace; what the machine made late is made up for. Returns how many."""
    ask_for_exact_timers()
    gap_ns = round((DATAGRAM_BYTES + IP_UDP_HEADER_BYTES) * 8000 / rate_mbps)
    rest = bytes(DATAGRAM_BYTES - _HEAD.size)
    began_ns = time.monotonic_ns()
    count = int(duration_s * 1e9 / gap_ns)
    for number in range(count):
        wait_ns = began_ns + number * gap_ns - time.monotonic_ns()
        if wait_ns > 0:
            time.sleep(wait_ns / 1e9)
        sock.send(_HEAD.pack(number, time.monotonic_ns()) + rest)
    return count


def receive(sock: socket.socket) -> list[tuple[int, int, int]]:
    """Receive until nothing comes any more."""
    received = []
    while select.select([sock], [], [], _SILENCE_S)[0]:
        data, ancillary, _, _ = sock.recvmsg(2048, ANCILLARY_BYTES)
        came_ns = arrived_ns(ancillary)
        if len(data) == DATAGRAM_BYTES:
            number, sent_ns = _HEAD.unpack_from(data)
            received.append((number, sent_ns // 1000, came_ns // 1000))
    return received


def plain(server_port: int) -> None:
    front, back = open_udp_socket(), open_udp_socket()
    back.connect(("127.0.0.1", server_port))
    say(front.getsockname()[1])
    client: Any = None
    while True:
        ready, _, _ = select.select([front, back, sys.stdin], [], [])
        if front in ready:
            data, client = front.recvfrom(2048)
            back.send(data)
        if back in ready:
            front.sendto(back.recv(2048), client)
        if sys.stdin in ready:
            return


def say(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    role, *words = sys.argv[1:]
    if role == "plain":
        plain(int(words[0]))
    else:
        end(role, float(words[0]), float(words[1]), int(words[2]) if words[2:] else None)
