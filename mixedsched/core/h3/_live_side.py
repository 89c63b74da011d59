"""The part of a session that speaks with a live responder."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from mixedsched.core.h3.codes import ErrorCode
from mixedsched.core.h3.events import BodyReceived, RequestEnded
from mixedsched.core.h3.exchange import ServedRequest, ServerExchange
from mixedsched.core.h3.live import LiveRequest, LiveResponder, Reply
from mixedsched.core.h3.response import GrowingBody, Headers, RequestHead, Response, close_body
from mixedsched.core.h3.tables import shrink

if TYPE_CHECKING:
    from mixedsched.core.h3.session import Session

UNANSWERED = Response(499, [])
"""Stands for the response until there is one; its status is what the log says if the client gives up before."""


class LiveSide:
    """Begins requests at the responder, and does what its replies say, one step of the session at a time."""

    def __init__(self, session: Session, responder: LiveResponder, woken: Callable[[], None]) -> None:
        self._session = session
        self._responder = responder
        self._woken = woken
        self._steps: list[Callable[[], None]] = []  # few at a time, and none in most connections
        self._requests: dict[int, LiveRequest] = {}

    def begin(self, exchange: ServerExchange, head: RequestHead) -> None:
        """A request has come. exchange: as yet without a response."""
        reply = Reply(exchange.stream_id, self._session.client, self._session.number, self, self._later)
        self._requests[exchange.stream_id] = self._responder.begin(head, reply)

    def received(self, event: BodyReceived) -> None:
        request = self._requests.get(event.stream_id)
        if request is not None:
            self._session.quic.hold_received(event.stream_id, len(event.data))
            request.receive(event.data)

    def ended(self, event: RequestEnded) -> None:
        request = self._requests.get(event.stream_id)
        if request is not None:
            request.end(event.trailers)

    def over(self, stream_id: int, record: ServedRequest) -> None:
        """A response was sent, or given up."""
        request = self._requests.pop(stream_id, None)
        if request is not None:
            self._session.quic.release_received(stream_id)
            http = self._session.http
            if http is not None and http.is_arriving(stream_id):
                self._later(partial(http.stop_reading, stream_id, ErrorCode.H3_NO_ERROR))
            request.over(record)

    def proceed(self) -> None:
        """Do what was said since the last step."""
        while self._steps:
            self._session.with_http(self._steps.pop(0))

    def shrink(self) -> None:
        """Give back the room of requests that are over."""
        shrink(self._requests)

    def _later(self, step: Callable[[], None]) -> None:
        if self._session.is_closed:
            return
        self._steps.append(step)
        if len(self._steps) == 1:
            self._woken()

    def _exchange(self, stream_id: int) -> ServerExchange | None:
        """The request, if it is not over and the client still wants its answer."""
        return self._session.exchange_under_way(stream_id) if stream_id in self._requests else None

    def inform(self, stream_id: int, status: int, fields: Headers) -> None:
        exchange = self._exchange(stream_id)
        if exchange is not None and not exchange.is_open and self._session.quic.awaits_response(stream_id):
            assert self._session.http is not None
            self._session.http.send_section(stream_id, [(b":status", str(status).encode()), *fields])

    def answer(self, stream_id: int, response: Response) -> None:
        exchange = self._exchange(stream_id)
        if exchange is None or exchange.is_open or not self._session.quic.awaits_response(stream_id):
            close_body(response.body)
            return
        if isinstance(response.body, GrowingBody):
            changed = partial(self._session.quic.body_changed, stream_id)
            response.body.changed = lambda: self._later(changed)
        self._session.open_answer(exchange, response)

    def finish(self, stream_id: int, trailers: Headers) -> None:
        exchange = self._exchange(stream_id)
        if exchange is not None and isinstance(exchange.response.body, GrowingBody):
            assert self._session.http is not None
            section = self._session.http.encode_section(stream_id, trailers) if trailers else b""
            exchange.response.body.end(section)
            self._session.quic.body_changed(stream_id)

    def abort(self, stream_id: int, error_code: ErrorCode) -> None:
        exchange = self._exchange(stream_id)
        if exchange is not None:
            assert self._session.http is not None
            self._session.http.stop_reading(stream_id, error_code)
            self._session.quic.reset_stream(stream_id, error_code)
            self._session.give_up(exchange)

    def took(self, stream_id: int, size_bytes: int) -> None:
        if stream_id in self._requests:
            self._session.quic.release_received(stream_id, size_bytes)
