"""A site of two hosts on a small HTTP/3 server of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.world.browser.h3_site import (
    ANIMATED,
    ANONYMOUS,
    ASKING,
    BUSY,
    COUNTING,
    INDEX,
    SAVING,
    BrowserProcesses,
    FixtureSite,
    noise_png,
)

SERVER = Path(__file__).with_name("h3_fixture_server.py")

# Only what keeps the main thread after the first paint counts as blocking.
WORK_AFTER_PAINT = """
const work = () => { const start = performance.now(); while (performance.now() - start < 80); };
new PerformanceObserver((list, observer) => {
  if (list.getEntriesByName("first-contentful-paint").length) { observer.disconnect(); setTimeout(work, 50); }
}).observe({type: "paint", buffered: true});
"""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FixtureSite]:
    directory = tmp_path_factory.mktemp("site")
    files = {
        "index.html": INDEX.encode(),
        "animated.html": ANIMATED.encode(),
        "busy.html": BUSY.encode(),
        "counting.html": COUNTING.encode(),
        "saving.html": SAVING.encode(),
        "anonymous.html": ANONYMOUS.encode(),
        "asking.html": ASKING.encode(),
        "style.css": b"body { font: 18px sans-serif } .hero { width: 320px; height: 240px }" + b"\n/* padding */" * 500,
        "app.js": WORK_AFTER_PAINT.encode(),
        "hero.png": noise_png(320, 240, seed=1),
        "small.png": noise_png(100, 80, seed=2),
    }
    for name, body in files.items():
        (directory / name).write_bytes(body)
    sizes = {f"/{name}".replace("/index.html", "/"): len(body) for name, body in files.items()}
    with subprocess.Popen(
        [sys.executable, str(SERVER), str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        listening = json.loads(server.stdout.readline())
        yield FixtureSite(listening["port"], listening["spki_sha256"], sizes)
        server.terminate()


@pytest.fixture(autouse=True, scope="session")
def _no_socket_directory_stays() -> Iterator[None]:
    """Chromium keeps its sockets in directories of their own: after all the tests none of them is left."""
    with tempfile.TemporaryDirectory(prefix="sockets-") as directory, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", directory)
        yield
        # Not files: one is memory that a browser shares, and stays if that is killed just before it takes the name away.
        left = [path.name for path in Path(directory).glob("*.Chromium.*") if path.is_dir()]
    assert left == []


@pytest.fixture
def browsers(tmp_path: Path) -> BrowserProcesses:
    """Use `tmp_path` as the runner's temp_dir, and this shows its browsers."""
    return BrowserProcesses(tmp_path)
