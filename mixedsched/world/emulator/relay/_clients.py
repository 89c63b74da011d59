"""The relay's clients: each has a socket of its own towards the server, by which the server tells them apart."""

import contextlib
import ipaddress
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mixedsched.world.emulator._timestamps import ask_for_timestamps
from mixedsched.world.system.udp import open_udp_socket

Address = tuple[Any, ...]  # (host, port), and for IPv6 two more numbers

MAX_CLIENTS = 1024
# A client that is silent for so long may be replaced; QUIC connections time out sooner by themselves.
IDLE_US = 30_000_000
_MAX_REFUSED_KNOWN = 65_536


@dataclass(slots=True, eq=False)
class Client:
    """One client of the relay."""

    address: Address
    upstream: socket.socket
    """Its socket towards the server."""
    seen_us: int
    """When it or the server last sent something."""
    missed: int = 0
    """Datagrams from the server that found no room in its socket."""


class Clients:
    """Up to `limit` clients; beyond that, those idle for `idle_us` make room, the longest idle first.

    came, goes: called before a client's socket is used, and before it is closed.
    """

    def __init__(
        self,
        server: Address,
        came: Callable[[Client], None],
        goes: Callable[[Client], None],
        limit: int = MAX_CLIENTS,
        idle_us: int = IDLE_US,
    ) -> None:
        self.total = 0
        self.refused_datagrams = 0
        self._server = server
        self._source = source_towards(str(server[0]))
        self._came, self._goes = came, goes
        self._limit, self._idle_us = limit, idle_us
        self._known: dict[Address, Client] = {}
        self._refused: set[Address] = set()
        self._full_until_us = 0  # before that, no client can have been idle for long enough

    def __iter__(self) -> Iterator[Client]:
        return iter(self._known.values())

    @property
    def refused(self) -> int:
        """Clients that found no room (65,536 at most are told apart)."""
        return len(self._refused)

    def of(self, address: Address, now_us: int) -> Client | None:
        """The client at this address; None if there is no room for it."""
        client = self._known.get(address)
        if client is None:
            client = self._welcome(address, now_us)
        if client is not None:
            client.seen_us = now_us
        return client

    def close(self) -> None:
        for client in self._known.values():
            client.upstream.close()

    def _welcome(self, address: Address, now_us: int) -> Client | None:
        upstream = self._open(now_us)
        if upstream is None:
            self.refused_datagrams += 1
            if len(self._refused) < _MAX_REFUSED_KNOWN:
                self._refused.add(address)
            return None
        self.total += 1
        client = self._known[address] = Client(address, upstream, now_us)
        self._came(client)
        return client

    def _open(self, now_us: int) -> socket.socket | None:
        """A socket towards the server; None if there are too many already, for us or for the system."""
        if len(self._known) >= self._limit and not self._make_room(now_us):
            return None
        try:
            upstream = open_udp_socket(self._source)
        except OSError:
            return None
        try:
            upstream.connect(self._server)
        except OSError:
            upstream.close()
            return None
        ask_for_timestamps(upstream)
        return upstream

    def _make_room(self, now_us: int) -> bool:
        if now_us < self._full_until_us:
            return False
        oldest = min(self._known.values(), key=lambda client: client.seen_us)
        if now_us - oldest.seen_us < self._idle_us:
            self._full_until_us = oldest.seen_us + self._idle_us
            return False
        del self._known[oldest.address]
        self._goes(oldest)
        oldest.upstream.close()
        return True


def source_towards(host: str) -> str:
    """The address to send from: loopback for a server there, else the system's choice."""
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return host
    return "::" if ":" in host else "0.0.0.0"  # noqa: S104 - connected to the server at once
