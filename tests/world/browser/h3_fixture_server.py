"""A small HTTP/3 file server for the browser tests: aioquic as it comes, no scheduler of ours.

Run as a child process: `python h3_fixture_server.py DIRECTORY`. Its first line on stdout is JSON,
{"port": ..., "spki_sha256": ...}; it ends with its standard input. Paths below /never/ are never answered.
"""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import hashlib
import json
import mimetypes
import sys
import tempfile
from pathlib import Path

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, QuicEvent
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOSTS = ("site.test", "other.test", "hung.test")


class FileProtocol(QuicConnectionProtocol):
    """Answers every GET from `directory`, all at once; aioquic then shares the connection round robin."""

    directory: Path
    _http: H3Connection | None = None

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ProtocolNegotiated):
            self._http = H3Connection(self._quic)
        if self._http is not None:
            for http_event in self._http.handle_event(event):
                self._answer(self._http, http_event)

    def _answer(self, http: H3Connection, event: H3Event) -> None:
        if not isinstance(event, HeadersReceived):
            return
        path = dict(event.headers)[b":path"].decode().partition("?")[0]
        if path.startswith("/never/"):
            return
        file = self.directory / (path.lstrip("/") or "index.html")
        found = file.is_file()
        body = file.read_bytes() if found else b"not here"
        mime = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        headers = [
            (b":status", b"200" if found else b"404"),
            (b"content-type", mime.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"access-control-allow-origin", b"*"),
        ]
        http.send_headers(event.stream_id, headers)
        http.send_data(event.stream_id, body, end_stream=True)
        self.transmit()


def make_certificate(directory: Path) -> tuple[Path, Path, str]:
    """An ECDSA certificate for HOSTS. Returns its file, its key's file, and base64 SHA-256 of its public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOSTS[0])])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in HOSTS]), critical=False)
        .sign(key, hashes.SHA256())
    )
    cert_file, key_file = directory / "cert.pem", directory / "key.pem"
    cert_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    spki = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return cert_file, key_file, base64.b64encode(hashlib.sha256(spki).digest()).decode()


async def main(directory: Path) -> None:
    FileProtocol.directory = directory
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN, idle_timeout=30.0)
    with tempfile.TemporaryDirectory() as folder:
        cert_file, key_file, spki_sha256 = make_certificate(Path(folder))
        configuration.load_cert_chain(cert_file, key_file)
    server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=FileProtocol)
    port = server._transport.get_extra_info("sockname")[1]
    sys.stdout.write(json.dumps({"port": port, "spki_sha256": spki_sha256}) + "\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
