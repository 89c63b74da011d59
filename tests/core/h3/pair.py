"""Two connections in memory: aioquic as client, our session as server, joined by a link in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache

import numpy as np
from aioquic.buffer import Buffer, encode_uint_var
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived, StreamReset

from mixedsched.core.h3 import MAX_TRACE_BYTES
from mixedsched.core.h3.certificate import Certificate, make_repeatable_certificate
from mixedsched.core.h3.events import SessionEvents
from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.core.h3.qlog import QlogTrace, traced
from mixedsched.core.h3.response import BytesBody, Headers, RequestHead, Response
from mixedsched.core.h3.session import Session
from mixedsched.core.schedulers import SCHEMES
from mixedsched.core.sim._wire import SERVER, VirtualNetwork
from mixedsched.model.profile import Direction, Profile, RandomLoss
from mixedsched.model.scheme import configure
from mixedsched.world import catalog


class Sizes:
    """A responder whose paths are sizes: "/5000" and "/5000?x" answer with so many bytes."""

    def respond(self, head: RequestHead) -> Response:
        size_bytes = int(head.path.strip("/").partition("?")[0])
        fields = [(b"content-length", str(size_bytes).encode())]
        return Response(200, fields, BytesBody(pattern(size_bytes)), "image/png")


def pattern(size_bytes: int) -> bytes:
    """Bytes in which a piece at the wrong place shows."""
    return np.arange(size_bytes // 4 + 1, dtype=">u4").tobytes()[:size_bytes]


@cache
def certificate() -> Certificate:
    return make_repeatable_certificate(["pair.test"])


class _Client:
    """The pair's client as the wire wants it."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self.next_timer_s = pair.client.get_timer

    def receive(self, datagram: bytes, address: tuple[str, int], now_s: float) -> None:
        self._pair.client.receive_datagram(datagram, address, now=now_s)
        self._pair.take_events()

    def send(self, now_s: float) -> list[tuple[bytes, tuple[str, int]]]:
        return self._pair.client.datagrams_to_send(now=now_s)

    def handle_timer(self, now_s: float) -> None:
        self._pair.client.handle_timer(now=now_s)
        self._pair.take_events()


class Pair:
    """Drives both ends.

    writes: (stream ID, size, whether it is the last) of each STREAM frame of a response as it left the server. control: the
    server's control stream as it arrived. resets: error codes of streams that the server cut off. qlog: takes the records of a
    trace of the server's connection, `trace`.
    """

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
        client: QuicConnection | None = None,
        qlog: Callable[[bytes], object] | None = None,
        qlog_bytes: int = MAX_TRACE_BYTES,
    ) -> None:
        configuration = QuicConfiguration(
            is_client=True,
            alpn_protocols=["h3"],
            server_name="pair.test",
            max_data=max_data,
            max_stream_data=max_stream_data,
        )
        configuration.verify_mode = 0
        self.client = client or QuicConnection(configuration=configuration)
        self.log: list[ServedRequest] = []
        self.bodies: dict[int, bytearray] = {}
        self.headers: dict[int, Mapping[bytes, bytes]] = {}
        self.done: list[int] = []
        self.control = bytearray()
        self.resets: dict[int, int] = {}
        self.terminated: ConnectionTerminated | None = None
        self.writes: list[tuple[int, int, bool]] = []
        direction = Direction(rate_bps, delay_us, None, RandomLoss(loss_ratio))
        self.client.connect(SERVER, now=0.0)
        self.h3 = H3Connection(self.client)
        server_configuration = QuicConfiguration(
            is_client=False,
            alpn_protocols=["h3"],
            certificate=certificate().certificate,
            private_key=certificate().private_key,
        )
        events = SessionEvents(lambda _: None, lambda _: None, self.log.append)
        if qlog is not None:
            self.trace = QlogTrace(
                original_id=self.client.original_destination_connection_id,
                clock_s=lambda: self.now_s,
                write=qlog,  # type: ignore[arg-type]
                title="pair",
                limit_bytes=qlog_bytes,
            )
            server_configuration, events = traced(self.trace, server_configuration, events)
        self.session = Session(
            configuration=server_configuration,
            scheme=configure(scheme, SCHEMES, catalog.load_mapping, mapping),
            responder=responder or Sizes(),  # type: ignore[arg-type]
            events=events,
            number=1,
            now_s=0.0,
            original_destination_connection_id=self.client.original_destination_connection_id,
        )
        self._spy_on_writes()
        self._wire = VirtualNetwork(_Client(self), self.session, Profile("pair", "", "", direction, direction), seed)

    def _spy_on_writes(self) -> None:
        told = self.session.quic.sent

        def sent(stream_id: int, size_bytes: int, again_bytes: int, fin: bool) -> None:
            self.writes.append((stream_id, size_bytes, fin))
            told(stream_id, size_bytes, again_bytes, fin)

        self.session.quic.sent = sent

    @property
    def now_s(self) -> float:
        return self._wire.now_us / 1_000_000

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

    def send_request(self, fields: Headers, body: bytes | None = None, *, end_stream: bool = True) -> int:
        """A request with any fields, pseudo-header fields included, and a body if it is to have one."""
        stream_id = self.client.get_next_available_stream_id()
        self.h3.send_headers(stream_id, fields, end_stream=end_stream and body is None)
        if body is not None:
            self.h3.send_data(stream_id, body, end_stream=end_stream)
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
        self._wire.wake_all()
        self._wire.flush()
        while (due_us := self._wire.next_us()) is not None:
            if due_us > limit_us:
                self._wire.now_us = max(self._wire.now_us, limit_us)
                break
            self._wire.advance(due_us)
            self._wire.flush()
        return self

    def finish(self) -> Pair:
        """Run until all requested responses are complete (or ten minutes have passed)."""
        while len(self.done) < len(self.bodies) and self.now_s < 600 and self.terminated is None:
            self.run(until_s=self.now_s + 0.5)
        return self

    def take_events(self) -> None:
        while (event := self.client.next_event()) is not None:
            self._take(event)

    def _take(self, event: QuicEvent) -> None:
        if isinstance(event, ConnectionTerminated):
            self.terminated = event
        if isinstance(event, StreamReset):
            self.resets[event.stream_id] = event.error_code
        if isinstance(event, StreamDataReceived) and event.stream_id == 3:
            self.control += event.data
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


def pause(pair: Pair, seconds: float = 0.2) -> None:
    pair.run(until_s=pair.now_s + seconds)


def server_frames(pair: Pair) -> list[tuple[int, bytes]]:
    """Type and payload of each frame on the server's control stream."""
    buffer, frames = Buffer(data=bytes(pair.control)), []
    assert buffer.pull_uint_var() == 0
    while not buffer.eof():
        frame_type, size = buffer.pull_uint_var(), buffer.pull_uint_var()
        frames.append((frame_type, buffer.pull_bytes(size)))
    return frames
