"""Datagrams that have come to a socket, or from another process on the same port."""

import asyncio
import socket
import time
from collections.abc import Callable, Iterator, Sequence

from mixedsched.core.h3.session import Address
from mixedsched.world.server.handover import Handover

BATCH = 64  # datagrams taken before their answers are sent, and timers and other sockets get their turn

_LARGEST_DATAGRAM_BYTES = 65536


def received(sock: socket.socket, count: int) -> Iterator[tuple[bytes, Address]]:
    """At most `count` of them, each with its sender."""
    receive = sock.recvfrom
    for _ in range(count):
        try:
            yield receive(_LARGEST_DATAGRAM_BYTES)
        except OSError:  # nothing left, or an earlier packet of ours was refused
            return


class Inlet:
    """Takes datagrams from the sockets and from the other processes whenever the event loop says that there are some.

    take: (datagram, sender, when this turn of the loop began, whether another process has passed it on). answer: called when
    all of a turn were taken.
    """

    def __init__(
        self,
        socks: Sequence[socket.socket],
        handover: Handover | None,
        take: Callable[[bytes, Address, float, bool], None],
        answer: Callable[[], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._socks = socks
        self._handover = handover
        self._take = take
        self._answer = answer

    def start(self, *, reads: bool) -> None:
        """reads: the sockets, too, from now on."""
        if reads:
            self.read_on()
        if self._handover is not None:
            self._loop.add_reader(self._handover.fileno(), self._on_handed_over)

    def leave_unread(self) -> None:
        """Leave what comes to the sockets there, for another process or for later."""
        for sock in self._socks:
            self._loop.remove_reader(sock)

    async def pause(self) -> None:
        self.leave_unread()

    def read_on(self) -> None:
        for sock in self._socks:
            self._loop.add_reader(sock, self._on_readable, sock)

    def close(self) -> None:
        self.leave_unread()
        if self._handover is not None:
            self._loop.remove_reader(self._handover.fileno())
            self._handover.close()

    def _on_readable(self, sock: socket.socket) -> None:
        now_s = time.monotonic()
        for data, address in received(sock, BATCH):
            self._take(data, address, now_s, False)
        self._answer()

    def _on_handed_over(self) -> None:
        assert self._handover is not None
        now_s = time.monotonic()
        for data, address in self._handover.take():
            self._take(data, address, now_s, True)
        self._answer()
