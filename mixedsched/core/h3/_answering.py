"""The part of a session that turns requests into responses, and places them."""

import heapq
from collections.abc import Callable

from mixedsched.core.h3._http import HttpLayer
from mixedsched.core.h3._live_side import UNANSWERED, LiveSide
from mixedsched.core.h3._signals import PriorityUpdate, Signals, Trigger
from mixedsched.core.h3.events import (
    BodyReceived,
    HttpEvent,
    RequestEnded,
    RequestFailed,
    RequestReceived,
    RequestTooLarge,
    SessionEvents,
)
from mixedsched.core.h3.exchange import ServedRequest, ServerExchange
from mixedsched.core.h3.live import LiveResponder
from mixedsched.core.h3.response import GrowingBody, Headers, RequestHead, Responder, Response, close_body
from mixedsched.core.h3.seam import ScheduledConnection
from mixedsched.model.priority import Priority
from mixedsched.model.scheme import ConfiguredScheme


class Answering:
    """What a session keeps of requests and their responses; the session drives it.

    quic: the connection, http: its HTTP layer, once there is one; number: names the connection in logs. again_bytes:
    of responses, sent again because they were lost, or might be.
    """

    quic: ScheduledConnection

    def __init__(
        self,
        scheme: ConfiguredScheme,
        responder: Responder | LiveResponder,
        live: LiveSide | None,
        events: SessionEvents,
        number: int,
        now_s: float,
        own_fields: Callable[[], Headers],
    ) -> None:
        self.number = number
        self.again_bytes = 0
        self.http: HttpLayer | None = None
        self._scheme = scheme
        self._responder = responder
        self._live = live
        self._events = events
        self._own_fields = own_fields
        self._started_s = now_s
        self._now_s = now_s
        self._signals = Signals()
        self._exchanges: dict[int, ServerExchange] = {}
        self._most_exchanges = 0  # at once, since the tables were made smaller
        self._thinking: list[tuple[float, int]] = []  # heap of (when the response is due, stream ID)
        self._served: list[ServedRequest] = []  # records still to be reported

    def use_scheme(self, scheme: ConfiguredScheme) -> None:
        """Place responses by another mapping from now on. The scheduler must be of the same kind."""
        self._scheme = scheme

    def _take(self, event: HttpEvent) -> None:
        match event:
            case RequestReceived():
                self._answer(event.stream_id, event.head)
            case BodyReceived() if self._live is not None:
                self._live.received(event)
            case RequestEnded() if self._live is not None:
                self._live.ended(event)
            case RequestTooLarge():
                self._begin(event.stream_id, RequestHead("", "", "", []), self._plain(431))
            case RequestFailed():
                self._signals.forget(event.stream_id)
                if event.stream_id in self._exchanges:
                    self._finish(self._exchanges[event.stream_id], complete=False)
            case PriorityUpdate():
                self._update(event)

    def _update(self, update: PriorityUpdate) -> None:
        """Move a response under way, or keep the signal until its request arrives."""
        assert self.http is not None
        priority = update.priority(self.quic.request_stream_limit)
        stream_id = update.stream_id
        if priority is None or self.quic.is_discarded(stream_id):
            return
        exchange = self._exchanges.get(stream_id)
        if exchange is not None:
            before, exchange.signal = exchange.signal, exchange.signal.updated(priority)
            self._report(stream_id, before.priority, exchange.signal.priority, "update")
            if exchange.is_open and exchange.signal.priority != before.priority:
                self._place(exchange)
                self.quic.reprioritize(stream_id, exchange.placement)
        elif self.http.awaits_request(stream_id):
            self._report(stream_id, self._signals.early(stream_id), priority, "update")
            self._signals.keep(stream_id, priority)

    def _report(self, stream_id: int, old: Priority | None, new: Priority, trigger: Trigger) -> None:
        if self._events.priority_updated is not None and old != new:
            self._events.priority_updated(self._now_s, stream_id, old, new, trigger)

    def _answer(self, stream_id: int, head: RequestHead) -> None:
        """Find the response to a request and begin to send it, or to think about it."""
        if self.quic.awaits_response(stream_id):  # else the client has cancelled it
            if head.method == "CONNECT" and head.protocol is None:
                self._begin(stream_id, head, self._plain(501))
            elif isinstance(self._responder, LiveResponder):
                self._begin(stream_id, head, UNANSWERED)
            else:
                self._begin(stream_id, head, self._responder.respond(head))

    def _begin(self, stream_id: int, head: RequestHead, response: Response) -> None:
        signal = self._signals.of_request(stream_id, head)
        if signal.by == "field":
            self._report(stream_id, None, signal.priority, "header")
        answered = signal.answered(response.fields)
        self._report(stream_id, signal.priority, answered.priority, "response")
        exchange = ServerExchange(stream_id, head, response, answered, self._now_s)
        self._exchanges[stream_id] = exchange
        self._most_exchanges = max(self._most_exchanges, len(self._exchanges))
        if response is UNANSWERED and self._live is not None:
            self._live.begin(exchange, head)
        elif response.delay_ms > 0:
            heapq.heappush(self._thinking, (self._now_s + response.delay_ms / 1000, stream_id))
        else:
            self._open(exchange)

    def exchange_under_way(self, stream_id: int) -> ServerExchange | None:
        """A request whose response was not sent completely, nor given up."""
        exchange = self._exchanges.get(stream_id)
        return exchange if exchange is not None and not exchange.is_over else None

    def open_answer(self, exchange: ServerExchange, response: Response) -> None:
        """The response to a request that a live responder had to think about."""
        before = exchange.signal.priority
        exchange.response, exchange.signal = response, exchange.signal.answered(response.fields)
        self._report(exchange.stream_id, before, exchange.signal.priority, "response")
        self._open(exchange)

    def give_up(self, exchange: ServerExchange) -> None:
        """The rest of a response will not be sent; its stream was reset."""
        self._finish(exchange, complete=False)

    def _open(self, exchange: ServerExchange) -> None:
        """Place a response and hand it to the scheduler: head now, body when its turn comes."""
        assert self.http is not None
        stream_id = exchange.stream_id
        if exchange.is_over or not self.quic.awaits_response(stream_id):
            return
        exchange.is_open = True
        body = exchange.body
        self._place(exchange)
        self.quic.open_response(stream_id, exchange.placement, body)
        fields = [(b":status", str(exchange.response.status).encode()), *exchange.response.fields]
        if isinstance(body, GrowingBody):
            self.http.send_section(stream_id, fields)
        else:
            self.http.send_head(stream_id, fields, body.size_bytes if body is not None else None)

    def _place(self, exchange: ServerExchange) -> None:
        exchange.place(self._scheme)
        self.quic.set_urgency(exchange.stream_id, exchange.signal.priority.urgency)
        for observer in self._events.decisions:
            observer.placed(self._now_s, exchange.stream_id, exchange.request, exchange.placement_text)

    def _note_sent(self, stream_id: int, size_bytes: int, again_bytes: int, fin: bool) -> None:
        for observer in self._events.decisions:
            observer.scheduled(self._now_s, stream_id, size_bytes, again_bytes, self.quic.packet)
        self.again_bytes += again_bytes
        exchange = self._exchanges.get(stream_id)
        if exchange is None or exchange.is_over:
            return
        if exchange.first_byte_s is None:
            exchange.first_byte_s = self._now_s
        exchange.sent_bytes += size_bytes
        if fin:
            exchange.last_byte_s = self._now_s
            self._finish(exchange, complete=True)

    def _finish(self, exchange: ServerExchange, complete: bool) -> None:
        """Nothing new is sent of a response any more: note what became of it, once."""
        if exchange.is_over:
            return
        exchange.is_over = True
        close_body(exchange.response.body)
        self._served.append(exchange.record(self.number, self._scheme, self._started_s, complete=complete))

    def _plain(self, status: int) -> Response:
        """A response of the session's own, without a body."""
        return Response(status, [(b"content-length", b"0"), *self._own_fields()])
