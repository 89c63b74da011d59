"""One request on its way through the edge: from the client's stream to the origin, and its response back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from email.utils import formatdate
from typing import TYPE_CHECKING

from mixedsched.core.h3.appending import (
    ScriptAppender,
    changed_fields,
    for_plain_document,
    forbidden_by,
    is_plain_document,
    takes_gzip,
    wants_script,
)
from mixedsched.core.h3.codes import ErrorCode
from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.core.h3.forwarding import (
    BadAnswerError,
    content_length_of,
    plain_address,
    request_fields,
    response_fields,
    trailer_fields,
)
from mixedsched.core.h3.live import Reply
from mixedsched.core.h3.response import Headers, RequestHead, Response
from mixedsched.core.h3.websockets import why_not_accepted
from mixedsched.model.priority import parse_field
from mixedsched.world.edge._inflow import Inflow
from mixedsched.world.edge._origin import OriginEvents, OriginFault, OriginRequest, OriginStream
from mixedsched.world.server.beacons import SCRIPT_BYTES
from mixedsched.world.server.clients import client_of

if TYPE_CHECKING:
    from mixedsched.world.edge.responder import Edge

_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})  # RFC 9110 section 9.2.2
_REFUSALS_MAX = 10  # by an origin that does nothing with a request
_WITHOUT_BODY = frozenset({204, 304})
_SIGNAL_BYTES_MAX = 1024
_SENT_BYTES = 64 * 1024  # of a request's body at once
_EMPTY: Headers = [(b"content-length", b"0")]


def _urgency_of(head: RequestHead) -> int:
    """For the queue at the origin; a field that is too long is not read, as for the scheduler."""
    lines = head.field_lines(b"priority")
    return parse_field(lines if sum(map(len, lines)) <= _SIGNAL_BYTES_MAX else ()).urgency


class EdgeRequest:
    """A LiveRequest for the session, OriginEvents for the connection to the origin, and a Waiter for the pool.

    The request leaves for the origin when it is known whether it has a body: at once where it has `content-length`, opens a
    tunnel, or waits for 100, else with the first bytes of the body or the end.
    """

    def __init__(self, edge: Edge, head: RequestHead, reply: Reply) -> None:
        self.address = plain_address(reply.client)
        self.client = client_of((self.address,))
        self.urgency = _urgency_of(head)
        self.head = head
        self.started_s = asyncio.get_running_loop().time()
        self.answered_s: float | None = None  # when the origin began to answer
        self.why: str | None = None  # it went wrong, for the log
        self.is_origins_fault = False
        self.body_bytes = 0  # of the response, as far as it has come
        self._missing_bytes: int | None = None  # of those that the origin has announced
        self._edge = edge
        self._reply = reply
        self._stream: OriginStream | None = None
        self._is_over = False
        self._is_asked = False  # at the pool
        self._is_ended = False  # the client has sent all
        self._trailers: Headers = []
        # Of the body, until the origin takes it; in one piece, as a client may send single bytes.
        self._unsent = bytearray()
        self._received_bytes = 0
        self._can_write = True
        self._retries = 0
        self._has_answered = False
        self._is_refused = False
        self._websocket_key = b""  # of the handshake at the origin
        self._inflow: Inflow | None = None
        left_alone = edge.left_alone
        self._wants_script = left_alone is not None and wants_script(head) and not left_alone.knows(head.path)
        self._appender: ScriptAppender | None = None
        self._expects = bool(head.field_lines(b"expect"))  # a body follows, when the origin wants it
        length = head.field_lines(b"content-length")
        self._length = int(length[0]) if length else None  # one number: the session has checked it
        self.request = OriginRequest(head.method, head.path, [], self._length, has_body=False)

    @property
    def events(self) -> OriginEvents:
        return self

    @property
    def origin_ms(self) -> float | None:
        """From the request to the first answer of the origin, in ms; None without one."""
        return None if self.answered_s is None else round((self.answered_s - self.started_s) * 1000, 3)

    # What the session tells.

    def start(self) -> None:
        """Begin, unless it has to wait for what shows whether there is a body."""
        if self._length is not None and self._length > self._edge.settings.buffers.request_bytes:
            self.refuse(413, "the body is larger than allowed")
        elif self._length is not None or self.head.protocol is not None or self._expects:
            self._ask()

    def receive(self, data: bytes) -> None:
        if self._is_over or self._is_refused:
            self._reply.took(len(data))
            return
        self._received_bytes += len(data)
        if self._received_bytes > self._edge.settings.buffers.request_bytes and self.head.protocol is None:
            self.refuse(413, "the body is larger than allowed")
            return
        self._unsent += data
        if not self._is_asked:
            self._ask()
        self._send_on()

    def end(self, trailers: Headers) -> None:
        self._is_ended, self._trailers = True, trailer_fields(trailers)
        if not self._is_over and not self._is_asked:
            self._ask()
        self._send_on()

    def over(self, record: ServedRequest) -> None:
        self._is_over = True
        self._unsent.clear()
        self._edge.pool.leave(self)
        if self._stream is not None:
            self._stream.cancel()
            self._stream = None
        if self._inflow is not None:
            self._inflow.body.close()  # also where the session was never given it
        self._edge.is_over(self, record)

    # What the pool tells.

    def connected(self, stream: OriginStream) -> None:
        self._stream = stream
        self._can_write = True
        asyncio.get_running_loop().call_soon(self._send_on)  # behind the head, which is sent next

    def writable(self, *, now: bool) -> None:
        self._can_write = now
        if now:
            self._send_on()

    def informed(self, status: int, fields: Iterable[tuple[bytes, bytes]]) -> None:
        try:
            passed = response_fields(fields, b"1.1", status)
        except BadAnswerError as error:
            self._lose(f"an interim response cannot be passed on: {error}")
        else:
            self._reply.inform(status, [item for item in passed if item[0] != b"via"])

    def answered(self, status: int, fields: Iterable[tuple[bytes, bytes]], version: bytes, *, has_body: bool) -> None:
        if self._is_over or self._is_refused:
            return
        self.answered_s = asyncio.get_running_loop().time()
        fields = list(fields)
        try:
            passed = response_fields(fields, version, status)
            length = content_length_of(fields)
        except BadAnswerError as error:
            self._lose(f"the response cannot be passed on: {error}")
            return
        if self.head.protocol is not None and 200 <= status < 300:  # which would open the tunnel in HTTP/3
            self._lose(f"the origin answered {status} to a WebSocket's handshake, without opening one")
            return
        if status == 101:
            why_not = why_not_accepted(self._websocket_key, fields)
            if why_not is not None:
                self._lose(f"the origin's answer does not open the WebSocket: {why_not}")
                return
            status, length = 200, None
            passed = [item for item in passed if not item[0].startswith(b"sec-websocket-accept")]
        if not any(name == b"date" for name, _ in passed):
            passed.append(_date())  # RFC 9110 section 6.6.1
        self._has_answered = True
        body = None
        if has_body and self.head.method != "HEAD" and status not in _WITHOUT_BODY and length != 0:
            assert self._stream is not None
            buffers = self._edge.settings.buffers
            self._missing_bytes = length
            passed = self._with_script(status, passed)
            if self._appender is not None:
                length = 0 if self._appender.gzips or length is None else length + len(SCRIPT_BYTES)
            budgets = self._edge.budget, self._edge.spooled
            self._inflow = Inflow(self._stream, *budgets, buffers, length or 0, self._lose)
            body = self._inflow.body
        mime = next((value.decode("latin-1") for name, value in passed if name == b"content-type"), "")
        self._reply.answer(self._edge.response(self.head, Response(status, passed, body, mime)))
        self._send_on()  # what a client has sent ahead into its tunnel

    def received(self, data: bytes) -> None:
        if self._missing_bytes is not None:
            self._missing_bytes -= len(data)
        if self._inflow is not None:
            passed = data if self._appender is None else self._appender.feed(data)
            if passed:
                self.body_bytes += len(passed)
                self._inflow.feed(passed)

    def ended(self, trailers: Iterable[tuple[bytes, bytes]]) -> None:
        self._stream = None
        if self._missing_bytes:  # behind a body that is too short, HTTP/2 may have trailers
            self._lose("the response is not as long as its content-length says")
        elif self._inflow is not None:
            kept = trailer_fields(trailers)
            last = b"" if self._appender is None else self._appender.end()
            self.body_bytes += len(last)
            self._inflow.end(lambda: self._reply.finish(kept), last)
            if self._appender is not None and self._appender.why_not is not None:
                self._leave_alone(self._appender.why_not)

    def failed(self, fault: OriginFault) -> None:
        self._stream = None
        if self._is_over:
            return
        if self._may_repeat(fault):
            self._retries += 1
            self._edge.pool.ask(self, fresh=True)
            return
        self.why, self.is_origins_fault = fault.why, fault.status >= 500
        if self._has_answered:
            is_tunnel = self.head.protocol is not None
            # RFC 9220 section 3: a connection that breaks off behind a tunnel cancels its stream.
            self._reply.abort(ErrorCode.H3_REQUEST_CANCELLED if is_tunnel else ErrorCode.H3_INTERNAL_ERROR)
        else:
            self.refuse(fault.status, fault.why)

    # Within.

    def _may_repeat(self, fault: OriginFault) -> bool:
        """Whether nothing is lost by sending the request again over a new connection."""
        if self._received_bytes or self._has_answered:
            return False
        if fault.is_unprocessed:  # RFC 9113 section 8.7
            return self._retries < _REFUSALS_MAX
        return fault.is_stale and self._retries == 0 and self.head.method in _IDEMPOTENT

    def _ask(self) -> None:
        self._is_asked = True
        head, settings = self.head, self._edge.settings
        asked = replace(head, fields=for_plain_document(head)) if self._wants_script else head
        fields = request_fields(asked, self.address, settings.origin_host)
        method = head.method
        if head.protocol is not None:
            method = "GET"
            fields = [item for item in fields if item[0] != b"sec-websocket-key"]
            self._websocket_key = self._edge.websocket_key()
            fields.append((b"sec-websocket-key", self._websocket_key))
        has_content = bool(self._unsent) or (self._expects and not self._is_ended)
        self.request = OriginRequest(
            method=method,
            target=head.path,
            fields=fields,
            content_length=self._length,
            has_body=bool(self._length) or (self._length is None and has_content and head.protocol is None),
            wants_trailers=any(value.lower() == b"trailers" for value in head.field_lines(b"te")),
            upgrade=head.protocol,
        )
        self._edge.pool.ask(self)

    def _with_script(self, status: int, fields: Headers) -> Headers:
        """The response's fields, changed where the script of the beacon goes behind its body."""
        if not self._wants_script or not is_plain_document(status, fields):
            return fields
        why_not = forbidden_by(fields)
        if why_not is not None:
            self._leave_alone(why_not)
            return fields
        self._appender = ScriptAppender(SCRIPT_BYTES, takes_gzip(self.head))
        return changed_fields(fields, len(SCRIPT_BYTES), gzips=self._appender.gzips)

    def _leave_alone(self, why: str) -> None:
        if self._edge.left_alone is not None:
            self._edge.left_alone.tell(self.head.path, why)

    def _send_on(self) -> None:
        """Send the origin what it takes of the request's body."""
        if self._stream is None or self._is_over or not self._is_asked:
            return
        if self.head.protocol is not None and not self._has_answered:
            return  # a tunnel begins when it is open
        while self._unsent and self._can_write and self._stream is not None:
            data = bytes(self._unsent[:_SENT_BYTES])
            del self._unsent[:_SENT_BYTES]
            self._reply.took(len(data))
            self._stream.send(data)
        if self._is_ended and not self._unsent and self._stream is not None:
            self._stream.end(self._trailers)

    def _lose(self, why: str) -> None:
        """The response is not to be had, though its origin may go on: it must not be passed on, or the spool fails."""
        if self._stream is not None:
            self._stream.cancel()
        self.failed(OriginFault(502, why))

    def refuse(self, status: int, why: str, fields: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """Answer in the origin's place. Clients are told the status alone, and the fields."""
        self.why = why if status >= 400 else None
        dated = [_date()] if status < 500 else []
        self.answer_here(Response(status, [*_EMPTY, *dated, *fields]))

    def answer_here(self, response: Response) -> None:
        """Answer what the origin is not asked for, or not any more."""
        self._has_answered = self._is_asked = self._is_refused = True
        self._edge.pool.leave(self)
        self._unsent.clear()
        if self._stream is not None:
            self._stream.cancel()
            self._stream = None
        self.body_bytes = response.body.size_bytes if response.body is not None else 0
        self._reply.answer(response)


def _date() -> tuple[bytes, bytes]:
    return b"date", formatdate(usegmt=True).encode()
