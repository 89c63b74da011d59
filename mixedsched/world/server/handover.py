"""Brings packets to the worker process that has their connection.

The kernel gives each client address to one of the workers. When a client's address changes, its packets may come to
another one, which reads the owner's number in the connection ID and passes them on over a Unix socket.
"""

import contextlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from typing import Self

from mixedsched.core.h3.session import Address

CONNECTION_ID_BYTES = 8
MAX_WORKERS = 64
_BATCH = 64
_MESSAGE_BYTES = 65536 + 256


def make_connection_id(worker: int) -> bytes:
    """A fresh connection ID of ours. Its first byte is the worker's number; the others cannot be guessed."""
    return bytes([worker]) + os.urandom(CONNECTION_ID_BYTES - 1)


class Handover:
    """One worker's end of the sockets between all workers. inbox: its own; inboxes: how to reach each worker, by number.

    Processes that follow each other on a port (takeover.py) are each other's workers in that sense.
    """

    def __init__(self, worker: int, inbox: socket.socket, inboxes: Mapping[int, socket.socket]) -> None:
        self.worker = worker
        self.sockets = (inbox, *inboxes.values())
        self._inbox = inbox
        self._inboxes = inboxes
        for sock in self.sockets:
            sock.setblocking(False)

    @classmethod
    def among(cls, workers: int) -> list[Self]:
        """The ends for all workers, by number."""
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(workers)]
        inboxes = {worker: writable for worker, (_, writable) in enumerate(pairs)}
        return [cls(worker, readable, inboxes) for worker, (readable, _) in enumerate(pairs)]

    @classmethod
    def of_process(cls, number: int, earlier: Mapping[int, socket.socket]) -> Self:
        """The end of a process that follows others. earlier: how to reach these, by number, the latest at the end."""
        readable, writable = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        others = {other: inbox for other, inbox in earlier.items() if other != number}
        return cls(number, readable, {**others, number: writable})

    def inboxes_of_last(self, count: int) -> tuple[list[int], list[socket.socket]]:
        """How to reach the latest of them, this one at the end: numbers, and the sockets of these."""
        last = list(self._inboxes.items())[-count:]
        return [number for number, _ in last], [inbox for _, inbox in last]

    def fileno(self) -> int:
        """The file descriptor of this worker's inbox, to wait for packets there."""
        return self._inbox.fileno()

    def owner_of(self, connection_id: bytes) -> int | None:
        """The other worker that has issued the connection ID, if it is one of ours."""
        worker = connection_id[0] if len(connection_id) == CONNECTION_ID_BYTES else self.worker
        return worker if worker != self.worker and worker in self._inboxes else None

    def give(self, worker: int, data: bytes, address: Address) -> None:
        """Pass a packet on. It is lost, as on any network, if the other one does not keep up or has ended."""
        with contextlib.suppress(OSError):
            self._inboxes[worker].send(json.dumps(address).encode() + b"\n" + data)

    def take(self) -> Iterator[tuple[bytes, Address]]:
        """Packets that other workers have passed on."""
        for _ in range(_BATCH):
            try:
                message = self._inbox.recv(_MESSAGE_BYTES)
            except OSError:
                return
            address, _, data = message.partition(b"\n")
            yield data, tuple(json.loads(address))

    def close(self) -> None:
        for sock in self.sockets:
            sock.close()
