"""Servers and clients in processes of their own, over UDP on loopback: what benchmarks of them have in common.

The client is gtlsclient of ngtcp2 (package ngtcp2-client), so neither server is measured with a client of its own kind.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks._command import HOME
from mixedsched.errors import MissingPartError, MixedschedError

CLIENT = shutil.which("gtlsclient")
WINDOW = "64M"


@dataclass(slots=True)
class Server:
    """A server that listens. port: of 127.0.0.1. lines: what it has printed since, if anything. facts: of our own servers."""

    process: subprocess.Popen[str]
    port: int
    lines: list[str]
    facts: dict[str, Any] = field(default_factory=dict)

    def cpu_s(self) -> float:
        """What it has used of a processor so far."""
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    def descriptors(self) -> int:
        return int(psutil.Process(self.process.pid).num_fds())

    def rss_bytes(self) -> int:
        return int(psutil.Process(self.process.pid).memory_info().rss)


def need_client() -> None:
    """Raises MissingPartError without gtlsclient."""
    if CLIENT is None:
        raise MissingPartError("gtlsclient is missing", fix="Debian and Ubuntu: apt-get install ngtcp2-client")


@contextmanager
def our_server(folder: Path, scheme: str = "eps", *options: str) -> Iterator[Server]:
    """`mixedsched serve` for a folder."""
    command = ["-m", "mixedsched", "serve", str(folder), "--scheme", scheme, "--port", "0", "--json", *options]
    with _server([*command, "--stop-with-stdin"]) as (process, first_line):
        facts = json.loads(first_line)
        yield _listening(process, facts["listening"], facts)


@contextmanager
def our_edge(origin: str, *options: str) -> Iterator[Server]:
    """`mixedsched edge` in front of an origin."""
    command = ["-m", "mixedsched", "edge", "--origin", origin, "--port", "0", "--json", *options]
    with _server([*command, "--stop-with-stdin"]) as (process, first_line):
        facts = json.loads(first_line)
        yield _listening(process, facts["listening"], facts)


@contextmanager
def stock_server(folder: Path) -> Iterator[Server]:
    """The least server that aioquic makes possible."""
    with _server(["-m", "benchmarks._stock_server", str(folder)]) as (process, first_line):
        yield _listening(process, first_line.strip())


def _listening(process: subprocess.Popen[str], address: str, facts: dict[str, Any] | None = None) -> Server:
    lines: list[str] = []
    assert process.stdout is not None
    threading.Thread(target=lines.extend, args=(process.stdout,), daemon=True).start()
    return Server(process, int(address.rpartition(":")[2]), lines, facts or {})


@contextmanager
def _server(arguments: list[str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with subprocess.Popen(
        [sys.executable, *arguments], cwd=HOME, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            first_line = process.stdout.readline()
            if not first_line:
                raise MixedschedError(f"{' '.join(arguments[:3])} did not start", why="what it said stands above")
            yield process, first_line
        finally:
            process.stdin.close()


def start_client(server: Server, names: list[str], *options: str, window: str = WINDOW) -> subprocess.Popen[bytes]:
    """A client that asks for these files at once, on one connection, and ends when it has them."""
    assert CLIENT is not None
    origin = f"https://localhost:{server.port}"
    windows = [f"--max-data={window}", f"--max-stream-data-bidi-local={window}"]
    windows += [f"--max-window={window}", f"--max-stream-window={window}"]
    return subprocess.Popen(
        [CLIENT, "-q", "--exit-on-all-streams-close", *windows, *options, "127.0.0.1", str(server.port)]
        + [f"{origin}/{name}" for name in names],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def fetch(server: Server, names: list[str], *options: str, window: str = WINDOW) -> None:
    """Fetch these files. Raises RuntimeError if the client reports an error."""
    finish(start_client(server, names, *options, window=window))


def finish(client: subprocess.Popen[bytes]) -> None:
    """Wait for a client. Raises RuntimeError if it reports an error."""
    _, error = client.communicate()
    if client.returncode != 0:
        raise RuntimeError(f"gtlsclient ended with {client.returncode}: {error.decode(errors='replace')[-500:]}")


def free_port(kind: socket.SocketKind) -> int:
    """Of 127.0.0.1, for TCP (SOCK_STREAM) or UDP (SOCK_DGRAM)."""
    with socket.socket(socket.AF_INET, kind) as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def write_file(path: Path, size_bytes: int) -> None:
    """A file in which a piece at the wrong place shows; the same on every run."""
    block = b"".join(index.to_bytes(4, "big") for index in range(256 * 1024))
    with path.open("wb") as file:
        for start in range(0, size_bytes, len(block)):
            file.write(start.to_bytes(8, "big") + block[8 : size_bytes - start])
