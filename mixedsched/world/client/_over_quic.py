"""A request over QUIC, by HTTP/3."""

import asyncio
import contextlib
import hashlib
import socket
import ssl
import sys
import time
from typing import Any

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import ErrorCode, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, QuicEvent, StreamReset

from mixedsched.world.client._answer import (
    BODY_MOST_BYTES,
    FIELDS,
    TIMEOUT_S,
    HttpsAnswer,
    HttpsPage,
    RefusedError,
    joined_fields,
)

_CERTIFICATE_ALERTS = {0x100 + alert for alert in (42, 43, 44, 45, 46, 48)}
"""QUIC error codes of TLS alerts about certificates (RFC 9001 section 4.8, RFC 8446 section 6.2)."""

_TELL_ERRORS = ((socket.IPPROTO_IP, 11), (socket.IPPROTO_IPV6, 25)) if sys.platform == "linux" else ()
"""IP_RECVERR and IPV6_RECVERR, which Python does not name: an unconnected socket, too, is told that nobody listens."""


class _OneRequest(QuicConnectionProtocol):
    """Makes one request. connected, answered: futures, False once that will not be any more."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        loop = asyncio.get_running_loop()
        self.connected: asyncio.Future[bool] = loop.create_future()
        self.answered: asyncio.Future[bool] = loop.create_future()
        self.head: list[tuple[str, str]] = []
        self.body = bytearray()
        self.ended: ConnectionTerminated | None = None
        self.error: Exception | None = None
        self._http: H3Connection | None = None
        self._stream_id: int | None = None  # of the request

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        sock = transport.get_extra_info("socket")
        for level, option in _TELL_ERRORS:
            with contextlib.suppress(OSError):
                sock.setsockopt(level, option, 1)

    def ask(self, target: HttpsPage) -> None:
        assert self._http is not None, "it is connected"
        self._stream_id = self._quic.get_next_available_stream_id()
        pairs = {":method": "GET", ":scheme": "https", ":authority": target.authority, ":path": target.path}
        fields = [(name.encode(), value.encode()) for name, value in (pairs | FIELDS).items()]
        self._http.send_headers(self._stream_id, fields, end_stream=True)
        self.transmit()

    def error_received(self, exc: Exception) -> None:
        """The system knows that nobody listens there."""
        self.error = exc
        self._settle(False)

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, HandshakeCompleted):
            self._http = H3Connection(self._quic)
            if not self.connected.done():
                self.connected.set_result(True)
        if isinstance(event, ConnectionTerminated):
            self.ended = event
        if isinstance(event, ConnectionTerminated) or (
            isinstance(event, StreamReset) and event.stream_id == self._stream_id
        ):
            self._settle(False)
        for item in self._http.handle_event(event) if self._http is not None else ():
            # What a server pushes is on other streams.
            if isinstance(item, HeadersReceived | DataReceived) and item.stream_id == self._stream_id:
                self._take(item)

    def _take(self, event: HeadersReceived | DataReceived) -> None:
        if isinstance(event, HeadersReceived):
            lines = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers]
            is_final = lines[:1] and lines[0][0] == ":status" and not lines[0][1].startswith("1")
            self.head = lines if is_final else self.head  # trailers and interim responses are of no interest
        else:
            self.body += event.data
        if event.stream_ended or len(self.body) >= BODY_MOST_BYTES:
            self._settle(True)

    def _settle(self, value: bool) -> None:
        for future in (self.connected, self.answered):
            if not future.done():
                future.set_result(value)


async def ask_over_quic(target: HttpsPage, port: int | None = None, host: str | None = None) -> HttpsAnswer:
    """GET it by HTTP/3, without following redirects. port, host: of a server that answers for the target, if not its own.

    Raises RefusedError if there is no answer.
    """
    udp_host = target.host if host is None else host.strip("[]")  # as in addresses, where IPv6 has brackets
    udp_port = target.port if port is None else port
    configuration = QuicConfiguration(
        is_client=True,
        alpn_protocols=["h3"],
        server_name=target.host,
        verify_mode=ssl.CERT_REQUIRED,
        cafile=_trusted_by(target),
        idle_timeout=TIMEOUT_S,
    )
    where = f"UDP port {udp_port} of {udp_host}"
    began_s = time.monotonic()
    try:
        async with connect(
            udp_host, udp_port, configuration=configuration, create_protocol=_OneRequest, wait_connected=False
        ) as client:
            assert isinstance(client, _OneRequest)
            client.transmit()
            if not await asyncio.wait_for(client.connected, TIMEOUT_S):
                raise _refused(client, where)
            connected_ms = (time.monotonic() - began_s) * 1000
            client.ask(target)
            await _answered(client)
            answer = _answer_of(client, connected_ms, where)
            client.close(error_code=ErrorCode.H3_NO_ERROR)
            return answer
    except TimeoutError as error:
        raise RefusedError(f"no answer from {where}", why=f"nothing came within {TIMEOUT_S:.0f} s") from error
    except (OSError, UnicodeError) as error:  # UnicodeError: an announced host that can be none
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise RefusedError(f"no answer from {where}", why=why) from error


async def _answered(client: _OneRequest) -> None:
    """Wait for the end of the answer, for as long as more of it comes. Raises TimeoutError."""
    read_bytes = -1
    while not client.answered.done():
        if len(client.body) == read_bytes:
            raise TimeoutError
        read_bytes = len(client.body)
        await asyncio.wait([client.answered], timeout=TIMEOUT_S)


def _answer_of(client: _OneRequest, connected_ms: float, where: str) -> HttpsAnswer:
    if not client.head:
        raise _refused(client, where)
    fields = joined_fields(client.head)
    body = bytes(client.body[:BODY_MOST_BYTES])
    status = int(fields.pop(":status"))
    return HttpsAnswer(status, fields, len(body), hashlib.sha256(body).hexdigest(), connected_ms)


def _trusted_by(target: HttpsPage) -> str | None:
    """The system's certificates, as over TCP; those that came with Python packages where the system has no file of them."""
    return ssl.get_default_verify_paths().cafile if target.trusted is None else str(target.trusted)


def _refused(client: _OneRequest, where: str) -> RefusedError:
    ended = client.ended
    if ended is not None and ended.error_code in _CERTIFICATE_ALERTS:
        return RefusedError("its certificate is not trusted", why=ended.reason_phrase, is_certificate=True)
    if client.error is not None:
        why = "nobody listens there"
    elif ended is None:
        why = "the request was reset"
    else:
        why = ended.reason_phrase or f"the connection ended with error 0x{ended.error_code:x}"
    return RefusedError(f"no answer from {where}", why=why)
