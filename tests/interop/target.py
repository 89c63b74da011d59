"""What clients are pointed at: a generated site, our server, and an emulated link before it."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mixedsched.model.profile import Direction, Profile, RandomLoss
from tests.world.server.client import serving

HOST_NAME = "interop.test"
LARGEST_BYTES = 5_000_000
FILES = 40

_COLLECTOR = """<!doctype html><meta charset="utf-8"><title>collector</title><link rel="icon" href="data:,"><script>
async function digest(path) {
  const answer = await fetch(path, {cache: "no-store"});
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", await answer.arrayBuffer()));
  return [path, answer.status, Array.from(hash, byte => byte.toString(16).padStart(2, "0")).join("")];
}
async function collect(paths) {
  performance.setResourceTimingBufferSize(1000);
  const found = await Promise.all(paths.map(digest));
  const entries = performance.getEntriesByType("resource");
  return {found, protocols: [...new Set(entries.map(entry => entry.nextHopProtocol))]};
}
</script><h1>collector</h1>
"""


@dataclass(frozen=True, slots=True)
class InteropSite:
    """digests: SHA-256 of each file by path."""

    folder: Path
    digests: dict[str, str]
    size_bytes: int

    @property
    def paths(self) -> list[str]:
        return list(self.digests)


@dataclass(frozen=True, slots=True)
class Target:
    """Where clients are to connect to, and what they should find there."""

    site: InteropSite
    host: str
    port: int
    spki_sha256: str


def make_site(folder: Path, files: int = FILES, largest_bytes: int = LARGEST_BYTES) -> InteropSite:
    """Files of noise from one byte to the largest, each some larger than the one before."""
    www = folder / HOST_NAME.partition(".")[0]
    www.mkdir(parents=True)
    noise = random.Random(1)
    digests: dict[str, str] = {}
    total_bytes = 0
    for index in range(files):
        size_bytes = round(largest_bytes ** (index / (files - 1)))
        content = noise.randbytes(size_bytes)
        (www / f"f{index:02}.bin").write_bytes(content)
        digests[f"/f{index:02}.bin"] = hashlib.sha256(content).hexdigest()
        total_bytes += size_bytes
    (www / "index.html").write_text(_COLLECTOR)
    return InteropSite(www, digests, total_bytes)


def lossy(loss_ratio: float, delay_us: int = 2000) -> Profile:
    """A short link without rate limit that loses packets both ways."""
    direction = Direction(delay_us=delay_us, loss=RandomLoss(loss_ratio))
    return Profile(f"loss {loss_ratio:.0%}", "", "", direction, direction)


class ServerLog:
    """Reads what a server prints, so that it never waits; requests are told once it has ended."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._output = process.stdout
        self._requests: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._output:
            message = json.loads(line)
            if "request" in message:
                self._requests.append(message["request"])

    def requests(self) -> list[dict[str, Any]]:
        """All of them; waits for the server's end."""
        self._thread.join(20)
        return self._requests


@contextmanager
def served(site: InteropSite, *options: str) -> Iterator[tuple[Target, ServerLog]]:
    """Our server, as a process."""
    with serving(site.folder, *options) as running:
        log = ServerLog(running.process)
        yield Target(site, "127.0.0.1", running.port, running.first["spki_sha256"]), log
    log.requests()


@contextmanager
def through_link(target: Target, link: Profile, seed: int = 1) -> Iterator[Target]:
    """The same target behind the relay."""
    settings = {"profile": link.facts(), "seed": seed, "server": [target.host, target.port], "listen": ["127.0.0.1", 0]}
    command = [sys.executable, "-m", "mixedsched.world.emulator.relay"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(settings) + "\n")
            process.stdin.flush()
            host, port = json.loads(process.stdout.readline())["listening"]
            yield Target(target.site, host, port, target.spki_sha256)
        finally:
            process.kill()
