"""A probe at one end of a link, a process of its own: sends numbered, stamped datagrams, and records when others arrive.

`python -m mixedsched.world.emulator.probe.end` reads JSON lines: first its settings, {"host": address to bind}, then
- {"op": "peer", "address": [host, port]}: where to send; by default, to the probe that said hello last
- {"op": "hello", "token": n}: say hello to the peer
- {"op": "send", ...}: the fields of Sending
- {"op": "arrivals"}: tell what arrived since the last time, and forget it
It prints {"listening": [host, port]}, {"heard": token} for every hello, {"sent": packets}; and of arrivals {"rows": int64 rows
of ROW, in base64} as often as needed, then {"arrived": packets}. It ends with its standard input. Both ends must run on one
machine: datagrams are stamped with its CLOCK_MONOTONIC.

One thread does all: with two of them the interpreter's lock would delay packets by whole milliseconds.
"""

import base64
import select
import socket
import struct
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mixedsched.world.emulator._timestamps import ANCILLARY_BYTES, arrived_ns, ask_for_timestamps
from mixedsched.world.system.json_lines import Orders, say
from mixedsched.world.system.udp import open_udp_socket

Address = tuple[str, int]

ROW = ("stream", "number", "sent_ns", "received_ns")
HEADER_BYTES = 20
_HEADER = struct.Struct("!4sIIq")
_MAGIC = b"mxp1"
_HELLO_STREAM = 0

_ROWS_A_LINE = 50_000
_BATCH = 64
_IDLE_S = 0.1


@dataclass(frozen=True, slots=True)
class Sending:
    """What to send: trains of packets, numbered from 0 throughout."""

    stream: int
    """Above 0; the receiver tells measurements apart by it."""
    size_bytes: int
    """UDP payload of each packet."""
    packets: int
    """In each train."""
    gap_ns: int
    """From one packet to the next within a train."""
    trains: int = 1
    pause_ns: int = 0
    """From the last packet of a train to the first of the next."""

    @property
    def total_packets(self) -> int:
        return self.trains * self.packets

    @property
    def duration_ns(self) -> int:
        return self.trains * (self.packets - 1) * self.gap_ns + (self.trains - 1) * self.pause_ns

    def offsets_ns(self) -> Iterator[int]:
        """When each packet is to leave, from the start."""
        at_ns = 0
        for train in range(self.trains):
            at_ns += self.pause_ns if train else 0
            for place in range(self.packets):
                at_ns += self.gap_ns if place else 0
                yield at_ns


class ProbeEnd:
    """A socket, what it sends, and what has arrived at it."""

    def __init__(self, host: str, orders: Orders) -> None:
        self._socket = open_udp_socket(host)
        ask_for_timestamps(self._socket)  # from the kernel, so that the time until we wake up is not counted
        self._peer: Address | None = None
        self._arrivals = array("q")
        self._sending: Sending | None = None
        self._due: Iterator[int] = iter(())
        self._next_due_ns: int | None = None
        self._started_ns = 0
        self._number = 0
        self._orders = orders

    def run(self) -> None:
        """Until there are no more orders."""
        host, port = self._socket.getsockname()[:2]
        say({"listening": [host, port]})
        while not self._orders.has_ended:
            sources: list[socket.socket | int] = [self._socket, self._orders.fd]
            ready, _, _ = select.select(sources, [], [], self._wait_s())
            self._send_due()
            if self._socket in ready:
                self._receive()
            if self._orders.fd in ready:
                for order in self._orders.read():
                    self._obey(order)
        self._socket.close()

    def _wait_s(self) -> float:
        if self._next_due_ns is None:
            return _IDLE_S
        return min(_IDLE_S, max(0, self._next_due_ns - time.monotonic_ns()) / 1e9)

    def _obey(self, order: dict[str, Any]) -> None:
        operation = order.pop("op")
        if operation == "peer":
            host, port = order["address"]
            self._peer = host, port
        elif operation == "hello":
            self._send(_HELLO_STREAM, order["token"], HEADER_BYTES)
        elif operation == "send":
            self._sending = Sending(**order)
            self._due, self._number = self._sending.offsets_ns(), 0
            self._started_ns = time.monotonic_ns()
            self._next_due_ns = self._started_ns + next(self._due)
        elif operation == "arrivals":
            step = _ROWS_A_LINE * len(ROW)
            for start in range(0, len(self._arrivals), step):
                say({"rows": base64.b64encode(self._arrivals[start : start + step].tobytes()).decode()})
            say({"arrived": len(self._arrivals) // len(ROW)})
            self._arrivals = array("q")

    def _send_due(self) -> None:
        """Send what is due, a batch at most, so that arrivals need not wait."""
        for _ in range(_BATCH):
            if self._sending is None or self._next_due_ns is None or self._next_due_ns > time.monotonic_ns():
                return
            if not self._send(self._sending.stream, self._number, self._sending.size_bytes):
                return  # the kernel has no room; it is still due
            self._number += 1
            offset_ns = next(self._due, None)
            self._next_due_ns = None if offset_ns is None else self._started_ns + offset_ns
            if offset_ns is None:
                say({"sent": self._number})

    def _send(self, stream: int, number: int, size_bytes: int) -> bool:
        """False if it must be tried again."""
        if self._peer is None:
            return True
        padding = bytes(size_bytes - HEADER_BYTES)
        try:
            self._socket.sendto(_HEADER.pack(_MAGIC, stream, number, time.monotonic_ns()) + padding, self._peer)
        except BlockingIOError:
            return False
        except OSError:  # refused, because no program listens yet, or any more: lost, as on any network
            return True
        return True

    def _receive(self) -> None:
        for _ in range(_BATCH):
            try:
                data, ancillary, _, sender = self._socket.recvmsg(2048, ANCILLARY_BYTES)
            except BlockingIOError:
                return
            except OSError:  # an earlier packet of ours was refused
                continue
            if len(data) < HEADER_BYTES:
                continue
            magic, stream, number, sent_ns = _HEADER.unpack_from(data)
            if magic != _MAGIC:
                continue
            if stream == _HELLO_STREAM:
                self._peer = sender[0], sender[1]
                say({"heard": number})
                continue
            self._arrivals.extend((stream, number, sent_ns, arrived_ns(ancillary)))


def main() -> None:
    """Entry point of the process."""
    orders = Orders()
    settings = next(orders, None)
    if settings is not None:
        ProbeEnd(settings["host"], orders).run()


if __name__ == "__main__":
    main()
