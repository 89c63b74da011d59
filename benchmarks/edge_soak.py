"""An edge under mixed traffic while its origin is restarted every minute: no wrong byte, no descriptor lost, memory flat.

python -m benchmarks.edge_soak --minutes 120

The clients are those of `make interop`: gtlsclient, curl_cffi, quic-go and Chromium, as far as they can be had. Each fetches
the same files again and again, all at once on a new connection. What is cut off while the origin is away counts as such; a body
that is told to be whole, and is not the file, is a wrong byte. Memory is the median of the samples in the last quarter against
that in the second quarter. Ends with 1 if anything of that fails, or a client has got nothing at all.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks._command import parser_of, say_all
from benchmarks._processes import Server, our_edge
from benchmarks.edge import need_nginx, nginx
from mixedsched.errors import ExitCode, MissingPartError, MixedschedError
from mixedsched.report.papers.script import run_script
from tests.interop.clients import CLIENTS, Client, NotRun
from tests.interop.target import HOST_NAME, Target, make_site

FILES, LARGEST_BYTES = 20, 3_000_000
RESTART_S, SAMPLE_S = 60.0, 2.0
PAUSE_S = {"Chromium": 15.0}
OTHER_PAUSE_S = 1.0
SETTLE_S = 40.0  # beyond the time for which the edge keeps connections of clients and to the origin
GROWTH = 1.05


@dataclass
class Tally:
    """What the clients have got, over all: by client and what became of a file."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, client: str, outcome: str, count: int = 1) -> None:
        with self.lock:
            self.counts[client, outcome] += count

    def total(self, outcome: str) -> int:
        """Over all clients, which may go on meanwhile."""
        with self.lock:
            return sum(count for (_, what), count in self.counts.items() if what == outcome)

    def note_wrong(self, client: str, path: str) -> None:
        self.add(client, "wrong")
        with self.lock:
            self.wrong.append(f"{client} {path}")


class Origin(threading.Thread):
    """nginx, stopped at once and started again every minute. socket: where it listens, always the same path."""

    def __init__(self, site: Path, socket: Path, over: threading.Event) -> None:
        super().__init__(daemon=True)
        self.restarts = -1
        self._site, self._socket, self._over = site, socket, over
        self.is_up = threading.Event()

    def run(self) -> None:
        while not self._over.is_set():
            with nginx(self._site) as path:
                self._socket.unlink(missing_ok=True)
                self._socket.symlink_to(path)
                self.restarts += 1
                self.is_up.set()
                self._over.wait(RESTART_S)


def check(target: Target, client: Client, tally: Tally) -> None:
    """Fetch everything once, and compare."""
    if client.name == "gtlsclient":
        got = gtlsclient_prefixes(target)
        for path, is_whole in got.items():
            if is_whole is None:
                tally.note_wrong(client.name, path)
            else:
                tally.add(client.name, "whole" if is_whole else "cut off")
        return
    for path, item in client.fetch(target).items():
        if item.status != 200:
            tally.add(client.name, f"status {item.status}")
        elif item.sha256 == target.site.digests[path]:
            tally.add(client.name, "whole")
        else:
            tally.note_wrong(client.name, path)


def gtlsclient_prefixes(target: Target) -> dict[str, bool | None]:
    """It tells neither a status nor a reset: whether a body is whole, or cut off, or None if it is not the file's beginning."""
    found: dict[str, bool | None] = {}
    with tempfile.TemporaryDirectory() as name:
        options = ["--quiet", "--exit-on-all-streams-close", "--timeout=20s", f"--download={name}"]
        command = ["gtlsclient", *options, "--no-quic-dump", "--no-http-dump", f"--sni={HOST_NAME}"]
        urls = [f"https://{HOST_NAME}{path}" for path in target.site.paths]
        subprocess.run([*command, target.host, str(target.port), *urls], capture_output=True, timeout=120, check=False)
        for path in target.site.paths:
            file, true = Path(name) / path.strip("/"), (target.site.folder / path.strip("/")).read_bytes()
            body = file.read_bytes() if file.exists() else b""
            found[path] = None if not true.startswith(body) else len(body) == len(true)
    return found


def visit(target: Target, client: Client, tally: Tally, over: threading.Event) -> None:
    """One client's thread."""
    while not over.is_set():
        try:
            check(target, client, tally)
        except (RuntimeError, OSError, ValueError, subprocess.SubprocessError):
            tally.add(client.name, "cut off")  # the client gave up, as the origin went away within
        over.wait(PAUSE_S.get(client.name, OTHER_PAUSE_S))


