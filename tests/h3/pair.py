"""Two connections in memory: aioquic as client, our session as server, joined by a link in virtual time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived

from mixedsched import catalog
from mixedsched.h3.response import BytesBody, RequestHead, Response
from mixedsched.h3.session import Served, Session, SessionEvents
from mixedsched.link import Link, direction_rng
from mixedsched.profile import Direction
from mixedsched.schedulers import SCHEMES
from mixedsched.scheme import configure
from mixedsched.server.certificate import Certificate, make_certificate

CLIENT, SERVER = ("192.0.2.1", 1), ("192.0.2.2", 443)


class Sizes:
    """A responder whose paths are sizes: "/5000" and "/5000?x" answer with so many bytes."""

    def respond(self, head: RequestHead) -> Response:
        size_bytes = int(head.path.strip("/").partition("?")[0])
        fields = [(b"content-length", str(size_bytes).encode())]
        return Response(200, fields, BytesBody(pattern(size_bytes)), "image/png")


def pattern(size_bytes: int) -> bytes:
    """Bytes in which a piece at the wrong place shows."""
    return b"".join(index.to_bytes(4, "big") for index in range(size_bytes // 4 + 1))[:size_bytes]


@cache
def certificate() -> Certificate:
    return make_certificate(["pair.test"], repeatable=True)


class Pair:
    """Drives both ends. arrivals: (stream ID, offset, size) of each STREAM frame of a response as it left the server."""

    def __init__(
        self,
        scheme: str = "sequential",
        *,
        mapping: str | None = None,
        delay_us: int = 10_000,
        rate_bps: int | None = None,
        loss_ratio: float = 0.0,
        seed: int = 1,
        max_data: int = 16 * 1024 * 1024,
        max_stream_data: int = 16 * 1024 * 1024,
        responder: object | None = None,
    ) -> None:
        configuration = QuicConfiguration(
            is_client=True,
            alpn_protocols=["h3"],
            server_name="pair.test",
            max_data=max_data,
            max_stream_data=max_stream_data,
        )
        configuration.verify_mode = 0
        self.now_us = 0
        self.client = QuicConnection(configuration=configuration)
        self.log: list[Served] = []
        self.bodies: dict[int, bytearray] = {}
        self.headers: dict[int, Mapping[bytes, bytes]] = {}
        self.done: list[int] = []
        self.terminated: ConnectionTerminated | None = None
        self.writes: list[tuple[int, int, bool]] = []
        direction = Direction(rate_bps, delay_us, None, loss_ratio)
        self._links = {name: Link[bytes](direction, direction_rng(seed, name)) for name in ("up", "down")}
        self.client.connect(SERVER, now=0.0)
        self.h3 = H3Connection(self.client)
        server_configuration = QuicConfiguration(
            is_client=False,
            alpn_protocols=["h3"],
            certificate=certificate().certificate,
            private_key=certificate().private_key,
        )
        self.session = Session(
            configuration=server_configuration,
            scheme=configure(scheme, SCHEMES, catalog.load_mapping, mapping),
            responder=responder or Sizes(),  # type: ignore[arg-type]
            events=SessionEvents(lambda _: None, lambda _: None, self.log.append),
            number=1,
            now_s=0.0,
            original_destination_connection_id=self.client.original_destination_connection_id,
        )
        self._spy_on_writes()
        self._reached = False

    def _spy_on_writes(self) -> None:
        told = self.session.quic.sent

        def sent(stream_id: int, size_bytes: int, fin: bool) -> None:
            self.writes.append((stream_id, size_bytes, fin))
            told(stream_id, size_bytes, fin)

        self.session.quic.sent = sent

    @property
    def now_s(self) -> float:
        return self.now_us / 1_000_000

    def request(self, path: str, priority: str | None = None, destination: str | None = None, **more: str) -> int:
        stream_id = self.client.get_next_available_stream_id()
        fields = [
            (b":method", b"GET"),
            (b":scheme", b"https"),
            (b":authority", b"pair.test"),
            (b":path", path.encode()),
        ]
        if priority is not None:
            fields.append((b"priority", priority.encode()))
        if destination is not None:
            fields.append((b"sec-fetch-dest", destination.encode()))
        fields += [(name.encode(), value.encode()) for name, value in more.items()]
        self.h3.send_headers(stream_id, fields, end_stream=True)
        self.bodies[stream_id] = bytearray()
        return stream_id

    def update_priority(self, stream_id: int, value: str, frame_type: int = 0xF0700) -> None:
        payload = encode_uint_var(stream_id) + value.encode()
        self.send_control(encode_uint_var(frame_type) + encode_uint_var(len(payload)) + payload)

    def send_control(self, data: bytes) -> None:
        assert self.h3._local_control_stream_id is not None
        self.client.send_stream_data(self.h3._local_control_stream_id, data)

    def connect(self) -> Pair:
        """Finish the handshake and forget what was written meanwhile."""
        self.run(until_s=self.now_s + 1.0)
        self.writes.clear()
        return self

    def run(self, until_s: float = 600.0) -> Pair:
        """Move datagrams and time until nothing is left to do or the time is reached."""
        limit_us = round(until_s * 1_000_000)
        while True:
            self._transmit()
            due_us = self._next_us()
            if due_us is None or due_us > limit_us:
                self.now_us = max(self.now_us, limit_us) if due_us is not None else self.now_us
                return self
            self.now_us = max(self.now_us, due_us)
            self._arrive()

    def finish(self) -> Pair:
        """Run until all requested responses are complete (or ten minutes have passed)."""
        while len(self.done) < len(self.bodies) and self.now_s < 600 and self.terminated is None:
            self.run(until_s=self.now_s + 0.5)
        return self

    def _transmit(self) -> None:
        for data, _ in self.client.datagrams_to_send(now=self.now_s):
            self._links["up"].push(data, len(data) + 28, self.now_us)
        if not self._reached:
            return  # a server has nothing to say before it was spoken to
        for data, _ in self.session.send(self.now_s):
            self._links["down"].push(data, len(data) + 28, self.now_us)

    def _next_us(self) -> int | None:
        timers = [self.client.get_timer(), self.session.next_timer_s() if self._reached else None]
        due = [-(-int(timer * 1e9) // 1000) + 1 for timer in timers if timer is not None]
        due += [at for link in self._links.values() if (at := link.next_due_us()) is not None]
        return min(due) if due else None

    def _arrive(self) -> None:
        for data in self._links["up"].pop_due(self.now_us):
            self._reached = True
            self.session.receive(data, CLIENT, self.now_s)
        for data in self._links["down"].pop_due(self.now_us):
            self.client.receive_datagram(data, SERVER, now=self.now_s)
        timer = self.client.get_timer()
        if timer is not None and timer <= self.now_s:
            self.client.handle_timer(now=self.now_s)
        timer = self.session.next_timer_s()
        if self._reached and timer is not None and timer <= self.now_s:
            self.session.handle_timer(self.now_s)
        while (event := self.client.next_event()) is not None:
            self._take(event)

    def _take(self, event: QuicEvent) -> None:
        if isinstance(event, ConnectionTerminated):
            self.terminated = event
        if isinstance(event, StreamDataReceived) and event.end_stream and event.stream_id % 4 == 0:
            self.done.append(event.stream_id)
        for h3_event in self.h3.handle_event(event):
            if isinstance(h3_event, HeadersReceived):
                self.headers[h3_event.stream_id] = dict(h3_event.headers)
            elif isinstance(h3_event, DataReceived):
                self.bodies[h3_event.stream_id] += h3_event.data

    def blocks(self) -> list[int]:
        """The streams in the order of the frames written, runs of one stream as one."""
        return list(runs(stream_id for stream_id, _, _ in self.writes))


def runs(stream_ids: Iterator[int]) -> Iterator[int]:
    """1 1 1 2 2 1 -> 1 2 1."""
    last = None
    for stream_id in stream_ids:
        if stream_id != last:
            yield stream_id
        last = stream_id
