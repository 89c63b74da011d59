"""Decides which newcomers get a connection. Pure: whoever asks tells what has happened."""

from __future__ import annotations

import ipaddress
from collections import Counter
from enum import Enum, auto

from mixedsched.core.h3.session import Address
from mixedsched.world.server.limits import Limits


class RetryPolicy(Enum):
    """When a client must prove its address before it costs us a handshake."""

    AUTO = "auto"  # while many handshakes of unproven addresses are under way
    ALWAYS = "always"
    NEVER = "never"


class Verdict(Enum):
    ACCEPT = auto()
    PROVE_ADDRESS = auto()
    REFUSE = auto()
    IGNORE = auto()


class Admission:
    """Counts connections and handshakes, and judges newcomers by them."""

    def __init__(self, limits: Limits, retry: RetryPolicy) -> None:
        self._limits = limits
        self._retry = retry
        self._connections = 0
        self._by_client: Counter[str] = Counter()
        self._handshakes = 0
        self._unproven_handshakes = 0

    @property
    def connections(self) -> int:
        return self._connections

    def judge(self, client: str, *, proven: bool, memory_is_full: bool) -> Verdict:
        """What becomes of a client's first packet. proven: it has shown that it receives what is sent to its address.

        The proof is asked for before anything is refused: whoever forges addresses shall not find out more, nor cost more.
        """
        limits = self._limits
        if not proven and self._must_prove():
            return Verdict.PROVE_ADDRESS
        if (
            memory_is_full
            or self._connections >= limits.connections
            or self._by_client[client] >= limits.connections_per_client
        ):
            return Verdict.REFUSE
        return Verdict.ACCEPT if self._handshakes < limits.handshakes else Verdict.IGNORE

    def opened(self, client: str, *, proven: bool) -> None:
        """A handshake begins."""
        self._connections += 1
        self._by_client[client] += 1
        self._handshakes += 1
        self._unproven_handshakes += not proven

    def established(self, *, proven: bool) -> None:
        """A handshake has ended, well or not."""
        self._handshakes -= 1
        self._unproven_handshakes -= not proven

    def closed(self, client: str) -> None:
        """A connection is gone; its handshake must have ended."""
        self._connections -= 1
        self._by_client[client] -= 1
        if not self._by_client[client]:
            del self._by_client[client]

    def _must_prove(self) -> bool:
        if self._retry is RetryPolicy.AUTO:
            return self._unproven_handshakes >= self._limits.unproven_handshakes
        return self._retry is RetryPolicy.ALWAYS


def client_of(address: Address) -> str:
    """Who counts as one client: an IPv4 address, or the /64 network that one subscriber of IPv6 has to himself."""
    host = str(address[0]).partition("%")[0]
    parsed = ipaddress.ip_address(host)
    if parsed.version == 4:
        return host
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((host, 64), strict=False))
