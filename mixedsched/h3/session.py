"""One client's HTTP/3 connection, without sockets and clocks: the same class behind real UDP and in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import (
    ConnectionIdIssued,
    ConnectionIdRetired,
    ConnectionTerminated,
    ProtocolNegotiated,
    QuicEvent,
    StopSendingReceived,
    StreamDataReceived,
    StreamReset,
)

from mixedsched.h3.control import ControlStreamError, PriorityUpdate, UnidirectionalStreamReader
from mixedsched.h3.response import RequestHead, Responder, Response
from mixedsched.h3.seam import ScheduledConnection
from mixedsched.h3.signals import Signals, updated_priority
from mixedsched.request import Request, chromium_priority_of, kind_of_destination, kind_of_mime
from mixedsched.scheme import ConfiguredScheme

Address = tuple[Any, ...]

H3_NO_ERROR = 0x100
H3_INTERNAL_ERROR = 0x102


@dataclass(frozen=True, slots=True)
class Served:
    """What became of a request: a line of the server's log.

    signal, signalled_by: what the client wanted and how it said so; placement: what the scheme made of it, as text.
    Times are ms since the connection's first packet. sent_bytes: stream data up to the moment when the last byte first
    left, with what had to be sent again by then. complete: that moment came, as opposed to cancelled by the client or cut
    off by the end of the connection.
    """

    connection: int
    stream_id: int
    method: str
    authority: str
    path: str
    status: int
    kind: str
    chromium_priority: str
    signal: str
    signalled_by: str
    scheme: str
    placement: str
    body_bytes: int
    sent_bytes: int
    requested_ms: float
    first_byte_ms: float | None
    last_byte_ms: float | None
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class _Exchange:
    """A request under way and its response."""

    head: RequestHead
    response: Response
    request: Request
    signalled_by: str
    requested_s: float
    sent_bytes: int = 0
    first_byte_s: float | None = None
    last_byte_s: float | None = None


@dataclass(frozen=True, slots=True)
class SessionEvents:
    """Whom a session tells what: connection IDs that lead to it, and requests that are over."""

    connection_id_issued: Callable[[bytes], None]
    connection_id_retired: Callable[[bytes], None]
    served: Callable[[Served], None]


class Session:
    """Feeds one connection: datagrams and time in, datagrams and the next timer out.

    number: names the connection in logs. All times are seconds of one clock, whichever the caller drives it with.
    arguments: passed on to aioquic's QuicConnection (original_destination_connection_id and the like).
    """

    def __init__(
        self,
        *,
        configuration: QuicConfiguration,
        scheme: ConfiguredScheme,
        responder: Responder,
        events: SessionEvents,
        number: int,
        now_s: float,
        **arguments: Any,
    ) -> None:
        self.quic = ScheduledConnection(
            configuration=configuration,
            scheduler=scheme.create_scheduler(),
            sent=self._note_sent,
            discarded=self._forget,
            **arguments,
        )
        self.is_closed = False
        self._scheme = scheme
        self._responder = responder
        self._events = events
        self._number = number
        self._started_s = now_s
        self._now_s = now_s
        self._h3: H3Connection | None = None
        self._readers: dict[int, UnidirectionalStreamReader] = {}
        self._signals = Signals()
        self._exchanges: dict[int, _Exchange] = {}
        self._served: list[Served] = []  # not told yet

    def receive(self, datagram: bytes, address: Address, now_s: float) -> None:
        """Take a datagram and act on what it brought."""
        self._now_s = now_s
        self.quic.receive_datagram(datagram, address, now=now_s)
        self._process_events()

    def send(self, now_s: float) -> list[tuple[bytes, Address]]:
        """The datagrams that may leave now, and where to."""
        self._now_s = now_s
        datagrams = self.quic.datagrams_to_send(now=now_s)
        self._tell()
        return datagrams

    def next_timer_s(self) -> float | None:
        """When handle_timer wants to be called, if nothing happens before."""
        return self.quic.get_timer()

    def handle_timer(self, now_s: float) -> None:
        self._now_s = now_s
        self.quic.handle_timer(now=now_s)
        self._process_events()

    def close(self, error_code: int = H3_NO_ERROR) -> None:
        """Begin to close the connection; `send` has the packet that says so."""
        self.quic.close(error_code=error_code, reason_phrase="")

    def _process_events(self) -> None:
        while (event := self.quic.next_event()) is not None:
            self._handle(event)
        self._tell()

    def _tell(self) -> None:
        """Report what is over, but not from inside aioquic's packet writer, which a failing listener must not disturb."""
        served, self._served = self._served, []
        for item in served:
            self._events.served(item)

    def _handle(self, event: QuicEvent) -> None:
        match event:
            case ProtocolNegotiated():
                self._h3 = H3Connection(self.quic)  # its SETTINGS go out with the handshake
            case ConnectionIdIssued():
                self._events.connection_id_issued(event.connection_id)
            case ConnectionIdRetired():
                self._events.connection_id_retired(event.connection_id)
            case ConnectionTerminated():
                self.is_closed = True
                for stream_id in tuple(self._exchanges):
                    self._finish(stream_id, complete=False)
            case StreamDataReceived() | StopSendingReceived() | StreamReset():
                self._handle_stream_event(event)
            case _:
                pass

    def _handle_stream_event(self, event: StreamDataReceived | StopSendingReceived | StreamReset) -> None:
        assert self._h3 is not None, "streams carry data after the handshake only"
        if isinstance(event, StreamDataReceived) and event.stream_id % 4 == 2:
            self._read_control(event)
        for h3_event in self._h3.handle_event(event):
            if isinstance(h3_event, HeadersReceived) and self.quic.awaits_response(h3_event.stream_id):
                self._answer(h3_event)  # as opposed to trailers
        if isinstance(event, StopSendingReceived) and event.stream_id in self._exchanges:
            self._finish(event.stream_id, complete=False)

    def _read_control(self, event: StreamDataReceived) -> None:
        reader = self._readers.setdefault(event.stream_id, UnidirectionalStreamReader())
        try:
            for update in reader.feed(event.data):
                self._update(update)
        except ControlStreamError as error:
            self.quic.close(error_code=error.error_code, reason_phrase=str(error))
        if event.end_stream:
            del self._readers[event.stream_id]

    def _update(self, update: PriorityUpdate) -> None:
        """Move a response under way, or keep the signal until its request arrives."""
        priority = updated_priority(update, self.quic.request_stream_limit)
        if priority is None or self.quic.is_discarded(update.stream_id):
            return
        exchange = self._exchanges.get(update.stream_id)
        if exchange is not None:
            exchange.request = replace(
                exchange.request,
                signal=priority,
                signalled=True,
                chromium_priority=chromium_priority_of(priority),
            )
            exchange.signalled_by = "update"
            self.quic.reprioritize(update.stream_id, self._scheme.place(exchange.request))
        elif not self.quic.has_response(update.stream_id):
            self._signals.keep(update.stream_id, priority)

    def _forget(self, stream_id: int) -> None:
        """A stream is over."""
        self._signals.forget(stream_id)
        self._readers.pop(stream_id, None)
        if stream_id in self._exchanges:
            self._finish(stream_id, complete=False)

    def _answer(self, event: HeadersReceived) -> None:
        """Place a request and hand its response to the scheduler: headers now, body when its turn comes."""
        assert self._h3 is not None
        head = _read_head(event)
        response = self._responder.respond(head)
        signal = self._signals.of_request(event.stream_id, head)
        body_bytes = response.body.size_bytes if response.body is not None else 0
        request = Request(
            stream_id=event.stream_id,
            path=head.path,
            kind=kind_of_destination(head.field(b"sec-fetch-dest")) or response.kind or kind_of_mime(response.mime),
            signal=signal.priority,
            signalled=signal.by != "default",
            chromium_priority=chromium_priority_of(signal.priority),
            mime=response.mime,
            body_bytes=body_bytes,
            flags=response.flags,
        )
        self._exchanges[event.stream_id] = _Exchange(head, response, request, signal.by, self._now_s)
        self.quic.open_response(event.stream_id, self._scheme.place(request), response.body)
        fields = [(b":status", str(response.status).encode()), *response.fields]
        self._h3.send_headers(event.stream_id, fields, end_stream=True)

    def _note_sent(self, stream_id: int, size_bytes: int, fin: bool) -> None:
        exchange = self._exchanges.get(stream_id)
        if exchange is None:
            return
        if exchange.first_byte_s is None:
            exchange.first_byte_s = self._now_s
        exchange.sent_bytes += size_bytes
        if fin:
            exchange.last_byte_s = self._now_s
            self._finish(stream_id, complete=True)

    def _finish(self, stream_id: int, complete: bool) -> None:
        exchange = self._exchanges.pop(stream_id)
        self._signals.forget(stream_id)
        request = exchange.request
        self._served.append(
            Served(
                connection=self._number,
                stream_id=stream_id,
                method=exchange.head.method,
                authority=exchange.head.authority,
                path=exchange.head.path,
                status=exchange.response.status,
                kind=request.kind,
                chromium_priority=request.chromium_priority,
                signal=str(request.signal),
                signalled_by=exchange.signalled_by,
                scheme=self._scheme.label,
                placement=_placement_text(self._scheme.place(request)),
                body_bytes=request.body_bytes,
                sent_bytes=exchange.sent_bytes,
                requested_ms=self._since_start_ms(exchange.requested_s),
                first_byte_ms=self._since_start_ms(exchange.first_byte_s),
                last_byte_ms=self._since_start_ms(exchange.last_byte_s),
                complete=complete,
            )
        )

    def _since_start_ms(self, at_s: float | None) -> Any:
        return None if at_s is None else round((at_s - self._started_s) * 1000, 3)


def _placement_text(placement: object) -> str:
    return "-" if placement is None else str(placement)


def _read_head(event: HeadersReceived) -> RequestHead:
    """aioquic has checked the pseudo-header fields already."""
    pseudo = {name.decode(): value.decode("latin-1") for name, value in event.headers if name.startswith(b":")}
    fields = [(name, value) for name, value in event.headers if not name.startswith(b":")]
    return RequestHead(pseudo.get(":method", ""), pseudo.get(":authority", ""), pseudo.get(":path", ""), fields)
