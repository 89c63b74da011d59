"""What the edge costs: goodput and time to the first byte against `serve` alone, side by side, with nginx as the origin.

python -m benchmarks.edge
"""

from __future__ import annotations

import asyncio
import http.client
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent

from benchmarks._command import run_alone
from benchmarks._processes import Server, need_client, our_edge, our_server
from benchmarks.serving import LARGE, LARGE_BYTES, SMALL, check_bodies, fetch_s, make_site
from mixedsched.errors import MissingPartError, MixedschedError

ROUNDS = 5
REQUESTS, PER_SECOND = 1000, 200
NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
_CONFIGURATION = """daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 1024; }}
http {{ {log} sendfile on; keepalive_requests 1000000;
  client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
  uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
  server {{ listen unix:{folder}/socket; root {site}; }} }}
"""


def need_nginx() -> None:
    """Raises MissingPartError without it."""
    if NGINX is None:
        raise MissingPartError("nginx is missing", fix="Debian and Ubuntu: apt-get install nginx-light")


@contextmanager
def nginx(site: Path, log: str = "access_log off;") -> Iterator[Path]:
    """nginx with these files; gives its Unix socket. log: its lines about logs. Raises MixedschedError if it does not start."""
    assert NGINX is not None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in (folder, site):
            path.chmod(0o755)  # its worker may be another user
        configuration = folder / "nginx.conf"
        configuration.write_text(_CONFIGURATION.format(folder=folder, site=site, log=log))
        with subprocess.Popen([NGINX, "-c", str(configuration)], stderr=subprocess.PIPE, text=True) as process:
            try:
                while not (folder / "socket").exists():
                    if process.poll() is not None:
                        raise MixedschedError("nginx did not start", why=process.stderr.read().strip())
                    time.sleep(0.05)
                yield folder / "socket"
            finally:
                process.terminate()


class _Asking(QuicConnectionProtocol):
    """Measures from a request to the head of its response."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self.h3 = H3Connection(self._quic)
        self.waiting: dict[int, asyncio.Future[float]] = {}

    def first_byte(self, path: str) -> asyncio.Future[float]:
        stream_id = self._quic.get_next_available_stream_id()
        head = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"localhost"), (b":path", path.encode())]
        self.h3.send_headers(stream_id, head, end_stream=True)
        self.waiting[stream_id] = asyncio.get_running_loop().create_future()
        self.transmit()
        return self.waiting[stream_id]

    def quic_event_received(self, event: QuicEvent) -> None:
        for found in self.h3.handle_event(event):
            if isinstance(found, HeadersReceived) and not self.waiting[found.stream_id].done():
                self.waiting[found.stream_id].set_result(time.perf_counter())


async def _first_bytes_ms(ports: dict[str, int]) -> dict[str, list[float]]:
    """By server, times to the first byte, asked in turns at PER_SECOND."""
    found: dict[str, list[float]] = {name: [] for name in ports}
    async with AsyncExitStack() as stack:
        clients: dict[str, _Asking] = {}
        for name, port in ports.items():
            configuration = QuicConfiguration(
                is_client=True, alpn_protocols=["h3"], server_name="localhost", verify_mode=0
            )
            client = await stack.enter_async_context(
                connect("127.0.0.1", port, configuration=configuration, create_protocol=_Asking)
            )
            assert isinstance(client, _Asking)
            clients[name] = client
        for index in range(REQUESTS + 50):
            for name, client in clients.items():
                started_s = time.perf_counter()
                took_ms = (await asyncio.wait_for(client.first_byte("/index.html"), 20) - started_s) * 1000
                if index >= 50:  # warm by now
                    found[name].append(took_ms)
                await asyncio.sleep(max(0.0, 1 / PER_SECOND / len(clients) - took_ms / 1000))
    return found


def _direct_ms(path: Path) -> list[float]:
    """Times to the first byte of the origin itself, on one kept connection."""
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(path))
    found = []
    for _ in range(REQUESTS):
        started_s = time.perf_counter()
        connection.request("GET", "/index.html")
        answer = connection.getresponse()
        found.append((time.perf_counter() - started_s) * 1000)
        answer.read()
    connection.close()
    return found


def _goodput(servers: dict[str, Server]) -> Iterator[str]:
    times: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for files in (LARGE, SMALL) * ROUNDS:
        for label, server in servers.items():
            times.setdefault((label, files[0]), []).append(fetch_s(server, files))
    best = {key: (min(wall for wall, _ in rows), min(cpu for _, cpu in rows)) for key, rows in times.items()}
    for files, title in ((LARGE, "  1 x 50 MB"), (SMALL, "100 x 500 KB")):
        alone_s, alone_cpu_s = best["serve", files[0]]
        for label in servers:
            wall_s, cpu_s = best[label, files[0]]
            yield (
                f"{label:6} {title}: {8 * LARGE_BYTES / wall_s / 1e6:4.0f} Mbit/s, x {alone_s / wall_s:.2f} of serve"
                f"   CPU {cpu_s:.2f} s, {8 * LARGE_BYTES / cpu_s / 1e6:4.0f} Mbit/s of one core, x {alone_cpu_s / cpu_s:.2f}"
            )


def _first_bytes(servers: dict[str, Server], path: Path) -> Iterator[str]:
    found = asyncio.run(_first_bytes_ms({name: server.port for name, server in servers.items()}))
    found["nginx"] = _direct_ms(path)
    for name, times in found.items():
        p99 = statistics.quantiles(times, n=100)[98]
        yield f"first byte, {name:6}: median {statistics.median(times):.2f} ms, p99 {p99:.2f} ms"
    added = statistics.median(found["edge"]) - statistics.median(found["serve"])
    origin_ms = statistics.median(found["nginx"])
    yield f"the edge adds {added:.2f} ms to the median of serve, of which nginx takes {origin_ms:.2f} ms"


def run() -> Iterator[str]:
    need_client()
    need_nginx()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        make_site(folder)
        path = stack.enter_context(nginx(folder))
        servers = {
            "serve": stack.enter_context(our_server(folder)),
            "edge": stack.enter_context(our_edge(f"unix:{path}")),
        }
        check_bodies(servers["edge"], folder)
        yield from _goodput(servers)
        yield from _first_bytes(servers, path)


if __name__ == "__main__":
    run_alone("edge", __doc__, run)
