"""One client's HTTP/3 connection, without sockets and clocks: the same class behind real UDP and in virtual time."""

import heapq
from collections.abc import Callable
from functools import partial
from typing import Any

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

from mixedsched.core.h3._answering import Answering
from mixedsched.core.h3._http import HttpLayer
from mixedsched.core.h3._live_side import LiveSide
from mixedsched.core.h3.codes import ErrorCode, Http3Error
from mixedsched.core.h3.events import RequestFailed, SessionEvents
from mixedsched.core.h3.live import LiveResponder
from mixedsched.core.h3.response import Headers, Responder
from mixedsched.core.h3.seam import ScheduledConnection
from mixedsched.core.h3.tables import MANY
from mixedsched.model.scheduler import Scheduler
from mixedsched.model.scheme import ConfiguredScheme

Address = tuple[Any, ...]

SHUT_DOWN_GRACE_S = 5.0


class Session(Answering):
    """Feeds one connection: datagrams and time in, datagrams and the next timer out.

    number: names the connection in logs. All times are seconds of the caller's clock. scheduler: used instead of one of its
    own, see h3.shared; of the same scheme. own_fields: of responses that are not the responder's, such as their date.
    arguments: passed on to aioquic's QuicConnection (such as original_destination_connection_id).
    """

    def __init__(
        self,
        *,
        configuration: QuicConfiguration,
        scheme: ConfiguredScheme,
        responder: Responder | LiveResponder,
        events: SessionEvents,
        number: int,
        now_s: float,
        scheduler: Scheduler[Any] | None = None,
        own_fields: Callable[[], Headers] = list,
        **arguments: Any,
    ) -> None:
        live = LiveSide(self, responder, events.woken) if isinstance(responder, LiveResponder) else None
        super().__init__(scheme, responder, live, events, number, now_s, own_fields)
        self.quic = ScheduledConnection(
            configuration=configuration,
            scheduler=scheme.create_scheduler() if scheduler is None else scheduler,
            sent=self._note_sent,
            discarded=self._note_discarded,
            **arguments,
        )
        self.is_closed = False
        self._leave_by_s: float | None = None  # shutting down
        self._is_failed = False  # the client broke a rule: nothing more is read
        self._discarded: list[int] = []  # streams that are over and still to be forgotten
        self.client = ""  # its IP address, as of the last datagram

    def receive(self, datagram: bytes, address: Address, now_s: float) -> None:
        """Take a datagram and act on what it brought."""
        self._now_s = now_s
        self.client = str(address[0]) if address else ""
        self.quic.receive_datagram(datagram, address, now=now_s)
        self._process_events()

    def send(self, now_s: float) -> list[tuple[bytes, Address]]:
        """The datagrams that may leave now, and where to."""
        self._now_s = now_s
        if self._live is not None and not self.is_closed:
            self._live.proceed()
        datagrams = self.quic.datagrams_to_send(now=now_s)
        self._forget_discarded()
        if self._leave_by_s is not None and self._may_leave(self._leave_by_s):
            self.close()
            datagrams += self.quic.datagrams_to_send(now=now_s)
        self._tell()
        return datagrams

    def next_timer_s(self) -> float | None:
        """When handle_timer wants to be called, if nothing happens before."""
        timers = [self.quic.get_timer()]
        if not self.is_closed:
            timers += [self._thinking[0][0] if self._thinking else None, self._leave_by_s]
        return min((at_s for at_s in timers if at_s is not None), default=None)

    def handle_timer(self, now_s: float) -> None:
        """Do what was due by now."""
        self._now_s = now_s
        quic_timer_s = self.quic.get_timer()
        if quic_timer_s is not None and quic_timer_s <= now_s:
            self.quic.handle_timer(now=now_s)
        self._process_events()

    def close(self, error_code: int = ErrorCode.H3_NO_ERROR) -> None:
        """Begin to close the connection at once; `send` has the packet that says so."""
        self._leave_by_s = None
        self._thinking.clear()
        self.quic.close(error_code=error_code, reason_phrase="")

    def abandon(self) -> None:
        """This session will not be driven any more: report what was under way as cut off."""
        self._end()
        self._tell()

    @property
    def is_stalled(self) -> bool:
        """Whether nothing new can be sent for longer than the congestion window and the pacer take: the client has been silent
        for a probe timeout or grants no credit, or the connection is closing."""
        quic = self.quic
        return quic.is_probing or quic.credit_bytes <= 0 or quic.has_ended or self.is_closed

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will be sent; until `is_closed`, stray packets may still come."""
        return self.quic.has_ended

    def shut_down(self, now_s: float, grace_s: float = SHUT_DOWN_GRACE_S) -> None:
        """Begin a graceful shutdown: refuse requests from now on, finish those that have come, then close.

        The client is told with GOAWAY (RFC 9114 section 5.2). What is not over after `grace_s` is cut off. `send` and the
        timers must be served as before, until `is_closed`. Calling it again changes nothing.
        """
        self._now_s = now_s
        if self._leave_by_s is not None or self.is_closed:
            return
        if self.http is None:
            self.close()
            return
        self._leave_by_s = now_s + grace_s
        self.with_http(self.http.send_goaway)

    def _may_leave(self, leave_by_s: float) -> bool:
        """Whether all that was begun is over and acknowledged, or its time is."""
        assert self.http is not None
        return self._now_s >= leave_by_s or not (self._exchanges or self.http.is_reading)

    def _end(self) -> None:
        self.is_closed = True
        for exchange in self._exchanges.values():
            self._finish(exchange, complete=False)
        self._exchanges.clear()

    def _process_events(self) -> None:
        while (event := self.quic.next_event()) is not None:
            self._handle(event)
        while self._thinking and self._thinking[0][0] <= self._now_s:
            _, stream_id = heapq.heappop(self._thinking)
            if stream_id in self._exchanges:
                self.with_http(partial(self._open, self._exchanges[stream_id]))
        self._tell()

    def _tell(self) -> None:
        """Report what is over, but not from inside aioquic's packet writer, which a failing callback must not disturb."""
        served, self._served = self._served, []
        for item in served:
            self._events.served(item)
            if self._live is not None:
                self._live.over(item.stream_id, item)

    def _handle(self, event: QuicEvent) -> None:
        match event:
            case ProtocolNegotiated():
                # Its SETTINGS go out with the handshake.
                self.http = HttpLayer(self.quic, self._now_s, self._events.frames, is_live=self._live is not None)
            case ConnectionIdIssued():
                self._events.connection_id_issued(event.connection_id)
            case ConnectionIdRetired():
                self._events.connection_id_retired(event.connection_id)
            case ConnectionTerminated():
                self._end()
            case StreamDataReceived() | StopSendingReceived() | StreamReset():
                self.with_http(partial(self._handle_stream_event, event))
            case _:
                pass

    def with_http(self, step: Callable[[], None]) -> None:
        """Take a step of HTTP/3. If it shows that the client broke a rule, close the connection and take no further steps."""
        if self._is_failed:
            return
        try:
            step()
        except Http3Error as error:
            self._is_failed = True
            self.quic.close(error_code=error.error_code, reason_phrase=str(error))

    def _handle_stream_event(self, event: StreamDataReceived | StopSendingReceived | StreamReset) -> None:
        assert self.http is not None, "streams carry data after the handshake only"
        match event:
            case StreamDataReceived():
                received = self.http.receive(event.stream_id, event.data, event.end_stream, self._now_s)
            case StreamReset():
                received = self.http.reset(event.stream_id, self._now_s)
                if received and self.exchange_under_way(event.stream_id) is not None:
                    # No answer will come, or no more of it.
                    self.quic.reset_stream(event.stream_id, ErrorCode.H3_REQUEST_CANCELLED)
            case StopSendingReceived():
                self.http.stopped(event.stream_id, self._now_s)
                received = [RequestFailed(event.stream_id, ErrorCode.H3_REQUEST_CANCELLED)]
        for item in received:
            self._take(item)

    def _note_discarded(self, stream_id: int) -> None:
        """A stream is over, both ways. Called while a packet is written, so that nothing may be sent for it now."""
        self._discarded.append(stream_id)

    def _forget_discarded(self) -> None:
        if not self._discarded:
            return
        discarded, self._discarded = self._discarded, []
        for stream_id in discarded:
            self._signals.forget(stream_id)
            if self.http is not None:
                self.with_http(partial(self.http.forget, stream_id))
            exchange = self._exchanges.pop(stream_id, None)
            if exchange is not None:
                self._finish(exchange, complete=False)
                if exchange.is_open:
                    for observer in self._events.decisions:
                        observer.closed(self._now_s, stream_id)
        if self._most_exchanges >= MANY and not self._exchanges:
            self._shrink()

    def _shrink(self) -> None:
        """A page is loaded: what it took on the way is given back."""
        self._most_exchanges = 0
        self._exchanges.clear()
        self.quic.shrink()
        if self.http is not None:
            self.http.shrink()
        if self._live is not None:
            self._live.shrink()
