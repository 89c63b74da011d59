"""An HTTP/3 client that plays a page: asks for what is found, with Chromium's signals, and notes when what arrives."""

import ssl
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, QuicEvent, StreamDataReceived
from aioquic.tls import CipherSuite

from mixedsched.core.h3.codes import FrameType
from mixedsched.core.h3.response import Headers
from mixedsched.core.h3.seam import ObservedConnection
from mixedsched.core.metrics.hol import HolCounter
from mixedsched.core.sim._ordered import OrderedReceiver, is_response
from mixedsched.core.sim._responder import PAGE_HOST, Address
from mixedsched.core.sim._wire import SERVER
from mixedsched.core.sim._withheld import playback_of
from mixedsched.core.sim.playback import Discoveries
from mixedsched.core.sim.requests import signal_of
from mixedsched.model.page import Resource
from mixedsched.model.request import Kind

StreamFrames = list[tuple[int, int, int]]

MAX_HELD_PACKETS = 65_536  # until they are in order: far more than overtake each other on any link that people have
# Chromium's receive windows (net/quic: 15 MB for a session, 6 MB for a stream).
CONNECTION_WINDOW_BYTES = 15 * 1024 * 1024
STREAM_WINDOW_BYTES = 6 * 1024 * 1024

CIPHER_SUITES = [CipherSuite.AES_128_GCM_SHA256]  # the cheapest; sizes are the same with all

_DESTINATIONS = {
    Kind.DOCUMENT: "iframe",  # but for the main document
    Kind.STYLESHEET: "style",
    Kind.FONT: "font",
    Kind.SCRIPT: "script",
    Kind.IMAGE: "image",
    Kind.MEDIA: "video",
    Kind.XHR: "empty",
    Kind.OTHER: "manifest",
}


class PacketsByNumber:
    """Holds packets until no lower number is expected any more: `take` them as they come, then `finish`.

    pass_on: told (number, frames) in rising order. One that comes after so many higher ones that it cannot be put in order any
    more is left out, and so looks lost.
    """

    def __init__(self, pass_on: Callable[[int, StreamFrames], object], max_held: int = MAX_HELD_PACKETS) -> None:
        self._pass_on = pass_on
        self._max_held = max_held
        self._held: list[tuple[int, StreamFrames]] = []  # a heap; behind a gap
        self._next_number = 0

    def take(self, number: int, frames: StreamFrames) -> None:
        """Each number comes at most once."""
        if number < self._next_number:
            return
        heappush(self._held, (number, frames))
        while self._held and (self._held[0][0] == self._next_number or len(self._held) > self._max_held):
            self._pass_first_on()

    def finish(self) -> None:
        """Nothing more will come."""
        while self._held:
            self._pass_first_on()

    def _pass_first_on(self) -> None:
        number, frames = heappop(self._held)
        self._next_number = number + 1
        self._pass_on(number, frames)


@dataclass(slots=True)
class Exchange:
    """A request and what has come of its response."""

    index: int
    """The resource's place in the page."""
    requested_us: int
    first_byte_us: int | None = None
    complete_us: int | None = None
    body_bytes: int = 0


