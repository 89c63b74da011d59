"""Several connections of one client in memory: they share a scheduler at the server and a link, in virtual time."""

from __future__ import annotations

from typing import Any

from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import StreamDataReceived

from mixedsched.core.h3.events import SessionEvents
from mixedsched.core.h3.session import Session
from mixedsched.core.h3.shared import Share, SharedScheduler
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim._wire import SERVER, VirtualNetwork
from mixedsched.model.profile import Direction, Profile, RandomLoss
from mixedsched.model.scheme import configure
from mixedsched.world import catalog
from tests.core.h3.pair import Sizes, certificate
from tests.core.h3.quic_pair import run_for

Member = tuple[int, int]
"""(number of a connection, stream ID)"""


class _Client:
    """One connection as its client sees it."""

    def __init__(self, **options: Any) -> None:
        self.quic = QuicConnection(
            configuration=QuicConfiguration(
                is_client=True, alpn_protocols=["h3"], server_name="pair.test", verify_mode=0, **options
            )
        )
        self.quic.connect(SERVER, now=0.0)
        self.h3 = H3Connection(self.quic)
        self.bodies: dict[int, bytearray] = {}
        self.done: dict[int, float] = {}
        self.is_silent = False

    def take_events(self, now_s: float) -> None:
        while (event := self.quic.next_event()) is not None:
            if isinstance(event, StreamDataReceived) and event.end_stream and event.stream_id % 4 == 0:
                self.done[event.stream_id] = now_s
            for item in self.h3.handle_event(event):
                if isinstance(item, DataReceived):
                    self.bodies[item.stream_id] += item.data


class Family:
    """Drives them all. Datagrams carry the number of their connection in a byte of their own.

    opened: (member, placement) in the order in which responses came to the scheduler. frames: (member, size) of each STREAM
    frame of a response as it left. strays: frames that left although it was another one's turn. flushes: connections, as the
    server asked them for what they have to send.
    """

    def __init__(
        self,
        scheme: str,
        members: int = 2,
        *,
        delay_us: int = 10_000,
        rate_bps: int | None = None,
        queue_bytes: int | None = None,
        loss_ratio: float = 0.0,
        seed: int = 1,
        **client_options: Any,
    ) -> None:
        self.scheme = configure(scheme, SCHEMES, catalog.load_mapping)
        self.shared = SharedScheduler(self.scheme.create_scheduler())
        self.clients = [_Client(**client_options) for _ in range(members)]
        self.opened: list[tuple[Member, Any]] = []
        self.frames: list[tuple[Member, int]] = []
        self.strays: list[Member] = []
        self.flushes: list[int] = []
        self.shares: list[Share] = []
        self.sessions = [self._session(number, client) for number, client in enumerate(self.clients)]
        self._touched: dict[int, None] = {}
        self._outgoing: list[tuple[bytes, Any]] = []
        self._watch_turns()
        direction = Direction(rate_bps, delay_us, queue_bytes, RandomLoss(loss_ratio))
        profile = Profile("family", "", "", direction, direction)
        self.wire = VirtualNetwork(_Clients(self), _Server(self), profile, seed)
        self.run(1.0 + 8 * delay_us / 1_000_000)
        self.frames.clear()
        self.flushes.clear()

    @property
    def now_s(self) -> float:
        return self.wire.now_us / 1_000_000

    def request(self, number: int, path: str, priority: str = "u=3", destination: str = "image") -> Member:
        client = self.clients[number]
        stream_id = client.quic.get_next_available_stream_id()
        fields = [
            (b":method", b"GET"),
            (b":scheme", b"https"),
            (b":authority", b"pair.test"),
            (b":path", path.encode()),
            (b"priority", priority.encode()),
            (b"sec-fetch-dest", destination.encode()),
        ]
        client.h3.send_headers(stream_id, fields, end_stream=True)
        client.bodies[stream_id] = bytearray()
        return number, stream_id

    def run(self, seconds: float) -> Family:
        run_for(self.wire, seconds)
        return self

    def finish(self, limit_s: float = 300.0) -> Family:
        """Run until all responses are there, or for so long."""
        until_s = self.now_s + limit_s
        while self.now_s < until_s and any(len(client.done) < len(client.bodies) for client in self.clients):
            self.run(0.25)
        return self

    def done_s(self, member: Member) -> float:
        """When the response was complete."""
        return self.clients[member[0]].done[member[1]]

    def body(self, member: Member) -> bytes:
        return bytes(self.clients[member[0]].bodies[member[1]])

    def is_done(self, member: Member) -> bool:
        return member[1] in self.clients[member[0]].done

    def _session(self, number: int, client: _Client) -> Session:
        share = self.shared.join()
        self.shares.append(share)
        session = Session(
            configuration=QuicConfiguration(
                is_client=False,
                alpn_protocols=["h3"],
                certificate=certificate().certificate,
                private_key=certificate().private_key,
            ),
            scheme=self.scheme,
            responder=Sizes(),
            events=SessionEvents(lambda _: None, lambda _: None, lambda _: None),
            number=number,
            now_s=0.0,
            scheduler=share,
            original_destination_connection_id=client.quic.original_destination_connection_id,
        )
        share.is_stalled = lambda: session.is_stalled
        opened, told = session.quic.open_response, session.quic.sent

        def open_response(stream_id: int, placement: Any, body: Any) -> None:
            self.opened.append(((number, stream_id), placement))
            opened(stream_id, placement, body)

        def sent(stream_id: int, size_bytes: int, again_bytes: int, fin: bool) -> None:
            self.frames.append(((number, stream_id), size_bytes))
            told(stream_id, size_bytes, again_bytes, fin)

        session.quic.open_response = open_response  # type: ignore[method-assign]
        session.quic.sent = sent
        return session

    def _watch_turns(self) -> None:
        scheduler = self.shared.scheduler
        charge = scheduler.sent

        def sent(number: int, size_bytes: int, again_bytes: int = 0) -> None:
            if scheduler.pick() != number:
                share, stream_id = self.shared.owners[number]
                self.strays.append((self.shares.index(share), stream_id))
            charge(number, size_bytes, again_bytes)

        scheduler.sent = sent  # type: ignore[method-assign]

    def touch(self, number: int) -> None:
        self._touched[number] = None

    def send(self, now_s: float) -> list[tuple[bytes, Any]]:
        """What the server sends after something happened to some of its connections."""
        touched, self._touched = self._touched, {}
        for number in touched:
            self.shared.take_turns(self.shares[number], lambda share: self._flush(self.shares.index(share), now_s))
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def _flush(self, number: int, now_s: float) -> None:
        self.flushes.append(number)
        session = self.sessions[number]
        self._outgoing += [(bytes([number]) + data, address) for data, address in session.send(now_s)]
        if session.has_ended:
            self.shares[number].leave()


