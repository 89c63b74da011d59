"""A small web application that runs while a test does: one of its addresses is random, one answer changes its size."""

from __future__ import annotations

import http.server
import itertools
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

# The document asks for a third party and for the application's own plain address, too, neither of which is to be loaded.
_PAGE = """<!doctype html><meta charset="utf-8"><title>live</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="/a.css"><script src="/a.js?visit={number}" defer></script>
<script src="https://cdn.example.org/x.js" defer></script><img src="http://{host}/absolute.png" alt=""><h1>A live page</h1>"""
_SCRIPT = b"fetch('/feed.json'); new EventSource('/events')"


@dataclass
class LiveApp:
    """An application that listens. breaks: numbers of the documents, from 1, whose style sheet gets no answer."""

    port: int = 0
    breaks: frozenset[int] = frozenset()
    hosts: list[str] = field(default_factory=list)  # what it was asked for as, in order
    documents: int = 0

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}/"


@contextmanager
def live_app(breaks: frozenset[int] = frozenset(), certificate: Path | None = None) -> Iterator[LiveApp]:
    """certificate: a file with it and its key, for https."""
    app = LiveApp(breaks=breaks)
    is_over = threading.Event()
    numbers = itertools.count(1)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            app.hosts.append(self.headers["host"])
            if path == "/":
                app.documents += 1
                self._send(_PAGE.format(number=next(numbers), host=self.headers["host"]).encode(), "text/html")
            elif path == "/a.css" and app.documents in app.breaks:
                self.close_connection = True
            elif path == "/a.css":
                self._send(b"h1 { color: darkgreen; font-size: 60px }", "text/css")
            elif path == "/a.js":
                self._send(_SCRIPT, "text/javascript")
            elif path == "/feed.json":
                self._send(b'"' + b"x" * next(numbers) + b'"', "application/json")
            elif path == "/events":
                self._stream()
            elif path == "/private":
                self._send(b"", "text/html", 401, ("www-authenticate", "Basic"))
            elif path == "/members":
                self._send(b"", "text/html", 403)
            elif path == "/moved":
                self._send(b"", "text/html", 302, ("location", "/elsewhere"))
            elif path == "/form":
                self._send(b"<!doctype html><form><input name=p type=password></form>", "text/html")
            elif path == "/text":
                self._send(b"text", "text/plain")
            else:
                self._send(b"", "text/html", 404)

        def _send(self, body: bytes, mime: str, status: int = 200, *fields: tuple[str, str]) -> None:
            self.send_response(status)
            for name, value in (("content-type", mime), ("content-length", str(len(body))), *fields):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def _stream(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(b"data: 1\n\n")
            self.wfile.flush()
            is_over.wait()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
            """Nobody reads it."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    app.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield app
    finally:
        is_over.set()
        server.shutdown()
        server.server_close()
        thread.join()
