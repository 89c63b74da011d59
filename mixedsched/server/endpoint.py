"""The UDP side: one socket, many sessions, found by connection ID."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from aioquic.buffer import Buffer  # type: ignore[attr-defined]
from aioquic.quic.configuration import SMALLEST_MAX_DATAGRAM_SIZE, QuicConfiguration
from aioquic.quic.packet import QuicHeader, QuicPacketType, encode_quic_version_negotiation, pull_quic_header

from mixedsched.h3.certificate import Certificate
from mixedsched.h3.response import Responder
from mixedsched.h3.session import H3_INTERNAL_ERROR, Address, Served, Session, SessionEvents
from mixedsched.scheme import ConfiguredScheme

_log = logging.getLogger(__name__)

IDLE_TIMEOUT_S = 30.0
MAX_SESSIONS = 1000
CONNECTION_ID_BYTES = 8


@dataclass(slots=True)
class _Connection:
    """A session with what ties it to the event loop."""

    number: int
    session: Session
    connection_ids: set[bytes]
    timer: asyncio.TimerHandle | None = None
    timer_at_s: float | None = None
    flush: asyncio.Handle | None = None


class Endpoint(asyncio.DatagramProtocol):
    """Receives datagrams, gives each to its session, and sends what sessions have to send.

    Datagrams that came in together are answered together: a session is flushed once per turn of the event loop.
    Time is the monotonic clock's, not the event loop's, which uvloop keeps in milliseconds: too coarse to measure RTTs.
    """

    def __init__(
        self,
        certificate: Certificate,
        scheme: ConfiguredScheme,
        responder: Responder,
        served: Callable[[Served], None],
        congestion_control: str = "cubic",
    ) -> None:
        self._configuration = QuicConfiguration(
            is_client=False,
            alpn_protocols=["h3"],
            certificate=certificate.certificate,
            private_key=certificate.private_key,
            congestion_control_algorithm=congestion_control,
            connection_id_length=CONNECTION_ID_BYTES,
            idle_timeout=IDLE_TIMEOUT_S,
        )
        self._scheme = scheme
        self._responder = responder
        self._served = served
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.DatagramTransport | None = None
        self._by_id: dict[bytes, _Connection] = {}
        self._connections: dict[int, _Connection] = {}
        self._count = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # uvloop's is no subclass of asyncio's

    def datagram_received(self, data: bytes, addr: Address) -> None:
        try:
            header = pull_quic_header(Buffer(data=data), host_cid_length=CONNECTION_ID_BYTES)
        except ValueError:
            return
        connection = self._by_id.get(header.destination_cid)
        if connection is None:
            connection = self._accept(header, len(data), addr)
        if connection is not None:
            session = connection.session
            if self._guarded(connection, lambda: session.receive(data, addr, time.monotonic())):
                self._flush_soon(connection)

    def error_received(self, exc: Exception) -> None:
        """A client's port is closed or its network gone: its sessions end by their idle timeout."""

    def close(self) -> None:
        """Say goodbye to every client and stop listening."""
        for connection in tuple(self._connections.values()):
            connection.session.close()
            self._flush(connection)
        if self._transport is not None:
            self._transport.close()

    def _accept(self, header: QuicHeader, size_bytes: int, address: Address) -> _Connection | None:
        """A new session for the first packet of a client; None if the packet is nothing to answer with one."""
        if header.version is not None and header.version not in self._configuration.supported_versions:
            if header.packet_type != QuicPacketType.VERSION_NEGOTIATION and size_bytes >= SMALLEST_MAX_DATAGRAM_SIZE:
                self._negotiate_version(header, address)
            return None
        is_initial = header.packet_type == QuicPacketType.INITIAL and size_bytes >= SMALLEST_MAX_DATAGRAM_SIZE
        if not is_initial or len(self._connections) >= MAX_SESSIONS:
            return None
        self._count += 1
        number = self._count
        session = Session(
            configuration=self._configuration,
            scheme=self._scheme,
            responder=self._responder,
            events=SessionEvents(
                connection_id_issued=lambda cid: self._add_id(number, cid),
                connection_id_retired=lambda cid: self._drop_id(number, cid),
                served=self._served,
            ),
            number=number,
            now_s=time.monotonic(),
            original_destination_connection_id=header.destination_cid,
        )
        self._connections[number] = connection = _Connection(number, session, set())
        self._add_id(number, header.destination_cid)
        self._add_id(number, session.quic.host_cid)
        return connection

    def _negotiate_version(self, header: QuicHeader, address: Address) -> None:
        packet = encode_quic_version_negotiation(
            source_cid=header.destination_cid,
            destination_cid=header.source_cid,
            supported_versions=self._configuration.supported_versions,
        )
        self._send(packet, address)

    def _add_id(self, number: int, connection_id: bytes) -> None:
        connection = self._connections[number]
        connection.connection_ids.add(connection_id)
        self._by_id[connection_id] = connection

    def _drop_id(self, number: int, connection_id: bytes) -> None:
        self._connections[number].connection_ids.discard(connection_id)
        self._by_id.pop(connection_id, None)

    def _flush_soon(self, connection: _Connection) -> None:
        if connection.flush is None:
            connection.flush = self._loop.call_soon(self._flush, connection)

    def _flush(self, connection: _Connection) -> None:
        """Send what may leave, set the next timer, and drop the session if it has ended."""
        if connection.flush is not None:
            connection.flush.cancel()
            connection.flush = None
        session = connection.session
        if not self._guarded(connection, lambda: self._send_all(session)):
            return
        if session.is_closed:
            self._remove(connection)
            return
        timer_at_s = session.next_timer_s()
        if timer_at_s == connection.timer_at_s:
            return
        if connection.timer is not None:
            connection.timer.cancel()
        connection.timer, connection.timer_at_s = None, timer_at_s
        if timer_at_s is not None:
            delay_s = max(0.0, timer_at_s - time.monotonic())
            connection.timer = self._loop.call_later(delay_s, self._on_timer, connection)

    def _on_timer(self, connection: _Connection) -> None:
        # uvloop counts in milliseconds and may be half of one early; aioquic would then see nothing to do.
        now_s = max(time.monotonic(), connection.timer_at_s or 0.0)
        connection.timer = connection.timer_at_s = None
        session = connection.session
        if self._guarded(connection, lambda: session.handle_timer(now_s)):
            self._flush(connection)

    def _guarded(self, connection: _Connection, step: Callable[[], None]) -> bool:
        """Take a step of a session; whatever a hostile packet provokes there costs its own connection only."""
        try:
            step()
        except Exception:
            _log.exception("connection %d is closed after an internal error", connection.number)
            with contextlib.suppress(Exception):
                connection.session.close(H3_INTERNAL_ERROR)
                self._send_all(connection.session)
            self._remove(connection)
            return False
        return True

    def _send_all(self, session: Session) -> None:
        for datagram, address in session.send(time.monotonic()):
            self._send(datagram, address)

    def _remove(self, connection: _Connection) -> None:
        for handle in (connection.timer, connection.flush):
            if handle is not None:
                handle.cancel()
        for connection_id in connection.connection_ids:
            self._by_id.pop(connection_id, None)
        del self._connections[connection.number]

    def _send(self, datagram: bytes, address: Address) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.sendto(datagram, address)
