"""The UDP side: one socket, many sessions, found by connection ID."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from aioquic.buffer import Buffer  # type: ignore[attr-defined]
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.packet import QuicHeader, QuicPacketType, pull_quic_header

from mixedsched.core.h3.certificate import Certificate
from mixedsched.core.h3.events import SessionEvents
from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.core.h3.response import Responder
from mixedsched.core.h3.session import H3_INTERNAL_ERROR, H3_NO_ERROR, Address, Session
from mixedsched.model.scheme import ConfiguredScheme
from mixedsched.world.server.admission import Admission
from mixedsched.world.server.connected import Connected
from mixedsched.world.server.door import Door, Entry
from mixedsched.world.server.explain import Stretch
from mixedsched.world.server.farewells import Farewells
from mixedsched.world.server.handover import CONNECTION_ID_BYTES, Handover, make_connection_id
from mixedsched.world.server.memory import MemoryGuard
from mixedsched.world.server.outbox import Outbox
from mixedsched.world.server.settings import ServerSettings
from mixedsched.world.server.siblings import Siblings
from mixedsched.world.server.watch import Watch
from mixedsched.world.system.udp import host_and_port

_log = logging.getLogger(__name__)

BATCH = 64  # datagrams taken before their answers are sent, and timers and other sockets get their turn
_LARGEST_DATAGRAM_BYTES = 65536
_LONG_HEADER = 0x80
_TIMER_SLACK_S = 0.0005  # uvloop counts in milliseconds, and may be half of one early


@dataclass(slots=True, eq=False)
class _Connection:
    """A session with what ties it to the event loop.

    client: as counted by Admission. proven: its address was, before the handshake. due_s: when the session wants to be
    called; armed_s: when `timer` fires, which may be earlier.
    """

    number: int
    session: Session
    client: str
    proven: bool
    connection_ids: set[bytes] = field(default_factory=set)
    handshake_timer: asyncio.TimerHandle | None = None
    due_s: float | None = None
    timer: asyncio.TimerHandle | None = None
    armed_s: float = 0.0
    is_gone: bool = False


class Endpoint:
    """Receives datagrams, gives each to its session, and sends what sessions have to send.

    Datagrams that came in together are answered together: a session is flushed once per turn of the event loop.
    While the kernel has no room for packets, none are built. Time is the monotonic clock's, not the event loop's, which
    uvloop keeps in milliseconds: too coarse to measure RTTs.

    sock: bound and non-blocking; it is closed by `close`. handover: to the other workers on the same port, if there are any.
    served: told of each request that is over. explained, connected: told of who gets the packets, and of each connection,
    where that is wanted.
    """

    def __init__(
        self,
        sock: socket.socket,
        settings: ServerSettings,
        certificate: Certificate,
        scheme: ConfiguredScheme,
        responder: Responder,
        served: Callable[[ServedRequest], None],
        handover: Handover | None = None,
        explained: Callable[[Stretch], None] = lambda _: None,
        connected: Callable[[Connected], None] = lambda _: None,
    ) -> None:
        limits = settings.limits.shared_among(settings.workers)
        self._configuration = QuicConfiguration(
            is_client=False,
            alpn_protocols=["h3"],
            certificate=certificate.certificate,
            private_key=certificate.private_key,
            congestion_control_algorithm=settings.congestion_control,
            connection_id_length=CONNECTION_ID_BYTES,
            idle_timeout=limits.idle_s,
            max_data=limits.receive_bytes,
            max_stream_data=limits.receive_bytes,
        )
        self._limits = limits
        self._scheme = scheme
        self._responder = responder
        self._served = served
        self._connected = connected if settings.watch.connections else None
        self._handover = handover
        self._worker = handover.worker if handover is not None else 0
        self._workers = settings.workers
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._outbox = Outbox(sock, settings.gso, self._flush_delayed)
        self._admission = Admission(limits, settings.retry)
        versions = self._configuration.supported_versions
        self._door = Door(versions, self._admission, MemoryGuard(limits.memory_bytes), self._worker)
        self._watch = Watch(settings.watch, scheme.label, explained)
        self._siblings = (
            Siblings(scheme.create_scheduler, self._flush_numbered) if settings.across_connections else None
        )
        self._farewells = Farewells()
        self._by_id: dict[bytes, _Connection] = {}
        self._connections: dict[int, _Connection] = {}
        self._touched: dict[int, _Connection] = {}  # have received something in this turn
        self._delayed: dict[int, _Connection] = {}  # wait until the kernel has room
        self._count = 0
        self._is_stopping = False
        self._all_gone = asyncio.Event()

    @property
    def uses_gso(self) -> bool:
        return self._outbox.uses_gso

    def start(self) -> None:
        self._loop.add_reader(self._sock, self._on_readable)
        if self._handover is not None:
            self._loop.add_reader(self._handover.fileno(), self._on_handed_over)

    async def shut_down(self, grace_s: float) -> None:
        """Take no more requests, say so to every client (GOAWAY), and wait until the responses under way are over.

        Returns after grace_s at the latest; `close` then ends what is left.
        """
        self._is_stopping = True
        now_s = time.monotonic()
        for connection in tuple(self._connections.values()):
            if self._guarded(connection, partial(connection.session.shut_down, now_s, grace_s)):
                self._flush(connection)
        if self._connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_gone.wait(), grace_s)

    def close(self) -> None:
        """Say goodbye to every client and stop listening."""
        for connection in tuple(self._connections.values()):
            self._end(connection, H3_NO_ERROR)
        self._watch.stop()
        self._loop.remove_reader(self._sock)
        if self._handover is not None:
            self._loop.remove_reader(self._handover.fileno())
            self._handover.close()
        self._outbox.close()
        self._sock.close()

    def _on_readable(self) -> None:
        now_s = time.monotonic()
        for data, address in self._take():
            self._receive(data, address, now_s, handed_over=False)
        self._flush_touched()

    def _on_handed_over(self) -> None:
        assert self._handover is not None
        now_s = time.monotonic()
        for data, address in self._handover.take():
            self._receive(data, address, now_s, handed_over=True)
        self._flush_touched()

    def _take(self) -> Iterator[tuple[bytes, Address]]:
        receive = self._sock.recvfrom
        for _ in range(BATCH):
            try:
                yield receive(_LARGEST_DATAGRAM_BYTES)
            except OSError:  # nothing left, or an earlier packet of ours was refused
                return

    def _receive(self, data: bytes, address: Address, now_s: float, handed_over: bool) -> None:
        """Give a datagram to its session. now_s: when the datagrams of this turn were looked for; they had come by then."""
        header: QuicHeader | None = None
        if data and not data[0] & _LONG_HEADER:
            connection_id = data[1 : 1 + CONNECTION_ID_BYTES]
        else:
            try:
                header = pull_quic_header(Buffer(data=data), host_cid_length=CONNECTION_ID_BYTES)
            except ValueError:
                return
            connection_id = header.destination_cid
        connection = self._by_id.get(connection_id)
        if connection is None and (farewell := self._farewells.answer(connection_id, len(data), now_s)) is not None:
            self._outbox.send([(farewell, address)])
            return
        if connection is None and not handed_over and self._hand_over(header, connection_id, data, address):
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

    def _hand_over(self, header: QuicHeader | None, connection_id: bytes, data: bytes, address: Address) -> bool:
        """Pass a packet to the worker that has its connection. First packets are for whoever the kernel gave them to: their
        connection ID was made by the client."""
        if self._handover is None or (header is not None and header.packet_type == QuicPacketType.INITIAL):
            return False
        owner = self._handover.owner_of(connection_id)
        if owner is None:
            return False
        self._handover.give(owner, data, address)
        return True

    def _accept(self, header: QuicHeader, size_bytes: int, address: Address, now_s: float) -> _Connection | None:
        """A new connection for the first packet of a client; None if there is to be none."""
        judged = self._door.judge(header, size_bytes, address, now_s, is_closed=self._is_stopping)
        if judged is None:
            return None
        if not isinstance(judged, Entry):
            self._outbox.send([(judged, address)])
            return None
        connection = self._open(judged, address, now_s)
        self._add_id(connection.number, header.destination_cid)
        return connection

    def _open(self, entry: Entry, address: Address, now_s: float) -> _Connection:
        self._count += 1
        number = 1 + self._worker + (self._count - 1) * self._workers  # no two workers use the same
        configuration, events = self._watch.open(
            number,
            entry.first_id,
            now_s,
            self._configuration,
            SessionEvents(
                connection_id_issued=lambda cid: self._add_id(number, cid),
                connection_id_retired=lambda cid: self._drop_id(number, cid),
                served=self._served,
            ),
        )
        session = Session(
            configuration=configuration,
            scheme=self._scheme,
            responder=self._responder,
            events=events,
            number=number,
            now_s=now_s,
            scheduler=self._siblings.join(number, str(address[0])) if self._siblings is not None else None,
            original_destination_connection_id=entry.first_id,
            retry_source_connection_id=entry.retry_id,
            make_connection_id=lambda: make_connection_id(self._worker),
            request_limit=self._limits.streams,
            sends_flights=True,
            notes_server_name=self._connected is not None,
        )
        if self._siblings is not None:
            self._siblings.watch(number, lambda: session.is_stalled)
        connection = _Connection(number, session, entry.client, proven=entry.retry_id is not None)
        self._connections[number] = connection
        self._admission.opened(entry.client, proven=connection.proven)
        connection.handshake_timer = self._loop.call_later(self._limits.handshake_s, self._end, connection)
        self._add_id(number, session.quic.host_cid)
        return connection

    def _note_handshake(self, connection: _Connection, address: Address) -> None:
        if connection.handshake_timer is not None and connection.session.is_established:
            self._end_handshake(connection)
            if self._connected is not None:
                client = host_and_port(address[0], address[1])
                self._connected(Connected(connection.number, client, connection.session.server_name))

    def _end_handshake(self, connection: _Connection) -> None:
        if connection.handshake_timer is not None:
            connection.handshake_timer.cancel()
            connection.handshake_timer = None
            self._admission.established(proven=connection.proven)

    def _add_id(self, number: int, connection_id: bytes) -> None:
        connection = self._connections[number]
        connection.connection_ids.add(connection_id)
        self._by_id[connection_id] = connection

    def _drop_id(self, number: int, connection_id: bytes) -> None:
        self._connections[number].connection_ids.discard(connection_id)
        self._by_id.pop(connection_id, None)

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

    def _flush(self, connection: _Connection) -> None:
        """Send what may leave on this connection, and on those that share its scheduler."""
        if self._siblings is None:
            self._flush_one(connection)
        else:
            self._siblings.flush(connection.number)

    def _flush_numbered(self, number: int) -> None:
        self._flush_one(self._connections[number])

    def _flush_one(self, connection: _Connection) -> None:
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
            self._arm(connection)

    def _arm(self, connection: _Connection) -> None:
        """Have the session called in time. A timer that is set for earlier stays: most are put off before they fire."""
        due_s = connection.due_s = connection.session.next_timer_s()
        if due_s is None or (connection.timer is not None and connection.armed_s <= due_s):
            return
        if connection.timer is not None:
            connection.timer.cancel()
        connection.armed_s = due_s
        delay_s = max(0.0, due_s - time.monotonic())
        connection.timer = self._loop.call_later(delay_s, self._on_timer, connection)

    def _on_timer(self, connection: _Connection) -> None:
        connection.timer = None
        now_s = time.monotonic()
        if connection.due_s is None:
            return
        if connection.due_s > now_s + _TIMER_SLACK_S:
            self._arm(connection)
            return
        now_s = max(now_s, connection.due_s)  # aioquic would see nothing to do before
        session = connection.session
        if self._guarded(connection, lambda: session.handle_timer(now_s)):
            self._flush(connection)

    def _guarded(self, connection: _Connection, step: Callable[[], None]) -> bool:
        """Take a step of a session; whatever a hostile packet provokes there costs its own connection only."""
        try:
            step()
        except Exception:
            _log.exception("connection %d is closed after an internal error", connection.number)
            self._end(connection, H3_INTERNAL_ERROR)
            return False
        return True

    def _send_all(self, connection: _Connection) -> None:
        now_s = time.monotonic()
        datagrams = connection.session.send(now_s)
        if datagrams:
            self._outbox.send(datagrams)
            if connection.session.has_ended:
                self._farewells.keep(sorted(connection.connection_ids), datagrams[-1][0], now_s)

    def _end(self, connection: _Connection, error_code: int = H3_NO_ERROR) -> None:
        """Close a connection at once, with a word to the client if one can be sent."""
        with contextlib.suppress(Exception):
            connection.session.close(error_code)
            self._send_all(connection)
        self._remove(connection)

    def _remove(self, connection: _Connection) -> None:
        if connection.is_gone:
            return
        connection.is_gone = True
        with contextlib.suppress(Exception):
            connection.session.abandon()
        self._watch.close(connection.number)
        self._end_handshake(connection)
        if connection.timer is not None:
            connection.timer.cancel()
        for connection_id in connection.connection_ids:
            self._by_id.pop(connection_id, None)
        del self._connections[connection.number]
        if self._siblings is not None:
            self._loop.call_soon(self._siblings.leave(connection.number))
        self._admission.closed(connection.client)
        if not self._connections:
            self._all_gone.set()
