"""A client that a test drives step by step: it may fall silent, read slowly, or go on from another port."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived, StreamReset

LIMIT_S = 20.0


class Client:
    """Nothing is sent or received but in `run`. options: of aioquic's QuicConfiguration."""

    def __init__(self, port: int, **options: Any) -> None:
        self.quic = QuicConnection(
            configuration=QuicConfiguration(
                **{"is_client": True, "alpn_protocols": ["h3"], "server_name": "x.test", "verify_mode": 0, **options}
            )
        )
        self.h3 = H3Connection(self.quic)
        self.server = ("127.0.0.1", port)
        self.socket = self._open()
        self.bodies: dict[int, bytes] = {}
        self.ended: set[int] = set()
        self.resets: dict[int, int] = {}
        self.terminated: ConnectionTerminated | None = None
        self.is_connected = False
        self.datagrams: list[bytes] = []
        self.quic.connect(self.server, now=time.monotonic())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.terminated is None:
            self.quic.close()
            self._send()
        self.socket.close()

    def ask(self, path: str) -> int:
        """Begin a request; returns its stream's ID."""
        stream_id = self.quic.get_next_available_stream_id()
        head = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"x.test"), (b":path", path.encode())]
        self.h3.send_headers(stream_id, head, end_stream=True)
        self.bodies[stream_id] = b""
        return stream_id

    def get(self, path: str) -> bytes:
        """A whole body."""
        stream_id = self.ask(path)
        self.run(lambda: stream_id in self.ended)
        return self.bodies[stream_id]

    def connect(self) -> None:
        self.run(lambda: self.is_connected)

    def change_port(self) -> None:
        """Go on from another port, as behind a NAT that has forgotten us."""
        self.socket.close()
        self.socket = self._open()

    def run(self, until: Callable[[], bool], limit_s: float = LIMIT_S) -> None:
        """Send and receive until something holds; it must, within the limit, unless the server ends the connection."""
        deadline_s = time.monotonic() + limit_s
        while not until():
            assert self.terminated is None, f"the connection has ended: {self.terminated}"
            assert time.monotonic() < deadline_s, "it takes too long"
            self.turn(0.05)

    def run_to_end(self, limit_s: float = LIMIT_S) -> ConnectionTerminated:
        """Send and receive until the server ends the connection."""
        deadline_s = time.monotonic() + limit_s
        while self.terminated is None:
            assert time.monotonic() < deadline_s, "it takes too long"
            self.turn(0.05)
        return self.terminated

    def turn(self, wait_s: float) -> None:
        """Send what there is, wait for something to come, take it."""
        self._send()
        timer_s = self.quic.get_timer()
        if timer_s is not None:
            wait_s = max(0.0, min(wait_s, timer_s - time.monotonic()))
        if select.select([self.socket], [], [], wait_s)[0]:
            self._receive()
        timer_s = self.quic.get_timer()
        if timer_s is not None and timer_s <= time.monotonic():
            self.quic.handle_timer(now=time.monotonic())
        while (event := self.quic.next_event()) is not None:
            self._handle(event)
        self._send()

    def miss_the_answer(self) -> None:
        """Send what there is, and lose what comes back until nothing comes any more."""
        self._send()
        wait_s = LIMIT_S
        while select.select([self.socket], [], [], wait_s)[0]:
            self.socket.recv(65536)
            wait_s = 0.2

    def _receive(self) -> None:
        while True:
            try:
                data = self.socket.recv(65536)
            except BlockingIOError:
                return
            self.datagrams.append(data)
            self.quic.receive_datagram(data, self.server, now=time.monotonic())

    def _send(self) -> None:
        for data, address in self.quic.datagrams_to_send(now=time.monotonic()):
            self.socket.sendto(data, address)

    def _handle(self, event: QuicEvent) -> None:
        if isinstance(event, ConnectionTerminated):
            self.terminated = event
        elif isinstance(event, StreamReset):
            self.resets[event.stream_id] = event.error_code
        elif isinstance(event, StreamDataReceived):
            self.is_connected = True
        for item in self.h3.handle_event(event):
            if isinstance(item, DataReceived):
                self.bodies[item.stream_id] += item.data
            if isinstance(item, HeadersReceived | DataReceived) and item.stream_ended:
                self.ended.add(item.stream_id)

    @staticmethod
    def _open() -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind(("127.0.0.1", 0))
        sock.setblocking(False)
        return sock
