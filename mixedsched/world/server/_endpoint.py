"""The UDP side: one socket for many sessions, which are looked up by connection ID."""

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial

from aioquic.buffer import Buffer  # type: ignore[attr-defined]
from aioquic.quic.packet import QuicHeader, pull_quic_header

from mixedsched.core.h3.certificate import Certificate
from mixedsched.core.h3.codes import ErrorCode
from mixedsched.core.h3.events import SessionEvents
from mixedsched.core.h3.live import LiveResponder
from mixedsched.core.h3.response import Responder
from mixedsched.core.h3.session import Address, Session
from mixedsched.model.scheme import ConfiguredScheme
from mixedsched.world.server._conditions import format_http_date
from mixedsched.world.server._configuration import quic_configuration
from mixedsched.world.server._connections import (
    ClientGroups,
    ClosedConnections,
    ConnectionTable,
    LazyTimer,
    ServedConnection,
    Traffic,
    WakeList,
)
from mixedsched.world.server._datagram_sizes import DatagramSizes
from mixedsched.world.server._first_packets import Admission, FirstPackets, MemoryLimit, NewClient
from mixedsched.world.server._inbox import Inlet
from mixedsched.world.server._learning import Learning
from mixedsched.world.server._observers import ConnectionObservers
from mixedsched.world.server._outbox import Outbox
from mixedsched.world.server.handover import CONNECTION_ID_BYTES, Handover, make_connection_id
from mixedsched.world.server.log import ServerLog
from mixedsched.world.server.running import ConnectionRecord
from mixedsched.world.server.settings import ServerSettings
from mixedsched.world.system.udp import host_and_port

_log = logging.getLogger(__name__)

_LONG_HEADER = 0x80


