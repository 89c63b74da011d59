"""Contents of the test site, and a view on the browser processes that a test started."""

from __future__ import annotations

import random
import struct
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mixedsched.world.browser.pageload import PageLoadJob

INDEX = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>fixture</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/style.css"><link rel="icon" href="data:,">
</head><body><h1>Hello</h1><p>A page of a few resources.</p><img class="hero" src="/hero.png" width="320" height="240">
<img src="https://other.test/small.png" width="100" height="80"><img src="https://stray.example/x.png" width="10" height="10">
<img src="https://localhost/y.png" width="10" height="10"><script src="/app.js"></script></body></html>"""

# Fetches without credentials may not share the connection of the document, to whatever host they go.
ANONYMOUS = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>anonymous</title>
<link rel="icon" href="data:,"></head><body><h1>Anonymous</h1><script>
for (const host of ["site.test", "other.test"]) fetch(`https://${host}/small.png`, {credentials: "omit"});
</script></body></html>"""

# Long tasks go on for 3.5 s after the load event: the short waits see no 5 s of quiet.
BUSY = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>busy</title><link rel="icon" href="data:,"></head>
<body><h1>Busy</h1><script>
function burn() { const t = performance.now(); while (performance.now() - t < 120); if (t < 3500) setTimeout(burn, 300); }
addEventListener("load", () => setTimeout(burn, 200));
</script></body></html>"""

# A fixed amount of work after the first paint, however long it takes: some tenths of a second.
COUNTING = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>counting</title>
<link rel="icon" href="data:,"></head><body><h1>Counting</h1><script>
function count() { let x = 1; for (let i = 0; i < 2e7; i++) x = (x * 16807) % 2147483647; top.x = x; }
addEventListener("load", () => setTimeout(count, 200));
</script></body></html>"""

# Looks different for 2 s after the load event, without any request or script; beside it something spins for ever.
ANIMATED = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>animated</title><link rel="icon" href="data:,">
<style>@keyframes grow { from { width: 0 } to { width: 100% } } @keyframes spin { to { rotate: 1turn } }
#bar { height: 400px; background: #064; animation: grow 2s linear forwards } #dot { animation: spin 1s infinite }
</style></head><body><h1>Animated</h1><div id="bar"></div><span id="dot">o</span></body></html>"""

# Saves a file, without being asked, in the folder that people have for downloads.
SAVING = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>saving</title>
<link rel="icon" href="data:,"></head><body><h1>Saving</h1><script>
const link = document.createElement("a");
link.href = URL.createObjectURL(new Blob(["left behind"]));
link.download = "left-behind.txt";
link.click();
</script></body></html>"""

# Asks its visitors, opens windows, and prints.
ASKING = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>asking</title>
<link rel="icon" href="data:,"></head><body><h1>Asking</h1><script>
alert("x"); confirm("y"); prompt("z"); window.open("/"); print();
addEventListener("beforeunload", event => event.preventDefault());
</script></body></html>"""


# Far beyond anything that works: it only keeps a hanging test from going on for ever.
NEVER_HANGS_S = 60.0


def noise_png(width: int, height: int, seed: int) -> bytes:
    """A picture that no compression shrinks."""
    noise = random.Random(seed)
    rows = b"".join(b"\0" + noise.randbytes(width * 3) for _ in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@dataclass(frozen=True)
class FixtureSite:
    """A running site. sizes: body bytes by path."""

    port: int
    spki_sha256: str
    sizes: dict[str, int]

    def job(self, path: str = "/", **options: Any) -> PageLoadJob:
        hosts = {"site.test": self.port, "other.test": self.port}
        return PageLoadJob(f"https://site.test{path}", hosts, (self.spki_sha256,), **options)


def is_talked_to(port_file: Path) -> bool:
    """Whether somebody is connected to the port of DevTools that a browser has written there."""
    try:
        port = int(port_file.read_text().partition("\n")[0])
        sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    except (OSError, ValueError):  # not written yet, or gone already
        return False
    return any((facts[1], facts[3]) == (f"0100007F:{port:04X}", "01") for facts in sockets)  # address, state


@dataclass(frozen=True)
class BrowserProcesses:
    """The processes whose command line names a directory: those of the browsers with a profile below it."""

    directory: Path

    def pids(self) -> list[int]:
        mark = str(self.directory).encode()
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if mark in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue  # it ended meanwhile
        return sorted(found)

    def wait_until(self, condition: Callable[[list[int]], bool], limit_s: float) -> list[int]:
        end = time.monotonic() + limit_s
        while not condition(self.pids()) and time.monotonic() < end:
            time.sleep(0.05)
        return self.pids()

    def wait_until_at_work(self) -> list[int]:
        """Pids once a browser has started, and its worker is talking to it."""
        port_files = "*/DevToolsActivePort"
        found = self.wait_until(lambda _: any(map(is_talked_to, self.directory.glob(port_files))), NEVER_HANGS_S)
        assert found, "the browser did not start"
        return found

    def wait_for_none(self) -> list[int]:
        return self.wait_until(lambda found: not found, limit_s=NEVER_HANGS_S)
