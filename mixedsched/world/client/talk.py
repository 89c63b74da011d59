"""A client that writes what it is told on any stream, keeps to a pace, and records the order in which a server sends.

It reads at no more than a set rate, some milliseconds after data came, as if it were at the end of an access link: so that the
server has more to send than it may, and has to choose.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import pylsqpack
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import (
    ConnectionTerminated,
    HandshakeCompleted,
    QuicEvent,
    StopSendingReceived,
    StreamDataReceived,
    StreamReset,
)
from aioquic.quic.packet import QuicErrorCode

from mixedsched.core.h3.codes import ErrorCode
from mixedsched.core.h3.conform.heads import HeadReader
from mixedsched.core.h3.conform.seen import Closed, SeenConnection
from mixedsched.core.h3.seam import ObservedConnection
from mixedsched.errors import MissingPartError, MixedschedError
from mixedsched.world.client._answer import TIMEOUT_S
from mixedsched.world.system.udp import BUFFER_BYTES, host_and_port

RATE_BYTES_PER_S = 2_000_000
DELAY_S = 0.01
PENDING_MOST, PENDING_MOST_BYTES = 20_000, 32_000_000
"""Datagrams that wait to be read, and their bytes; more are lost, whoever sends them."""
_AT_ONCE = 500  # datagrams taken before anything else is looked at
_DATAGRAM_BYTES = 65_535
_NO_PROTOCOL = QuicErrorCode.CRYPTO_ERROR + 120
"""The TLS alert of a server that speaks none of the protocols offered."""
_NO_VERSION = "Could not find a common protocol version"
"""What aioquic says of a server that offers other versions of QUIC."""
_HANDSHAKE_ERRORS = range(QuicErrorCode.CRYPTO_ERROR, QuicErrorCode.CRYPTO_ERROR + 256)


SocketAddress = tuple[Any, ...]
"""As sockets have it: host and port; of IPv6 also flow and zone."""


class NobodyThereError(MissingPartError):
    """Nothing listens at an address, or no way leads there."""


class Talk:
    """One connection. Use it in a `with` block, which closes it."""

    def __init__(self, host: str, port: int, name: str, *, rate_bytes_per_s: int = RATE_BYTES_PER_S) -> None:
        """Connect. name: of the host in the handshake. The certificate is not checked: what is asked for is thrown away.

        Of several addresses the first at which something listens is taken, IPv4 before IPv6. Raises MissingPartError if
        nothing there speaks HTTP/3, MixedschedError if it ends the connection at once.
        """
        self._where = host_and_port(host, port)
        self._rate_bytes_per_s = rate_bytes_per_s
        addresses = _resolve(host, port)
        for place, address in enumerate(addresses, start=1):
            try:
                self._open(address, name)
            except NobodyThereError:
                if place == len(addresses):
                    raise
            else:
                break

    def _open(self, address: SocketAddress, name: str) -> None:
        self.seen = SeenConnection()
        self._pending: deque[tuple[float, bytes]] = deque()
        self._pending_bytes = 0
        self._free_s = 0.0
        self._is_connected = False
        self._heads: dict[int, HeadReader] = {}
        self._decoder = pylsqpack.Decoder(0, 0)
        configuration = QuicConfiguration(
            is_client=True,
            alpn_protocols=["h3"],
            server_name=name,
            verify_mode=ssl.CERT_NONE,
            idle_timeout=4 * TIMEOUT_S,
            max_data=16_000_000,
            max_stream_data=16_000_000,
        )
        self._quic = ObservedConnection(configuration=configuration, received=self._note)
        self._socket, self._address = self._socket_to(address), address
        try:
            self._quic.connect(address, now=time.monotonic())
            self._connect()
        except BaseException:
            self.close()
            raise

    @property
    def host(self) -> str:
        """The address that it talks to, whatever the name was."""
        return socket.getnameinfo(self._address, socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)[0]

    def _socket_to(self, address: SocketAddress) -> socket.socket:
        """Raises NobodyThereError where there is no way to it."""
        try:
            made = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET, socket.SOCK_DGRAM)
        except OSError as error:  # a system without IPv6
            raise self._nobody(error) from error
        try:
            made.setblocking(False)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
            made.connect(address)
        except OSError as error:
            made.close()
            raise self._nobody(error) from error
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection, if it lives, and leave the port."""
        if self._socket.fileno() < 0:
            return
        try:
            if self.seen.closed is None:
                self._quic.close(error_code=ErrorCode.H3_NO_ERROR)
                self._send()
        except MixedschedError:
            pass  # nobody is there any more
        finally:
            self._socket.close()

    def write(self, stream_id: int, data: bytes, *, ends: bool = False) -> None:
        """Give bytes to a stream; `run` sends them, those of several streams in one packet where they fit.

        Nothing happens if the server has stopped the stream, or closed the connection.
        """
        if self.seen.closed is None:
            with suppress(RuntimeError, ValueError):  # as aioquic tells of a stream that was stopped
                self._quic.send_stream_data(stream_id, data, ends)

    def run(self, until: Callable[[SeenConnection], bool], limit_s: float) -> None:
        """Go on until this holds, the connection ends, or the time is over."""
        end_s = time.monotonic() + limit_s
        while True:
            self._send()
            now_s = time.monotonic()
            if self.seen.closed is not None or until(self.seen) or now_s >= end_s:
                return
            self._step(now_s, end_s)

    def _connect(self) -> None:
        self.run(lambda _: self._is_connected, TIMEOUT_S)
        ended = self.seen.closed
        if self._is_connected and ended is None:
            return
        fix = "name HOST:PORT of a server that speaks HTTP/3 over UDP"
        if ended is None:
            why = f"nothing came within {TIMEOUT_S:.0f} s"
        elif ended.reason == _NO_VERSION:
            why = "it speaks QUIC, but no version of it that we do"
        elif ended.is_application or ended.code not in _HANDSHAKE_ERRORS:
            raise MixedschedError(
                f"{self._where} closes the connection at once", why=ended.reason or f"error {ended.code:#x}"
            )
        elif ended.code == _NO_PROTOCOL:
            why = "it speaks QUIC, but another protocol over it"
        else:
            why = ended.reason or f"the handshake failed with error {ended.code:#x}"
        raise MissingPartError(f"no HTTP/3 at {self._where}", why=why, fix=fix)

    def _step(self, now_s: float, end_s: float) -> None:
        """Wait for the network, the pace or a timer, whichever comes first."""
        timer_s = self._quic.get_timer()
        times = [end_s, *([] if timer_s is None else [timer_s]), *(at_s for at_s, _ in list(self._pending)[:1])]
        readable, _, _ = select.select([self._socket], [], [], max(0.0, min(times) - now_s))
        if readable:
            self._take()
        now_s = time.monotonic()
        while self._pending and self._pending[0][0] <= now_s:
            _, data = self._pending.popleft()
            self._pending_bytes -= len(data)
            self._quic.receive_datagram(data, self._address, now_s)
            self._handle_events()
        if timer_s is not None and timer_s <= now_s:
            self._quic.handle_timer(now_s)
            self._handle_events()

    def _take(self) -> None:
        """The datagrams that are there, into the queue before the emulated link's end."""
        for _ in range(_AT_ONCE):
            try:
                data = self._socket.recv(_DATAGRAM_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                raise self._nobody(error) from error
            if len(self._pending) >= PENDING_MOST or self._pending_bytes + len(data) > PENDING_MOST_BYTES:
                continue
            now_s = time.monotonic()
            self._free_s = max(self._free_s, now_s) + len(data) / self._rate_bytes_per_s
            self._pending.append((self._free_s + DELAY_S, data))
            self._pending_bytes += len(data)

    def _send(self) -> None:
        for data, _ in self._quic.datagrams_to_send(time.monotonic()):
            try:
                self._socket.send(data)
            except BlockingIOError:
                return  # lost, as packets may be
            except OSError as error:
                raise self._nobody(error) from error
        self._handle_events()

    def _nobody(self, error: OSError) -> NobodyThereError:
        return NobodyThereError(
            f"no HTTP/3 at {self._where}",
            why="nobody listens there" if isinstance(error, ConnectionRefusedError) else error.strerror or str(error),
            fix="see that the server runs, and that UDP reaches it",
        )

    def _note(self, packet: int, frames: list[tuple[int, int, int]]) -> None:
        kept = tuple(item for item in frames if item[0] % 4 == 0)
        if kept:
            self.seen.packets.append((packet, kept))
            self.seen.received_bytes += sum(size for _, _, size in kept)

    def _handle_events(self) -> None:
        while (event := self._quic.next_event()) is not None:
            self._handle(event)

    def _handle(self, event: QuicEvent) -> None:
        if isinstance(event, HandshakeCompleted):
            self._is_connected = True
        elif isinstance(event, ConnectionTerminated):
            # aioquic tells frame type None of a close by the application.
            self.seen.closed = Closed(event.error_code, event.frame_type is None, event.reason_phrase)
        elif isinstance(event, StopSendingReceived) and event.error_code == ErrorCode.H3_NO_ERROR:
            pass  # it needs no more of the request to answer it (RFC 9114 section 4.1)
        elif isinstance(event, StreamReset | StopSendingReceived):
            self.seen.resets.setdefault(event.stream_id, event.error_code)
        elif isinstance(event, StreamDataReceived) and event.stream_id % 4 == 0:
            self._read_head(event)
            if event.end_stream:
                self.seen.ended.add(event.stream_id)

    def _read_head(self, event: StreamDataReceived) -> None:
        if event.stream_id in self.seen.statuses:
            return
        reader = self._heads.setdefault(event.stream_id, HeadReader(self._decoder, event.stream_id))
        head = reader.feed(event.data)
        if head is None:
            return
        self.seen.statuses[event.stream_id] = head.status
        if head.server:
            self.seen.servers[event.stream_id] = head.server
        if head.body_bytes is not None:
            self.seen.lengths[event.stream_id] = head.body_bytes


def _resolve(host: str, port: int) -> list[SocketAddress]:
    """All addresses of a host, those of IPv4 first. Raises MissingPartError if it has none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except (socket.gaierror, UnicodeError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise MissingPartError(f"{host} has no address", why=why, fix="check the spelling") from error
    return [item[4] for item in sorted(found, key=lambda item: item[0] != socket.AF_INET)]