class _Clients:
    """All clients as one end of the wire."""

    def __init__(self, family: Family) -> None:
        self._family = family

    def receive(self, datagram: bytes, address: Any, now_s: float) -> None:
        client = self._family.clients[datagram[0]]
        if not client.is_silent:
            client.quic.receive_datagram(datagram[1:], address, now=now_s)
            client.take_events(now_s)

    def send(self, now_s: float) -> list[tuple[bytes, Any]]:
        datagrams = []
        for number, client in enumerate(self._family.clients):
            if not client.is_silent:
                datagrams += [(bytes([number]) + data, to) for data, to in client.quic.datagrams_to_send(now=now_s)]
        return datagrams

    def next_timer_s(self) -> float | None:
        timers = [client.quic.get_timer() for client in self._family.clients if not client.is_silent]
        return min((at_s for at_s in timers if at_s is not None), default=None)

    def handle_timer(self, now_s: float) -> None:
        for client in self._family.clients:
            at_s = client.quic.get_timer()
            if at_s is not None and at_s <= now_s and not client.is_silent:
                client.quic.handle_timer(now=now_s)
                client.take_events(now_s)


class _Server:
    """All sessions as the other end."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self.send = family.send

    def receive(self, datagram: bytes, address: Any, now_s: float) -> None:
        number = datagram[0]
        self._family.sessions[number].receive(datagram[1:], (*address[:1], address[1] + number), now_s)
        self._family.touch(number)

    def next_timer_s(self) -> float | None:
        timers = [session.next_timer_s() for session in self._family.sessions]
        return min((at_s for at_s in timers if at_s is not None), default=None)

    def handle_timer(self, now_s: float) -> None:
        for number, session in enumerate(self._family.sessions):
            at_s = session.next_timer_s()
            if at_s is not None and at_s <= now_s:
                session.handle_timer(now_s)
                self._family.touch(number)
