"""Sends datagrams: flights of equal ones in a single system call, which the kernel cuts apart (UDP generic segmentation
offload, Linux), and later those that the kernel has no room for.
"""

import asyncio
import errno
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from mixedsched.core.h3.session import Address

Datagram = tuple[bytes, Address]

SOL_UDP = 17  # the socket module has no names for these; values of Linux
UDP_SEGMENT = 103
MAX_FLIGHT_DATAGRAMS = 64  # UDP_MAX_SEGMENTS of older kernels
MAX_FLIGHT_BYTES = 65507  # of payload in one IPv4 datagram, which a flight is to the kernel's first steps
MAX_WAITING_BYTES = 1024 * 1024

# A kernel, network card or route that does not cut flights apart answers with one of these; so do some bad addresses.
_NOT_CUT = frozenset({errno.EINVAL, errno.EIO, errno.ENOPROTOOPT, errno.EMSGSIZE, errno.EOPNOTSUPP})


@dataclass(frozen=True, slots=True)
class Flight:
    """Datagrams to one address, all of one size but for the last, which may be shorter."""

    datagrams: list[bytes]
    address: Address


def flights(datagrams: Iterable[Datagram], together: bool) -> Iterator[Flight]:
    """Group datagrams that follow each other, in order. together: whether a flight may have more than one."""
    flight: Flight | None = None
    size_bytes = total_bytes = 0
    for data, address in datagrams:
        if (
            flight is not None
            and together
            and len(data) <= size_bytes
            and address == flight.address
            and total_bytes + len(data) <= MAX_FLIGHT_BYTES
            and len(flight.datagrams) < MAX_FLIGHT_DATAGRAMS
        ):
            flight.datagrams.append(data)
            total_bytes += len(data)
        else:
            if flight is not None:
                yield flight
            flight = Flight([data], address)
            size_bytes = total_bytes = len(data)
        if len(data) < size_bytes:  # a shorter one ends the flight
            yield flight
            flight = None
    if flight is not None:
        yield flight


class Outbox:
    """Sends in order over a non-blocking socket, and keeps what the kernel has no room for.

    drained: called when nothing waits any more. While something does, no more packets should be built: they would be late.
    """

    def __init__(self, sock: socket.socket, gso: bool, drained: Callable[[], None]) -> None:
        self._sock = sock
        self._drained = drained
        self._loop = asyncio.get_running_loop()
        self._gso = gso and can_segment(sock)
        self._doubts_gso = False  # a flight was refused, and no datagram was sent alone since
        self._waiting: deque[Flight] = deque()
        self._waiting_bytes = 0
        self._watches = False
        self._too_large_bytes: int | None = None

    @property
    def uses_gso(self) -> bool:
        return self._gso

    @property
    def is_blocked(self) -> bool:
        return bool(self._waiting)

    def send(self, datagrams: Iterable[Datagram]) -> None:
        """Send, now or when there is room; beyond MAX_WAITING_BYTES datagrams are dropped, as a network does."""
        for flight in flights(datagrams, self._gso):
            if self._waiting or not self._try(flight):
                self._keep(flight)
        if self._waiting and not self._watches:
            self._watches = True
            self._loop.add_writer(self._sock, self._on_writable)

    def take_too_large_bytes(self) -> int | None:
        """The smallest datagram since the last call that was refused because the interface sends none so large."""
        size_bytes, self._too_large_bytes = self._too_large_bytes, None
        return size_bytes

    def close(self) -> None:
        """Send no more. What waits is lost."""
        if self._watches:
            self._loop.remove_writer(self._sock)
            self._watches = False
        self._waiting.clear()

    def _keep(self, flight: Flight) -> None:
        size_bytes = sum(map(len, flight.datagrams))
        if self._waiting_bytes + size_bytes <= MAX_WAITING_BYTES:
            self._waiting.append(flight)
            self._waiting_bytes += size_bytes

    def _on_writable(self) -> None:
        while self._waiting:
            flight = self._waiting[0]
            if not self._try(flight):
                return
            self._waiting.popleft()
        self._waiting_bytes = 0
        self._loop.remove_writer(self._sock)
        self._watches = False
        self._drained()

    def _try(self, flight: Flight) -> bool:
        """Hand a flight to the kernel; False if it has no room. A flight that it refuses for good is lost, as on any network.

        Of datagrams that are sent one by one, those that were sent are removed from the flight.
        """
        if len(flight.datagrams) > 1 and self._gso:
            try:
                self._sock.sendmsg(flight.datagrams, [_cut_at(len(flight.datagrams[0]))], 0, flight.address)
            except BlockingIOError:
                return False
            except OSError as error:
                if error.errno not in _NOT_CUT:
                    return True
                self._doubts_gso = True
            else:
                return True
        return self._try_one_by_one(flight)

    def _try_one_by_one(self, flight: Flight) -> bool:
        while flight.datagrams:
            try:
                self._sock.sendto(flight.datagrams[0], flight.address)
            except BlockingIOError:
                return False
            except OSError as error:
                self._doubts_gso = False  # then the address is to blame, or the datagram's size
                if error.errno == errno.EMSGSIZE:
                    size_bytes = len(flight.datagrams[0])
                    self._too_large_bytes = min(size_bytes, self._too_large_bytes or size_bytes)
            else:
                self._gso = self._gso and not self._doubts_gso
            del flight.datagrams[0]
        return True


def can_segment(sock: socket.socket) -> bool:
    """Whether the kernel knows UDP_SEGMENT. Even so, some routes may not support it."""
    try:
        sock.getsockopt(SOL_UDP, UDP_SEGMENT)
    except OSError:
        return False
    return True


def _cut_at(size_bytes: int) -> tuple[int, int, bytes]:
    """Ancillary data of sendmsg: datagrams of this size, a 16-bit number in the machine's byte order."""
    return SOL_UDP, UDP_SEGMENT, struct.pack("=H", size_bytes)
