"""Datagrams that have come to a socket."""

import socket
from collections.abc import Iterator

from mixedsched.core.h3.session import Address

_LARGEST_DATAGRAM_BYTES = 65536


def received(sock: socket.socket, count: int) -> Iterator[tuple[bytes, Address]]:
    """At most `count` of them, each with its sender."""
    receive = sock.recvfrom
    for _ in range(count):
        try:
            yield receive(_LARGEST_DATAGRAM_BYTES)
        except OSError:  # nothing left, or an earlier packet of ours was refused
            return
