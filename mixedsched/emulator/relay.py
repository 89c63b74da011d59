"""The userspace UDP relay: clients talk to it as if it were the server, through an emulated link.

It is a process of its own, `python -m mixedsched.emulator.relay SETTINGS`, so that neither the server's nor the browser's work
delays a packet. SETTINGS is JSON: {"profile": facts, "seed": n, "server": [host, port], "listen": [host, port]}. It
prints {"listening": [host, port]}, runs until its standard input ends or SIGTERM, and prints its counters as the last line.

A plain loop around select() is used, because event loops count in milliseconds, and a packet at 9 Mbit/s takes one.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from mixedsched.link import IP_UDP_HEADER_BYTES, Link, direction_rng
from mixedsched.profile import Profile
from mixedsched.udp import open_udp_socket

Address = tuple[str, int]

LATE_US = 1000  # a packet delivered later than this after its time counts as late
MAX_CLIENTS = 64
_RECEIVE_BYTES = 65536
_BATCH = 64  # datagrams taken from one socket before the clock is looked at again


@dataclass(slots=True)
class Punctuality:
    """How well the relay kept its schedule. delivered: packets; late: those over LATE_US late; worst_us: the latest."""

    delivered: int = 0
    late: int = 0
    worst_us: int = 0

    def note(self, lateness_us: int) -> None:
        self.delivered += 1
        self.worst_us = max(self.worst_us, lateness_us)
        if lateness_us > LATE_US:
            self.late += 1


@dataclass(frozen=True, slots=True)
class _Packet:
    """A datagram under way, and what puts it on its last step."""

    data: bytes
    deliver: Callable[[bytes], object]


class Relay:
    """Joins clients to one server through a link with two directions; all clients share the link."""

    def __init__(self, profile: Profile, seed: int, server: Address, listen: Address) -> None:
        self._server = server
        self._down: Link[_Packet] = Link(profile.down, direction_rng(seed, "down"))
        self._up: Link[_Packet] = Link(profile.up, direction_rng(seed, "up"))
        self._selector = selectors.SelectSelector()  # its time-outs are in microseconds, epoll's in milliseconds
        self._front = open_udp_socket(*listen)
        self._selector.register(self._front, selectors.EVENT_READ, self._take_from_clients)
        self._upstream: dict[Address, socket.socket] = {}
        self._punctuality = Punctuality()

    @property
    def address(self) -> Address:
        host, port = self._front.getsockname()
        return host, port

    def run(self, stopped: Callable[[], bool]) -> None:
        """Relay until `stopped` says so; it is asked at least ten times a second."""
        while not stopped():
            for key, _ in self._selector.select(self._wait_s()):
                key.data(key.fileobj)
            self._deliver()

    def counters(self) -> dict[str, Any]:
        """Packets, bytes, drops and punctuality so far."""
        return {
            "down": asdict(self._down.counters),
            "up": asdict(self._up.counters),
            "clients": len(self._upstream),
            "punctuality": asdict(self._punctuality),
        }

    def close(self) -> None:
        self._selector.close()
        for sock in (self._front, *self._upstream.values()):
            sock.close()

    def watch(self, file: Any, callback: Callable[[Any], None]) -> None:
        """Call back when `file` can be read."""
        self._selector.register(file, selectors.EVENT_READ, callback)

    def unwatch(self, file: Any) -> None:
        self._selector.unregister(file)

    def _wait_s(self) -> float:
        due = [at_us for at_us in (self._down.next_due_us(), self._up.next_due_us()) if at_us is not None]
        return min(0.1, max(0, min(due) - _now_us()) / 1_000_000) if due else 0.1

    def _deliver(self) -> None:
        for link in (self._up, self._down):
            while (due_us := link.next_due_us()) is not None and due_us <= (now_us := _now_us()):
                self._punctuality.note(now_us - due_us)
                for packet in link.pop_due(due_us):
                    _quietly(packet.deliver, packet.data)

    def _take_from_clients(self, sock: socket.socket) -> None:
        for _ in range(_BATCH):
            try:
                data, client = sock.recvfrom(_RECEIVE_BYTES)
            except OSError:  # nothing left, or an earlier packet of ours was refused
                return
            upstream = self._upstream_of(client)
            if upstream is not None:
                self._up.push(_Packet(data, upstream.send), len(data) + IP_UDP_HEADER_BYTES, _now_us())

    def _upstream_of(self, client: Address) -> socket.socket | None:
        """The socket that stands for a client towards the server; None if there are too many clients already."""
        if client not in self._upstream and len(self._upstream) < MAX_CLIENTS:
            sock = open_udp_socket()
            sock.connect(self._server)
            self._upstream[client] = sock

            def deliver(data: bytes) -> object:
                return self._front.sendto(data, client)

            self._selector.register(sock, selectors.EVENT_READ, lambda _: self._take_from_server(sock, deliver))
        return self._upstream.get(client)

    def _take_from_server(self, sock: socket.socket, deliver: Callable[[bytes], object]) -> None:
        for _ in range(_BATCH):
            try:
                data = sock.recv(_RECEIVE_BYTES)
            except OSError:
                return
            self._down.push(_Packet(data, deliver), len(data) + IP_UDP_HEADER_BYTES, _now_us())


def _quietly(deliver: Callable[[bytes], object], data: bytes) -> None:
    """A receiver that is gone, or has no room, loses the packet, as on any network."""
    try:
        deliver(data)
    except OSError:
        return


def _ask_for_punctuality() -> None:
    """Run ahead of other programs where the system lets us; the relay sleeps nearly always, but must wake up in time."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except (OSError, AttributeError):  # no privilege, or a system without it
        return


def _now_us() -> int:
    return time.monotonic_ns() // 1000


def main(settings_text: str) -> None:
    """Entry point of the relay's process."""
    settings = json.loads(settings_text)
    profile = Profile.from_facts("", settings["profile"])
    relay = Relay(profile, settings["seed"], tuple(settings["server"]), tuple(settings["listen"]))
    ended = False

    def end(*_: object) -> None:
        nonlocal ended
        ended = True

    def read_stdin(_: object) -> None:
        if not sys.stdin.buffer.read1(1024):  # type: ignore[union-attr]
            relay.unwatch(sys.stdin)
            end()

    _ask_for_punctuality()
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends our standard input
    relay.watch(sys.stdin, read_stdin)
    _say({"listening": relay.address})
    try:
        relay.run(lambda: ended)
    finally:
        relay.close()
    _say(relay.counters())


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