class Endpoint:
    """Receives datagrams, gives each to its session, and sends what sessions have to send.

    Datagrams that came in together are answered together, once per turn of the event loop. While the kernel has no room for
    packets, none are built. Time is the monotonic clock's: uvloop keeps its own in milliseconds, too coarse for RTTs.

    socks: of the port, non-blocking. All are read; the first one, which is bound, sends. `close` closes them. handover: to the
    other workers on the same port, if there are any.
    """

    def __init__(
        self,
        socks: Sequence[socket.socket],
        settings: ServerSettings,
        certificate: Certificate,
        scheme: ConfiguredScheme,
        responder: Responder | LiveResponder,
        log: ServerLog,
        handover: Handover | None = None,
        choose_certificate: Callable[[str | None], Certificate] | None = None,
        learning: Learning | None = None,
    ) -> None:
        self._limits = limits = settings.limits.shared_among(settings.workers)
        self._configuration = quic_configuration(certificate, settings, limits)
        self._choose_certificate = choose_certificate
        self._responder = responder
        self._log = log
        self._logs_connections = settings.log.connections
        self._handover = handover
        self._worker, self._index = (handover.worker, handover.index) if handover is not None else (0, 0)
        self._workers = settings.workers
        self._loop = asyncio.get_running_loop()
        self._socks, sock = socks, socks[0]
        self.inlet = Inlet(socks, handover, self._receive, self._flush_touched)
        self._outbox = Outbox(sock, settings.gso, self._flush_delayed)
        self._admission = Admission(limits, settings.retry)
        memory, versions = MemoryLimit(limits.memory_bytes), self._configuration.supported_versions
        self._first_packets = FirstPackets(versions, self._admission, memory, self._worker)
        self._datagram_sizes = DatagramSizes(sock, settings.max_datagram_bytes)
        self._observers = ConnectionObservers(settings.log, scheme, log.schedule, learning)
        self._groups = (
            ClientGroups(scheme.create_scheduler, lambda number: self._flush_one(self._connections[number]))
            if settings.across_connections
            else None
        )
        self._closed, self._connections = ClosedConnections(), ConnectionTable()
        self._touched: dict[int, ServedConnection] = {}  # have received something in this turn
        self._delayed: dict[int, ServedConnection] = {}  # wait until the kernel has room
        self._woken, self._count, self._is_stopping = WakeList(self._proceed), 0, False
        self._all_gone = asyncio.Event()

    @property
    def uses_gso(self) -> bool:
        return self._outbox.uses_gso

    @property
    def traffic(self) -> Traffic:
        return self._connections.traffic()

    @property
    def sessions(self) -> list[Session]:
        return [connection.session for connection in self._connections]

    def use_scheme(self, scheme: ConfiguredScheme) -> None:
        """Place responses by another mapping from now on. The scheduler must be of the same kind."""
        if self._observers.use_scheme(scheme):
            for session in self.sessions:
                session.use_scheme(scheme)

    def start(self, *, reads: bool) -> None:
        """reads: what comes to the port from now on; else when the inlet is told to."""
        self.inlet.start(reads=reads)

    async def shut_down(self, grace_s: float) -> None:
        """Take no more requests, tell every client so (GOAWAY), and wait until the responses under way are over.

        Returns after grace_s at the latest; `close` then ends what is left.
        """
        self._is_stopping = True
        self._all_gone.clear()  # there may have been a moment without connections before
        now_s = time.monotonic()
        for connection in self._connections:
            if self._guarded(connection, partial(connection.session.shut_down, now_s, grace_s)):
                self._flush(connection)
        if self._connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_gone.wait(), grace_s)

    def close(self) -> None:
        """Close every connection and stop listening."""
        for connection in self._connections:
            self._end(connection)
        self._observers.stop()
        self.inlet.close()
        self._outbox.close()
        for sock in self._socks:
            sock.close()

    def _receive(self, data: bytes, address: Address, now_s: float, handed_over: bool) -> None:
        """Give a datagram to its session. now_s: when the datagrams of this turn were read."""
        header: QuicHeader | None = None
        if data and not data[0] & _LONG_HEADER:
            connection_id = data[1 : 1 + CONNECTION_ID_BYTES]
        else:
            try:
                header = pull_quic_header(Buffer(data=data), host_cid_length=CONNECTION_ID_BYTES)
            except ValueError:
                return
            connection_id = header.destination_cid
        connection = self._connections.find(connection_id)
        if connection is None and (answer := self._closed.answer(connection_id, len(data), now_s)) is not None:
            self._outbox.send([(answer, address)])
            return
        if connection is None and not handed_over and self._hand_over(connection_id, data, address):
            return
        if connection is None and header is not None:
            connection = self._accept(header, len(data), address, now_s)
        if connection is None:
            return
        self._touched[connection.number] = connection
        session = connection.session
        if self._guarded(connection, lambda: session.receive(data, address, now_s)):
            self._note_handshake(connection, address)
            if session.has_ended:  # its place is free for the next datagram's client
                self._remove(connection)

    def _hand_over(self, connection_id: bytes, data: bytes, address: Address) -> bool:
        """Pass a packet to the worker that has its connection. A client's first packets stay with the worker that the kernel
        chose: their connection ID was made by the client."""
        owner = self._handover.owner_of(connection_id) if self._handover is not None else None
        if self._handover is None or owner is None:
            return False
        self._handover.give(owner, data, address)
        return True

    def _accept(self, header: QuicHeader, size_bytes: int, address: Address, now_s: float) -> ServedConnection | None:
        """A new connection for the first packet of a client; None if it is not admitted."""
        judged = self._first_packets.judge(header, size_bytes, address, now_s, is_closed=self._is_stopping)
        if judged is None:
            return None
        if not isinstance(judged, NewClient):
            self._outbox.send([(judged, address)])
            return None
        connection = self._open(judged, address, now_s)
        self._connections.add_id(connection.number, header.destination_cid)
        return connection

    def _open(self, new: NewClient, address: Address, now_s: float) -> ServedConnection:
        self._count += 1
        number = 1 + self._index + (self._count - 1) * self._workers  # no two workers use the same
        configuration, events, scheme = self._observers.open(
            number,
            new,
            now_s,
            self._configuration,
            SessionEvents(
                connection_id_issued=partial(self._connections.add_id, number),
                connection_id_retired=partial(self._connections.drop_id, number),
                served=self._log.request,
                woken=partial(self._woken.wake, number),
            ),
        )
        session = Session(
            configuration=configuration,
            scheme=scheme,
            responder=self._responder,
            events=events,
            number=number,
            now_s=now_s,
            scheduler=self._groups.join(number, str(address[0])) if self._groups is not None else None,
            own_fields=lambda: [(b"date", format_http_date(time.time()).encode())],
            original_destination_connection_id=new.first_id,
            retry_source_connection_id=new.retry_id,
            make_connection_id=lambda: make_connection_id(self._worker),
            request_limit=self._limits.streams,
            sends_flights=True,
            notes_server_name=self._logs_connections,
            datagram_limit_bytes=self._datagram_sizes.limit_bytes(address),
            choose_certificate=self._choose_certificate,
        )
        self._observers.attach(number, session)
        if self._groups is not None:
            self._groups.set_stall_test(number, lambda: session.is_stalled)
        timer = LazyTimer(partial(self._on_timer, number))
        handshake_timer = self._loop.call_later(self._limits.handshake_s, self._time_out, number)
        connection = ServedConnection(number, session, new.client, new.retry_id is not None, timer, handshake_timer)
        self._connections.add(connection)
        self._connections.add_id(number, session.quic.host_cid)
        self._admission.opened(new.client, proven=connection.proven)
        return connection

    def _note_handshake(self, connection: ServedConnection, address: Address) -> None:
        if connection.handshake_timer is not None and connection.session.quic.is_established:
            self._end_handshake(connection)
            if self._logs_connections:
                client = host_and_port(address[0], address[1])
                self._log.connection(ConnectionRecord(connection.number, client, connection.session.quic.server_name))

    def _end_handshake(self, connection: ServedConnection) -> None:
        if connection.handshake_timer is not None:
            connection.handshake_timer.cancel()
            connection.handshake_timer = None
            self._admission.established(proven=connection.proven)

    def _proceed(self, number: int) -> None:
        """A live responder has something for a session."""
        connection = self._connections.get(number)
        if connection is not None:
            self._flush(connection)

    def _flush_touched(self) -> None:
        touched, self._touched = self._touched, {}
        for connection in touched.values():
            if not connection.is_gone:
                self._flush(connection)

    def _flush_delayed(self) -> None:
        """The kernel has room again: go on with those that waited, until it has none."""
        delayed, self._delayed = self._delayed, {}
        for connection in delayed.values():
            if not connection.is_gone:
                self._flush(connection)

    def _flush(self, connection: ServedConnection) -> None:
        """Send what may leave on this connection, and on those that share its scheduler."""
        if self._groups is None:
            self._flush_one(connection)
        else:
            self._groups.flush(connection.number)

    def _flush_one(self, connection: ServedConnection) -> None:
        """Send what may leave, set the next timer, and drop the session if it has ended."""
        if self._outbox.is_blocked:
            self._delayed[connection.number] = connection
            return
        session = connection.session
        if not self._guarded(connection, lambda: self._send_all(connection)):
            return
        if session.has_ended:
            self._remove(connection)
        else:
            connection.timer.arm(session.next_timer_s())

    def _on_timer(self, number: int, now_s: float) -> None:
        connection = self._connections[number]
        if self._guarded(connection, partial(connection.session.handle_timer, now_s)):
            self._flush(connection)

    def _time_out(self, number: int) -> None:
        """The handshake takes too long."""
        self._end(self._connections[number])

    def _guarded(self, connection: ServedConnection, step: Callable[[], None]) -> bool:
        """Take a step of a session; an error that a hostile packet provokes there costs only its own connection."""
        try:
            step()
        except Exception:
            _log.exception("connection %d is closed after an internal error", connection.number)
            self._end(connection, ErrorCode.H3_INTERNAL_ERROR)
            return False
        return True

    def _send_all(self, connection: ServedConnection) -> None:
        now_s = time.monotonic()
        datagrams = connection.session.send(now_s)
        if datagrams:
            self._outbox.send(datagrams)
            if (refused_bytes := self._outbox.take_too_large_bytes()) is not None:
                connection.session.quic.note_refused(refused_bytes, now_s)
            if connection.session.has_ended:
                self._closed.remember(sorted(connection.connection_ids), datagrams[-1][0], now_s)

    def _end(self, connection: ServedConnection, error_code: int = ErrorCode.H3_NO_ERROR) -> None:
        """Close a connection at once, with a CONNECTION_CLOSE if one can be sent."""
        with contextlib.suppress(Exception):
            connection.session.close(error_code)
            self._send_all(connection)
        self._remove(connection)

    def _remove(self, connection: ServedConnection) -> None:
        if connection.is_gone:
            return
        connection.is_gone = True
        with contextlib.suppress(Exception):
            connection.session.abandon()
        self._observers.close(connection.number)
        self._end_handshake(connection)
        connection.timer.cancel()
        self._connections.remove(connection)
        if self._groups is not None:
            self._loop.call_soon(self._groups.leave(connection.number))
        self._admission.closed(connection.client)
        if not self._connections:
            self._all_gone.set()