class PageClient:
    """Feeds one connection as `Session` does at the other end, times in seconds; the owner of the clock asks it for requests.

    A request that is due leaves as soon as the handshake is complete and the server grants a stream; those that wait for
    a stream leave in the order in which they were found. exchanges: in order of request, which is that of stream IDs.
    stream_bytes: of responses, in order and without repeats, headers included. connected_us: when the handshake was complete.
    tells: whether requests say where they come from, too. raises: whether images that layout finds in view are raised while
    under way; so they are with `tells`.
    hol: complete after `finish`, if packets may come reordered. ordered: may keep responses from the page; set by those who
    have both ends.
    """

    def __init__(
        self,
        discoveries: Discoveries,
        addresses: Sequence[Address],
        congestion_control: str,
        idle_timeout_s: float,
        *,
        reordered: bool = False,
        tells: bool = False,
        raises: bool = False,
    ) -> None:
        self.hol = HolCounter()
        self._by_number = PacketsByNumber(self.hol.packet)
        self.exchanges: list[Exchange] = []
        self.stream_bytes = 0
        self.connected_us: int | None = None
        self.terminated: ConnectionTerminated | None = None
        self.ordered: OrderedReceiver | None = None
        self._page = discoveries.page
        self._addresses = addresses
        self._playback = playback_of(discoveries)
        self._tells, self._raises = tells, raises or tells
        self._parents = self._referrers() if tells else ()
        self._waiting: deque[int] = deque()  # due, but without a stream yet
        self.quic = ObservedConnection(
            configuration=QuicConfiguration(
                is_client=True,
                alpn_protocols=["h3"],
                server_name=PAGE_HOST,
                verify_mode=ssl.CERT_NONE,
                cipher_suites=CIPHER_SUITES,
                congestion_control_algorithm=congestion_control,
                idle_timeout=idle_timeout_s,
                max_data=CONNECTION_WINDOW_BYTES,
                max_stream_data=STREAM_WINDOW_BYTES,
            ),
            received=self._by_number.take if reordered else self.hol.packet,
        )
        self.quic.connect(SERVER, now=0.0)
        self._control_id = self.quic.get_next_available_stream_id(is_unidirectional=True)
        self._h3 = H3Connection(self.quic)  # opens the control stream first

    @property
    def is_finished(self) -> bool:
        """Whether every resource of the page that is awaited is complete."""
        return self._playback.is_finished

    def finish(self) -> None:
        """Nothing more will arrive."""
        self._by_number.finish()

    def next_request_us(self) -> int | None:
        """When `send_requests` has something to do, if nothing happens before."""
        if self.connected_us is None or self.quic.request_credit <= 0:
            return None
        return self.connected_us if self._waiting else self._playback.next_due_us()

    def send_requests(self, now_us: int) -> None:
        """Ask for what is due, as far as streams are granted."""
        if self.connected_us is None:
            return
        self._waiting.extend(self._playback.pop_due(now_us))
        while self._waiting and self.quic.request_credit > 0:
            self._request(self._waiting.popleft(), now_us)
        if self._raises:
            self._raise(self._playback.take_raised())

    def _request(self, index: int, now_us: int) -> None:
        stream_id = self.quic.get_next_available_stream_id()
        resource = self._playback.resource(index)
        priority = signal_of(resource).field_value().encode()
        if priority:
            self._signal(stream_id, priority)
        self._h3.send_headers(stream_id, self._fields(index, resource, priority), end_stream=True)
        self.exchanges.append(Exchange(index, now_us))

    def _signal(self, stream_id: int, priority: bytes) -> None:
        payload = encode_uint_var(stream_id) + priority
        frame = encode_uint_var(FrameType.PRIORITY_UPDATE_REQUEST) + encode_uint_var(len(payload)) + payload
        self.quic.send_stream_data(self._control_id, frame)

    def _raise(self, raised: Mapping[int, Resource]) -> None:
        """Say that these are more urgent than they were asked for as, where they are still under way."""
        streams = {item.index: 4 * place for place, item in enumerate(self.exchanges) if item.complete_us is None}
        for index, resource in raised.items():
            if index in streams:
                self._signal(streams[index], signal_of(resource).field_value().encode())

    def _referrers(self) -> tuple[str | None, ...]:
        """Where each request comes from: the style sheet that names it, else the document."""
        places = {item.id: place for place, item in enumerate(self._page.resources)}
        main = places[self._page.main.id]

        def of(item: Resource) -> str | None:
            if item is self._page.main:
                return None
            parent = main if item.found_by is None else places[item.found_by]
            by_style = self._page.resources[parent].kind is Kind.STYLESHEET
            authority, path = self._addresses[parent if by_style else main]
            return f"https://{authority}{path}"

        return tuple(of(item) for item in self._page.resources)

    def _fields(self, index: int, resource: Resource, priority: bytes) -> Headers:
        authority, path = self._addresses[index]
        destination = "document" if resource is self._page.main else _DESTINATIONS[resource.kind]
        fields: Headers = [
            (b":method", b"GET"),
            (b":authority", authority.encode()),
            (b":scheme", b"https"),
            (b":path", path.encode()),
            (b"sec-fetch-dest", destination.encode()),
        ]
        if priority:
            fields.append((b"priority", priority))
        referrer = self._parents[index] if self._tells else None
        if referrer is not None:
            fields.append((b"referer", referrer.encode()))
        return fields

    def receive(self, datagram: bytes, address: tuple[str, int], now_s: float) -> None:
        self.quic.receive_datagram(datagram, address, now=now_s)
        self._process_events(now_s)

    def send(self, now_s: float) -> list[tuple[bytes, tuple[str, int]]]:
        return self.quic.datagrams_to_send(now=now_s)

    def next_timer_s(self) -> float | None:
        return self.quic.get_timer()

    def handle_timer(self, now_s: float) -> None:
        self.quic.handle_timer(now=now_s)
        self._process_events(now_s)

    def _process_events(self, now_s: float) -> None:
        now_us = round(now_s * 1_000_000)
        while (event := self.quic.next_event()) is not None:
            self._handle(event, now_us)

    def _handle(self, event: QuicEvent, now_us: int) -> None:
        if isinstance(event, HandshakeCompleted):
            self.connected_us = now_us
        elif isinstance(event, ConnectionTerminated):
            self.terminated = event
        elif isinstance(event, StreamDataReceived):
            if is_response(event.stream_id):
                self.stream_bytes += len(event.data)
            read, ordered = self._h3.handle_event, self.ordered
            arrivals = [(event.stream_id, read(event))] if ordered is None else ordered.receive(event, read)
            for stream_id, h3_events in arrivals:
                if is_response(stream_id) and self.exchanges[stream_id // 4].first_byte_us is None:
                    self.exchanges[stream_id // 4].first_byte_us = now_us
                for h3_event in h3_events:
                    self._take(h3_event, now_us)

    def _take(self, event: H3Event, now_us: int) -> None:
        if not isinstance(event, HeadersReceived | DataReceived):
            return
        exchange = self.exchanges[event.stream_id // 4]
        if isinstance(event, DataReceived):
            exchange.body_bytes += len(event.data)
        if event.stream_ended:
            size_bytes = self._page.resources[exchange.index].body_bytes
            assert exchange.body_bytes == size_bytes, "the responder and HTTP/3 see to it"
            exchange.complete_us = now_us
            self._playback.completed(exchange.index, now_us)
        else:
            self._playback.delivered(exchange.index, exchange.body_bytes, now_us)
