"""How much memory the server takes: 1 GB to a slow client, and 10 GB on 200 connections at once. Several minutes.

python -m benchmarks.memory
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks._command import run_alone
from benchmarks._processes import Server, fetch, finish, need_client, our_server, start_client, write_file

GIGABYTE = 1_000_000_000
MEGABYTE = 1_000_000
CONNECTIONS, STREAMS, FILE_BYTES = 200, 10, 5 * MEGABYTE
COMPARED_EVERY = 20  # connections of which one stores what it gets, to be compared byte by byte
SLOW_WINDOW = "64K"
PATIENCE = ("--timeout=900s", "--handshake-timeout=300s")


class Peak:
    """Samples a server's resident memory in a thread, ten times a second."""

    def __init__(self, server: Server) -> None:
        self.start_bytes = self.bytes = server.rss_bytes()
        self._server = server
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._is_over.wait(0.1):
            self.bytes = max(self.bytes, self._server.rss_bytes())


def slow_client(folder: Path) -> str:
    """One response of 1 GB through a flow-control window of 64 KB."""
    write_file(folder / "huge.bin", GIGABYTE)
    with our_server(folder) as server, Peak(server) as peak:
        started_s = time.perf_counter()
        fetch(server, ["huge.bin"], *PATIENCE, window=SLOW_WINDOW)
        took_s = time.perf_counter() - started_s
    (folder / "huge.bin").unlink()
    return (
        f"1 GB through a window of {SLOW_WINDOW}B in {took_s:.0f} s: peak {peak.bytes / MEGABYTE:.1f} MB,"
        f" {peak.start_bytes / MEGABYTE:.1f} MB at the start"
    )


def many_connections(folder: Path) -> Iterator[str]:
    """200 connections that ask for 10 responses of 5 MB each, all at once; some compare what they get."""
    names = [f"file-{index}.bin" for index in range(STREAMS)]
    for name in names:
        write_file(folder / name, FILE_BYTES)
    stores = [folder / f"store-{index}" for index in range(0, CONNECTIONS, COMPARED_EVERY)]
    for store in stores:
        store.mkdir()
    started_s = time.perf_counter()
    with our_server(folder) as server, Peak(server) as peak:
        clients = [
            start_client(server, names, *PATIENCE, *_store_option(stores, index), window="16M")
            for index in range(CONNECTIONS)
        ]
        try:
            for client in clients:
                finish(client)
        finally:  # where one has failed, the others are not wanted any more
            for client in clients:
                client.kill()
    took_s = time.perf_counter() - started_s
    whole = sum((store / name).read_bytes() == (folder / name).read_bytes() for store in stores for name in names)
    total_bytes = CONNECTIONS * STREAMS * FILE_BYTES
    yield (
        f"{CONNECTIONS} connections x {STREAMS} x {FILE_BYTES / MEGABYTE:.0f} MB in {took_s:.0f} s"
        f" ({8 * total_bytes / took_s / 1e6:.0f} Mbit/s): peak {peak.bytes / MEGABYTE:.0f} MB"
    )
    yield f"all clients ended well; of {len(stores) * STREAMS} bodies compared byte by byte {whole} are whole"


def _store_option(stores: list[Path], index: int) -> list[str]:
    return [] if index % COMPARED_EVERY else [f"--download={stores[index // COMPARED_EVERY]}"]


def run() -> Iterator[str]:
    need_client()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "index.html").write_text("<!doctype html><title>benchmark</title>", encoding="utf-8")
        yield slow_client(folder)
        yield from many_connections(folder)


if __name__ == "__main__":
    run_alone("memory", __doc__, run)
