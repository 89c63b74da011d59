"""Two QUIC connections in memory, below HTTP/3: a client of aioquic, our server, a link in virtual time.

Requests are a size in text, responses so many bytes. Without header compression nothing depends on memory addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from aioquic import tls
from aioquic.buffer import encode_uint_var
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, StreamDataReceived

from mixedsched.core.h3.response import Body, BytesBody
from mixedsched.core.h3.seam import ScheduledConnection
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim._wire import SERVER, VirtualNetwork
from mixedsched.model.priority import Priority
from mixedsched.model.profile import Direction, Profile, RandomLoss
from mixedsched.model.request import Kind, Request, chromium_priority_of
from mixedsched.model.scheme import configure
from mixedsched.world import catalog
from tests.core.h3.pair import certificate, pattern

KINDS = tuple(Kind)


class _End:
    """A connection as the wire wants it. is_carried: whether the path takes a datagram that is sent."""

    def __init__(self, quic: QuicConnection, take: Any, is_carried: Callable[[bytes], bool] = lambda _: True) -> None:
        self._quic = quic
        self._is_carried = is_carried
        self._take = take
        self.next_timer_s = quic.get_timer

    def receive(self, datagram: bytes, address: Any, now_s: float) -> None:
        self._quic.receive_datagram(datagram, address, now=now_s)
        self._take_events()

    def send(self, now_s: float) -> list[tuple[bytes, Any]]:
        datagrams = self._quic.datagrams_to_send(now=now_s)
        return [(data, address) for data, address in datagrams if self._is_carried(data)]

    def handle_timer(self, now_s: float) -> None:
        self._quic.handle_timer(now=now_s)
        self._take_events()

    def _take_events(self) -> None:
        while (event := self._quic.next_event()) is not None:
            self._take(event)


def run_for(wire: VirtualNetwork, seconds: float) -> None:
    """Move datagrams and time."""
    limit_us = wire.now_us + round(seconds * 1_000_000)
    wire.wake_all()
    wire.flush()
    while (due_us := wire.next_us()) is not None and due_us <= limit_us:
        wire.advance(due_us)
        wire.flush()
    wire.now_us = limit_us


def head_of(size_bytes: int) -> bytes:
    """What is written to a stream before its body: the head of a DATA frame."""
    return b"\0" + encode_uint_var(size_bytes)


class QuicPair:
    """packets: (time in seconds, number, plain payload) of what the server sends after the handshake.

    carried_bytes: the largest datagram of the server that the path carries; may be changed. datagram_limit_bytes: the largest
    that the server tries. sizes: of its datagrams, carried or not. ack_delay_s: how long the client gathers packets before it
    acknowledges them all.
    """

    def __init__(
        self,
        scheme: str,
        *,
        delay_us: int = 10_000,
        rate_bps: int | None = None,
        queue_bytes: int | None = None,
        loss_ratio: float = 0.0,
        seed: int = 1,
        max_data: int = 16 * 1024 * 1024,
        max_stream_data: int = 16 * 1024 * 1024,
        datagram_limit_bytes: int = 1200,
        carried_bytes: int = 65_507,
        congestion_control: str = "cubic",
        sends_flights: bool = False,
        ack_delay_s: float = 0.001,
    ) -> None:
        self.carried_bytes = carried_bytes
        self.sizes: list[int] = []
        self.client = QuicConnection(
            configuration=QuicConfiguration(
                is_client=True,
                alpn_protocols=["h3"],
                server_name="pair.test",
                verify_mode=0,
                max_data=max_data,
                max_stream_data=max_stream_data,
            )
        )
        self.client._ack_delay = ack_delay_s
        self.scheme = configure(scheme, SCHEMES, catalog.load_mapping)
        self.server = ScheduledConnection(
            configuration=QuicConfiguration(
                is_client=False,
                alpn_protocols=["h3"],
                certificate=certificate().certificate,
                private_key=certificate().private_key,
                congestion_control_algorithm=congestion_control,
            ),
            datagram_limit_bytes=datagram_limit_bytes,
            sends_flights=sends_flights,
            scheduler=self.scheme.create_scheduler(),
            original_destination_connection_id=self.client.original_destination_connection_id,
        )
        self.received: dict[int, bytearray] = {}
        self.finished: list[int] = []
        self.terminated: list[ConnectionTerminated] = []
        self.packets: list[tuple[float, int, bytes]] = []
        self.client.connect(SERVER, now=0.0)
        direction = Direction(rate_bps, delay_us, queue_bytes, RandomLoss(loss_ratio))
        profile = Profile("pair", "", "", direction, direction)
        server_end = _End(self.server, self._answer, self._is_carried)
        self.wire = VirtualNetwork(_End(self.client, self._take_answer), server_end, profile, seed)
        self.run(2.0)
        self._watch()

    @property
    def now_s(self) -> float:
        return self.wire.now_us / 1_000_000

    def run(self, seconds: float) -> QuicPair:
        run_for(self.wire, seconds)
        return self

    def ask(self, sizes: Iterable[int]) -> list[int]:
        """Send requests for responses of these sizes in bytes; the stream IDs."""
        stream_ids = []
        for size in sizes:
            stream_ids.append(self.client.get_next_available_stream_id())
            self.client.send_stream_data(stream_ids[-1], b"%d" % size, end_stream=True)
            self.received[stream_ids[-1]] = bytearray()
        return stream_ids

    def finish(self) -> QuicPair:
        """Run until all responses are there, or for ten minutes."""
        while len(self.finished) < len(self.received) and not self.terminated and self.now_s < 600:
            self.run(0.5)
        return self

    def _is_carried(self, datagram: bytes) -> bool:
        self.sizes.append(len(datagram))
        return len(datagram) <= self.carried_bytes

    def body(self, size_bytes: int) -> Body:
        return BytesBody(pattern(size_bytes))

    def _answer(self, event: Any) -> None:
        if isinstance(event, StreamDataReceived) and self.server.awaits_response(event.stream_id):
            stream_id = event.stream_id
            signal = Priority(stream_id // 4 % 3, stream_id % 3 == 1)
            request = Request(
                stream_id=stream_id,
                path="/",
                kind=KINDS[stream_id // 4 % len(KINDS)],
                signal=signal,
                signalled=True,
                chromium_priority=chromium_priority_of(signal),
            )
            self.server.open_response(stream_id, self.scheme.place(request), self.body(int(event.data)))
            self.server.send_stream_data(stream_id, head_of(int(event.data)))

    def _take_answer(self, event: Any) -> None:
        if isinstance(event, ConnectionTerminated):
            self.terminated.append(event)
        if isinstance(event, StreamDataReceived):
            self.received[event.stream_id] += event.data
            if event.end_stream:
                self.finished.append(event.stream_id)

    def _watch(self) -> None:
        """Note what the server encrypts from now on."""
        keys = self.server._cryptos[tls.Epoch.ONE_RTT].send
        assert keys.aead is not None
        encrypt = keys.aead.encrypt

        def spy(data: bytes, header: bytes, number: int) -> bytes:
            self.packets.append((self.now_s, number, bytes(data)))
            return encrypt(data, header, number)

        keys.aead.encrypt = spy  # type: ignore[method-assign]
