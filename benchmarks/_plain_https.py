"""A plain HTTPS server for a site, not ours: http.server of the standard library, HTTP/1.1, one address for all its hosts."""

from __future__ import annotations

import datetime as dt
import ssl
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography.hazmat.primitives import serialization

from mixedsched.core.h3.certificate import make_certificate
from mixedsched.sites.site import Site

_IDLE_LIMIT_S = 30


@contextmanager
def plain_https(site: Site) -> Iterator[str]:
    """Serve the files of a site; gives the ADDRESS:PORT that stands in for all its hosts."""

    class Handler(_Handler):
        answers = _answers(site)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.socket = _context(site).wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _answers(site: Site) -> dict[tuple[str, str], tuple[Path, str, str | None]]:
    """(host, path) -> file, content type, content coding."""
    return {
        (site.hosts[host], path): (file, site.mimes[host, path], site.encodings.get((host, path)))
        for (host, path), file in site.files.items()
    }


def _context(site: Site) -> ssl.SSLContext:
    made = make_certificate(site.hosts, dt.datetime.now(dt.UTC))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        chain, key = Path(folder) / "chain.pem", Path(folder) / "key.pem"
        chain.write_bytes(made.certificate.public_bytes(serialization.Encoding.PEM))
        key.write_bytes(
            made.private_key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        context.load_cert_chain(chain, key)
    return context


class _Handler(BaseHTTPRequestHandler):
    """Answers GET with what is listed, in full; else 404."""

    protocol_version = "HTTP/1.1"
    timeout = _IDLE_LIMIT_S
    answers: dict[tuple[str, str], tuple[Path, str, str | None]]

    def do_GET(self) -> None:
        host = self.headers.get("Host", "").partition(":")[0]
        found = self.answers.get((host, self.path)) or self.answers.get((host, self.path.partition("?")[0]))
        if found is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        file, mime, coding = found
        body = file.read_bytes()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", mime)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Access-Control-Allow-Origin", "*")  # fonts of other hosts
        if coding is not None:
            self.send_header("Content-Encoding", coding)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- named by http.server
        """Say nothing: the table is what is read."""