def ready_clients() -> list[Client]:
    """Those that can be had. Raises MissingPartError if there is none."""
    ready = []
    for client in CLIENTS:
        try:
            tell(f"{client.name}: {client.prepare()}")
        except NotRun as reason:
            tell(f"{client.name}: left out, {reason}")
        else:
            ready.append(client)
    if not ready:
        raise MissingPartError("no client can be had", fix="Debian and Ubuntu: apt-get install ngtcp2-client")
    return ready


@contextmanager
def traffic(target: Target, clients: Sequence[Client], tally: Tally) -> Iterator[None]:
    """All these clients, until the end."""
    over = threading.Event()
    threads = [threading.Thread(target=visit, args=(target, client, tally, over), daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(180)


def soak(minutes: float) -> bool:
    """Whether all went well."""
    need_nginx()
    clients = ready_clients()
    over, tally = threading.Event(), Tally()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)  # nginx's worker may be another user
        site = make_site(folder, FILES, LARGEST_BYTES)
        origin = Origin(site.folder, folder / "origin", over)
        origin.start()
        stack.callback(origin.join, 10)
        stack.callback(over.set)
        if not origin.is_up.wait(10):
            raise MixedschedError("the origin did not start", why="what it said stands above")
        options = ("--host", HOST_NAME, "--idle-timeout", "20s")
        edge = stack.enter_context(our_edge(f"unix:{origin._socket}", *options))
        target = Target(site, "127.0.0.1", edge.port, edge.facts["spki_sha256"])
        clients[0].fetch(target)  # what the first connections cost once
        samples, before, after = _watched(edge, target, clients, tally, minutes)
        if not origin.is_alive():
            raise MixedschedError("the origin did not start again", why="what it said stands above")
        restarts = origin.restarts
    return judged(samples, (before, after), [client.name for client in clients], tally, restarts)


def _watched(
    edge: Server, target: Target, clients: Sequence[Client], tally: Tally, minutes: float
) -> tuple[list[float], int, int]:
    """(resident memory in MB over time, descriptors before the traffic, and when all of it is long over).

    Raises MixedschedError if the edge ends.
    """
    time.sleep(SETTLE_S)
    before, samples = edge.descriptors(), []
    with traffic(target, clients, tally):
        started_s = told_s = time.monotonic()
        while (now_s := time.monotonic()) < started_s + 60 * minutes:
            if edge.process.poll() is not None:
                raise MixedschedError(f"the edge has ended, after {(now_s - started_s) / 60:.0f} min of traffic")
            samples.append(edge.rss_bytes() / 1e6)
            if now_s >= told_s + 60:
                told_s = now_s
                facts = f"{samples[-1]:.1f} MB, {edge.descriptors()} descriptors, {tally.total('whole')} files whole"
                tell(f"{(now_s - started_s) / 60:.0f} of {minutes:.0f} min: {facts}")
            time.sleep(SAMPLE_S)
    time.sleep(SETTLE_S)
    return samples, before, edge.descriptors()


def judged(
    samples: Sequence[float], descriptors: tuple[int, int], clients: Sequence[str], tally: Tally, restarts: int
) -> bool:
    """Tell what was found, and whether all went well. samples: in MB. descriptors: before and after."""
    quarter = max(1, len(samples) // 4)
    early, late = statistics.median(samples[quarter : 2 * quarter] or samples), statistics.median(samples[-quarter:])
    for client in sorted(clients):
        said = ", ".join(f"{count} {what}" for (name, what), count in sorted(tally.counts.items()) if name == client)
        tell(f"{client}: {said or 'nothing'}")
    tell(f"the origin was restarted {restarts} times; wrong: {', '.join(tally.wrong) or 'none'}")
    tell(f"memory: {early:.1f} MB early, {late:.1f} MB late (x {late / early:.3f}), peak {max(samples):.1f} MB")
    tell(f"descriptors: {descriptors[0]} before, {descriptors[1]} after")
    has_served_all = all(tally.counts[client, "whole"] for client in clients)
    return has_served_all and not tally.wrong and late <= GROWTH * early and descriptors[1] <= descriptors[0]


def tell(line: str) -> None:
    say_all([line])


def main() -> None:
    parser = parser_of("edge_soak", __doc__)
    parser.add_argument("--minutes", type=float, default=120.0, help="how long (120)")
    if not soak(parser.parse_args().minutes):
        sys.exit(ExitCode.FAILED)


if __name__ == "__main__":
    run_script(main)
