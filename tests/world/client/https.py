"""A page over TCP, and over QUIC, with a certificate of one's own: what stands before people as one web server."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, QuicEvent, StreamDataReceived

from mixedsched.core.h3.certificate import make_certificate
from mixedsched.core.h3.codes import ErrorCode
from mixedsched.core.h3.conform.wire import CONTROL

NOW = dt.datetime.now(dt.UTC)


@dataclass
class Page:
    """What is answered."""

    body: bytes = b"<!doctype html><p>shop"
    status: int = 200
    alt_svc: str | None = None
    more: dict[str, str] = field(default_factory=dict)
    """Further fields."""
    stops_control: bool = False
    """Whether the client's control stream is stopped over QUIC, which no server may do."""
    pushed: bytes | None = None
    """What is pushed ahead of the answer over QUIC, where a stream of an unknown type is begun and reset, too."""


def write_certificate(folder: Path, *hosts: str, made: dt.datetime = NOW) -> Path:
    """A file with a certificate and its key."""
    file = folder / f"{hosts[0]}.pem"
    file.write_text(make_certificate(hosts, made).to_pem())
    return file


@contextmanager
def https(page: Page, certificate: Path) -> Iterator[int]:
    """Answers every GET over TCP; gives the port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(page.status)
            if page.alt_svc is not None:
                self.send_header("Alt-Svc", page.alt_svc)
            self.send_header("Content-Length", str(len(page.body)))
            for name, value in page.more.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(page.body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    class Server(ThreadingHTTPServer):
        def finish_request(self, request: Any, client_address: Any) -> None:
            try:
                with context.wrap_socket(request, server_side=True) as wrapped:
                    super().finish_request(wrapped, client_address)
            except ssl.SSLError:
                pass  # a client that does not trust it

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


@contextmanager
def http3(page: Page, certificate: Path) -> Iterator[int]:
    """Answers every request over QUIC; gives the port."""

    class Connection(QuicConnectionProtocol):
        http: H3Connection | None = None

        def quic_event_received(self, event: QuicEvent) -> None:
            if isinstance(event, ProtocolNegotiated):
                self.http = H3Connection(self._quic)
            if page.stops_control and isinstance(event, StreamDataReceived) and event.stream_id == CONTROL:
                self._quic.stop_stream(CONTROL, ErrorCode.H3_GENERAL_PROTOCOL_ERROR)
            for item in self.http.handle_event(event) if self.http is not None else ():
                if isinstance(item, HeadersReceived):
                    assert self.http is not None
                    if page.pushed is not None:
                        self.push(self.http, item.stream_id, page.pushed)
                    more = [(name.encode(), value.encode()) for name, value in page.more.items()]
                    self.http.send_headers(item.stream_id, [(b":status", str(page.status).encode()), *more])
                    self.http.send_data(item.stream_id, page.body, end_stream=True)
                    self.transmit()

        def push(self, http: H3Connection, stream_id: int, body: bytes) -> None:
            asked = [
                (b":method", b"GET"),
                (b":scheme", b"https"),
                (b":authority", b"localhost"),
                (b":path", b"/pushed"),
            ]
            pushed_id = http.send_push_promise(stream_id, asked)
            http.send_headers(pushed_id, [(b":status", b"404"), (b"x-pushed", b"1")])
            http.send_data(pushed_id, body, end_stream=True)
            unknown_id = self._quic.get_next_available_stream_id(is_unidirectional=True)
            self._quic.send_stream_data(unknown_id, b"\x21")
            self._quic.reset_stream(unknown_id, ErrorCode.H3_NO_ERROR)
            self.transmit()

    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
    configuration.load_cert_chain(certificate)
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    started = threading.Event()
    ports: list[int] = []

    async def run() -> None:
        server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=Connection)
        ports.append(server._transport.get_extra_info("sockname")[1])
        started.set()
        await stop.wait()
        server.close()
        await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()), daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()
