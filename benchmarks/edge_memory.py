"""What clients cost an edge in memory: 1,000 idle connections, and 200 that read 5 MB each at 64 kB/s, spooled.

python -m benchmarks.edge_memory

The slow clients let the edge send what they have read at that pace, by the credit of the connection. Whether the origin's
workers are free is told by nginx's own log: how long the longest response has kept one.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import QuicEvent

from benchmarks._command import run_alone
from benchmarks._processes import Server, our_edge, write_file
from benchmarks.edge import need_nginx, nginx
from benchmarks.memory import MEGABYTE, Peak

IDLE, IDLE_MAX_MB = 1000, 60
SLOW, SLOW_MAX_MB = 200, 250
FILE_BYTES, READ_BPS = 5_000_000, 64_000
CREDIT_EVERY_S = 0.5
PER_ADDRESS = 250  # connections of one client address, of which the edge allows 500


class _SlowConnection(QuicConnection):
    """Raises what the server may send in all as if it were read at READ_BPS, whatever has come."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._started_s = time.monotonic()

    def _write_connection_limits(self, builder: Any, space: Any) -> None:
        limit, used = self._local_max_data, self._local_max_data.used
        # In steps: each packet that is written asks again, and a limit that had grown since would need yet another packet.
        steps = (time.monotonic() - self._started_s) // CREDIT_EVERY_S
        limit.value = max(limit.value, round(READ_BPS * (1 + CREDIT_EVERY_S * steps)))
        limit.used = 0  # so that aioquic leaves it as it is
        super()._write_connection_limits(builder, space)
        limit.used = used


class _Client(QuicConnectionProtocol):
    """Asks for a file, and counts what it gets."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.h3 = H3Connection(self._quic)
        self.got_bytes = 0
        self.over = asyncio.get_running_loop().create_future()

    def ask(self, path: str) -> None:
        head = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"localhost"), (b":path", path.encode())]
        self.h3.send_headers(self._quic.get_next_available_stream_id(), head, end_stream=True)
        self.transmit()

    def quic_event_received(self, event: QuicEvent) -> None:
        for found in self.h3.handle_event(event):
            if isinstance(found, DataReceived):
                self.got_bytes += len(found.data)
                if found.stream_ended and not self.over.done():
                    self.over.set_result(None)


@asynccontextmanager
async def _connected(port: int, index: int, kind: type[QuicConnection], **limits: int) -> AsyncIterator[_Client]:
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=["h3"], server_name="localhost", verify_mode=0, idle_timeout=600, **limits
    )
    local = f"127.0.0.{2 + index // PER_ADDRESS}"
    transport, client = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: _Client(kind(configuration=configuration)), local_addr=(local, 0)
    )
    try:
        client.connect(("127.0.0.1", port))
        await client.wait_connected()
        yield client
    finally:
        client.close()
        transport.close()


async def _idle(edge: Server) -> AsyncIterator[str]:
    async with AsyncExitStack() as stack:
        for index in range(20):  # what the first connections cost once
            async with _connected(edge.port, index, QuicConnection) as client:
                client.ask("/index.html")
                await client.over
        before = edge.rss_bytes()
        for index in range(IDLE):
            client = await stack.enter_async_context(_connected(edge.port, index, QuicConnection))
            client.ask("/index.html")
            await client.over
        await asyncio.sleep(5)
        more_mb = (edge.rss_bytes() - before) / MEGABYTE
        yield (
            f"{IDLE} idle connections: {before / MEGABYTE:.1f} MB without, {more_mb:.1f} MB more with them"
            f" ({1000 * more_mb / IDLE:.0f} KB each); at most {IDLE_MAX_MB} MB wanted"
        )


async def _slow(edge: Server) -> AsyncIterator[str]:
    async with AsyncExitStack() as stack:
        with Peak(edge) as peak:
            started_s = time.monotonic()
            limits = {"max_data": READ_BPS, "max_stream_data": 2 * FILE_BYTES}
            clients = [
                await stack.enter_async_context(_connected(edge.port, index, _SlowConnection, **limits))
                for index in range(SLOW)
            ]
            for client in clients:
                client.ask("/large.bin")
            while not all(client.over.done() for client in clients):
                await asyncio.sleep(CREDIT_EVERY_S)
                for client in clients:
                    client.transmit()
            took_s = time.monotonic() - started_s
    whole = sum(client.got_bytes == FILE_BYTES for client in clients)
    peak_mb, start_mb = peak.bytes / MEGABYTE, peak.start_bytes / MEGABYTE
    yield (
        f"{SLOW} clients, 5 MB each at {READ_BPS / 1000:.0f} kB/s in {took_s:.0f} s: {whole} whole,"
        f" peak {peak_mb:.1f} MB, {start_mb:.1f} MB at the start; at most {SLOW_MAX_MB} MB wanted"
    )


def run() -> Iterator[str]:
    need_nginx()
    with tempfile.TemporaryDirectory() as name:
        site, spool = Path(name) / "site", Path(name) / "spool"
        Path(name).chmod(0o755)
        site.mkdir()
        spool.mkdir()
        (site / "index.html").write_text("<!doctype html><title>benchmark</title>", encoding="utf-8")
        write_file(site / "large.bin", FILE_BYTES)
        with nginx(site, f"log_format took '$request_time $uri'; access_log {spool}/took.log took;") as path:
            options = ("--idle-timeout", "600s", "--max-connections", "2000")
            with our_edge(f"unix:{path}", *options) as edge:
                yield from _lines(_idle(edge))
            with our_edge(f"unix:{path}", "--spool", str(spool), *options) as edge:
                yield from _lines(_slow(edge))
            rows = [line.split() for line in (spool / "took.log").read_text().splitlines()]
            longest_s = max(float(took_s) for took_s, uri in rows if uri == "/large.bin")
            yield f"the longest of these responses has kept a worker of the origin for {longest_s:.1f} s"


def _lines(found: AsyncIterator[str]) -> list[str]:
    async def collect() -> list[str]:
        return [line async for line in found]

    return asyncio.run(collect())


if __name__ == "__main__":
    run_alone("edge_memory", __doc__, run)
