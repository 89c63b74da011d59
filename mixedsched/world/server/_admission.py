"""Which new clients get a connection."""

import ipaddress
import time
from collections import Counter
from enum import Enum, auto

import psutil

from mixedsched.core.h3.session import Address
from mixedsched.world.server.settings import Limits, RetryPolicy

_MEMORY_EVERY_S = 0.25


class Admittance(Enum):
    """The decision on a client's first packet."""

    ACCEPT = auto()
    PROVE_ADDRESS = auto()
    REFUSE = auto()
    IGNORE = auto()


class Admission:
    """Counts connections and handshakes, and admits new clients by them. Pure: its caller reports what happens."""

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

    def judge(self, client: str, *, proven: bool, memory_is_full: bool) -> Admittance:
        """Decide on a client's first packet. proven: it has shown that it receives what is sent to its address.

        The proof is demanded before anything is refused, so that a client with a forged address learns and costs nothing more.
        """
        limits = self._limits
        if not proven and self._must_prove():
            return Admittance.PROVE_ADDRESS
        if (
            memory_is_full
            or self._connections >= limits.connections
            or self._by_client[client] >= limits.connections_per_client
        ):
            return Admittance.REFUSE
        return Admittance.ACCEPT if self._handshakes < limits.handshakes else Admittance.IGNORE

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
    """The key that counts as one client: an IPv4 address, or the /64 network that one IPv6 subscriber has."""
    host = str(address[0]).partition("%")[0]
    parsed = ipaddress.ip_address(host)
    if parsed.version == 4:
        return host
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((host, 64), strict=False))


class MemoryLimit:
    """Tells when this process uses more memory than it may. Pages of mapped files do not count: the system can drop them.

    Where the system does not tell what a process uses (no /proc), there is no limit.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        try:
            self._process: psutil.Process | None = psutil.Process()
        except psutil.Error:
            self._process = None
        self._measured_at_s = float("-inf")
        self._is_exceeded = False

    def is_exceeded(self) -> bool:
        """Measured anew at most every quarter of a second."""
        now_s = time.monotonic()
        if self._process is not None and now_s >= self._measured_at_s + _MEMORY_EVERY_S:
            self._measured_at_s = now_s
            info = self._process.memory_info()
            self._is_exceeded = info.rss - getattr(info, "shared", 0) > self._limit_bytes
        return self._is_exceeded
