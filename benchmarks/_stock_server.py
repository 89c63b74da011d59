"""What `serving` measures against: the least HTTP/3 server that aioquic makes possible, in a process of its own.

    python -m benchmarks._stock_server FOLDER

Its first line is the address that it listens on; it stops when its standard input ends. A file is read once and handed
over whole, as aioquic's documentation has it.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import sys
from pathlib import Path

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, QuicEvent

from mixedsched.core.h3.certificate import make_certificate


class FileProtocol(QuicConnectionProtocol):
    """Answers each request with the file of that name."""

    folder: Path
    contents: dict[str, bytes]
    _http: H3Connection | None = None

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ProtocolNegotiated):
            self._http = H3Connection(self._quic)
        if self._http is not None:
            for http_event in self._http.handle_event(event):
                if isinstance(http_event, HeadersReceived):
                    self._answer(http_event)

    def _answer(self, event: HeadersReceived) -> None:
        assert self._http is not None
        path = dict(event.headers)[b":path"].decode()
        if path not in self.contents:
            self.contents[path] = (self.folder / path.lstrip("/")).read_bytes()
        content = self.contents[path]
        fields = [(b":status", b"200"), (b"content-length", str(len(content)).encode())]
        self._http.send_headers(event.stream_id, fields)
        self._http.send_data(event.stream_id, content, end_stream=True)


async def main(folder: Path) -> None:
    certificate = make_certificate(["localhost"], dt.datetime.now(dt.UTC))
    configuration = QuicConfiguration(
        is_client=False, alpn_protocols=["h3"], certificate=certificate.certificate, private_key=certificate.private_key
    )
    FileProtocol.folder, FileProtocol.contents = folder, {}
    server = await serve("127.0.0.1", 0, configuration=configuration, create_protocol=FileProtocol)
    assert server._transport is not None
    host, port = server._transport.get_extra_info("sockname")[:2]
    sys.stdout.write(f"{host}:{port}\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
