"""Goodput over UDP on loopback: our server against the least one on stock aioquic, in turns, with gtlsclient as client.

"ours, eps" and "ours, stock" send datagrams of at most 1200 bytes, as aioquic does; "ours, large" tries larger ones (eps).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks._command import run_alone
from benchmarks._processes import Server, fetch, need_client, our_server, stock_server, write_file

LARGE_BYTES, SMALL_BYTES, SMALL_FILES = 50_000_000, 500_000, 100
LARGE = ["large.bin"]
SMALL = [f"small-{index:03}.bin" for index in range(SMALL_FILES)]
ROUNDS = 3
BASE = "--max-datagram-size=1200"
LARGER = "ours, large"


def make_site(folder: Path) -> None:
    (folder / "index.html").write_text("<!doctype html><title>benchmark</title>", encoding="utf-8")
    write_file(folder / LARGE[0], LARGE_BYTES)
    for name in SMALL:
        write_file(folder / name, SMALL_BYTES)


def check_bodies(server: Server, folder: Path) -> None:
    """What arrives is what was asked for, byte by byte. Raises RuntimeError."""
    with tempfile.TemporaryDirectory() as name:
        fetch(server, LARGE + SMALL, f"--download={name}")
        for file in LARGE + SMALL:
            if (Path(name) / file).read_bytes() != (folder / file).read_bytes():
                raise RuntimeError(f"{file} did not arrive as it is")


def fetch_s(server: Server, names: list[str]) -> tuple[float, float]:
    """(time from the client's start to its end, the server's CPU time) in s."""
    cpu_s, started_s = server.cpu_s(), time.perf_counter()
    fetch(server, names)
    return time.perf_counter() - started_s, server.cpu_s() - cpu_s


def run() -> Iterator[str]:
    need_client()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        make_site(folder)
        servers = {
            "ours, eps": stack.enter_context(our_server(folder, "eps", BASE)),
            "ours, stock": stack.enter_context(our_server(folder, "stock", BASE)),
            LARGER: stack.enter_context(our_server(folder, "eps")),
            "aioquic": stack.enter_context(stock_server(folder)),
        }
        for label in ("ours, eps", "ours, stock", LARGER):
            check_bodies(servers[label], folder)
        times: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for files in (LARGE, SMALL) * ROUNDS:
            for label, server in servers.items():
                times.setdefault((label, files[0]), []).append(fetch_s(server, files))
    best = {key: (min(wall for wall, _ in rows), min(cpu for _, cpu in rows)) for key, rows in times.items()}
    for label in servers:
        for files, title in ((LARGE, "  1 x 50 MB"), (SMALL, "100 x 500 KB")):
            wall_s, cpu_s = best[label, files[0]]
            stock_s, stock_cpu_s = best["aioquic", files[0]]
            yield (
                f"{label:12} {title:>12}: {8 * LARGE_BYTES / wall_s / 1e6:4.0f} Mbit/s, x {stock_s / wall_s:.2f} of aioquic"
                f"   server CPU {cpu_s:.2f} s, x {stock_cpu_s / cpu_s:.2f}"
            )
    for files, title in ((LARGE, "1 x 50 MB"), (SMALL, "100 x 500 KB")):
        ratio, cpu_ratio = (
            small / large for small, large in zip(best["ours, eps", files[0]], best[LARGER, files[0]], strict=True)
        )
        yield f"{LARGER:12} {title} has x {ratio:.2f} of the goodput of 1200 bytes, at x {1 / cpu_ratio:.2f} of the CPU time"
    for label in ("ours, eps", "ours, stock"):
        ratio = best[label, LARGE[0]][0] / best[label, SMALL[0]][0]
        yield f"{label:12} 100 x 500 KB has x {ratio:.2f} of the goodput of 1 x 50 MB"


if __name__ == "__main__":
    run_alone("serving", __doc__, run)
