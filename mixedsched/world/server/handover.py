"""Brings packets to the worker process that has their connection.

The kernel gives each client address to one of the workers. When a client's address changes, its packets may come to
another one, which reads the owner's number in the connection ID and passes them on over a Unix socket. Processes that follow
each other on a port (takeover.py) are each other's workers in that sense, and no two that live have the same number.
"""

import contextlib
import json
import os
import socket
import zlib
from collections.abc import Iterator, Mapping
from typing import Self

from mixedsched.core.h3.session import Address

CONNECTION_ID_BYTES = 8
MAX_WORKERS = 64
NUMBERS = 256  # that a connection ID can name
_CHECK_BYTES = 2
_BATCH = 64
_MESSAGE_BYTES = 65536 + 256


def make_connection_id(worker: int) -> bytes:
    """A fresh connection ID of ours. Its first byte is the worker's number; the last two say that it is ours.

    By these it differs from those that clients choose for their first packets, with which the packets of a handshake would
    else be confounded. The others cannot be guessed.
    """
    own = bytes([worker]) + os.urandom(CONNECTION_ID_BYTES - 1 - _CHECK_BYTES)
    return own + _check(own)


def _check(own: bytes) -> bytes:
    return zlib.crc32(own).to_bytes(4)[-_CHECK_BYTES:]


class Handover:
    """One worker's end of the sockets between all workers. inbox: its own; inboxes: how to reach each worker, by number.

    worker: its number in connection IDs; index: its place among the workers of its own server.
    """

    def __init__(self, worker: int, inbox: socket.socket, inboxes: Mapping[int, socket.socket], index: int) -> None:
        self.worker = worker
        self.index = index
        self.inbox = inbox
        self.inboxes = inboxes
        for sock in (inbox, *inboxes.values()):
            sock.setblocking(False)

    @classmethod
    def among(cls, workers: int, first: int = 0, earlier: Mapping[int, socket.socket] | None = None) -> list[Self]:
        """The ends for all workers of a server, whose numbers begin with `first`.

        earlier: how to reach those of servers before, by number, the latest at the end.
        """
        numbers = [(first + index) % NUMBERS for index in range(workers)]
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in numbers]
        others = {other: inbox for other, inbox in (earlier or {}).items() if other not in numbers}
        inboxes = {**others, **{number: end for number, (_, end) in zip(numbers, pairs, strict=True)}}
        return [cls(numbers[index], readable, inboxes, index) for index, (readable, _) in enumerate(pairs)]

    def fileno(self) -> int:
        """The file descriptor of this worker's inbox, to wait for packets there."""
        return self.inbox.fileno()

    def owner_of(self, connection_id: bytes) -> int | None:
        """The other worker that has issued the connection ID, if it is one of ours."""
        if len(connection_id) != CONNECTION_ID_BYTES or connection_id[0] == self.worker:
            return None
        own = connection_id[:-_CHECK_BYTES]
        is_ours = connection_id[0] in self.inboxes and connection_id[-_CHECK_BYTES:] == _check(own)
        return connection_id[0] if is_ours else None

    def give(self, worker: int, data: bytes, address: Address) -> None:
        """Pass a packet on. It is lost, as on any network, if the other one does not keep up or has ended."""
        with contextlib.suppress(OSError):
            self.inboxes[worker].send(json.dumps(address).encode() + b"\n" + data)

    def take(self) -> Iterator[tuple[bytes, Address]]:
        """Packets that other workers have passed on."""
        for _ in range(_BATCH):
            try:
                message = self.inbox.recv(_MESSAGE_BYTES)
            except OSError:
                return
            address, is_packet, data = message.partition(b"\n")
            if is_packet:  # not just the question whether we live
                yield data, tuple(json.loads(address))

    def close(self) -> None:
        for sock in (self.inbox, *self.inboxes.values()):
            sock.close()


def is_read(inbox: socket.socket) -> bool:
    """Whether the process that reads it lives."""
    try:
        inbox.send(b"")
    except BlockingIOError:
        return True
    except OSError:
        return False
    return True
