"""Made-up files as Chromium sees them: images decode, fonts load, media play, modules compile."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mixedsched.model.request import Kind
from mixedsched.sites.synth.assets import asset, smallest_bytes
from mixedsched.world.browser.find import find_chromium

BEYOND_BYTES = (0, 1, 3, 9, 37, 700, 3300, 25_001)  # the least size of a format; the odd ones are hard to pad
WHICH = [
    *((Kind.IMAGE, f"image/{name}") for name in ("jpeg", "png", "gif", "webp", "avif", "svg+xml", "x-icon", "bmp")),
    (Kind.IMAGE, "text/html"),
    *((Kind.FONT, f"font/{name}") for name in ("woff2", "woff", "ttf", "otf")),
    *((Kind.MEDIA, mime) for mime in ("video/mp4", "video/webm", "audio/mpeg", "audio/wav", "audio/ogg")),
    (Kind.XHR, "application/wasm"),
]
PAGE = """<!DOCTYPE html><script>
const uses = {
  image: async url => { const image = new Image(); image.src = url; await image.decode(); },
  font: url => new FontFace("made", `url(${url})`).load(),
  media: (url, mime) => new Promise((resolve, reject) => {
    const player = document.createElement(mime.split("/")[0]);
    player.onloadeddata = resolve;
    player.onerror = () => reject(player.error.message);
    player.src = url;
  }),
  xhr: async url => WebAssembly.compile(await (await fetch(url)).arrayBuffer()),
};
(async () => {
  const problems = [];
  for (const [url, kind, mime] of FILES) {
    try { await uses[kind](url, mime); } catch (error) { problems.push(`${url} ${mime}: ${error}`); }
  }
  await fetch("/problems", {method: "POST", body: JSON.stringify(problems)});
})();
</script>"""


class _Server(ThreadingHTTPServer):
    """Serves the page and its files, and keeps what the page tells of them."""

    def __init__(self, files: dict[str, tuple[str, bytes]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = files
        self.problems: list[str] | None = None
        self.told = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        mime, body = self.server.files.get(self.path, ("text/plain", b""))
        self.send_response(200 if self.path in self.server.files else 404)
        self.send_header("content-type", mime)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.server.problems = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(204)
        self.end_headers()
        self.server.told.set()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def _served(files: dict[str, tuple[str, bytes]]) -> Iterator[_Server]:
    with _Server(files) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.usefixtures("chromium")
def test_chromium_can_use_every_file_at_every_size(tmp_path: Path) -> None:
    sizes = {(kind, mime, smallest_bytes(kind, mime) + beyond) for kind, mime in WHICH for beyond in BEYOND_BYTES}
    made = {f"/{number}": key for number, key in enumerate(sorted(sizes))}
    files = {url: (mime, asset(kind, mime, size_bytes, 1)) for url, (kind, mime, size_bytes) in made.items()}
    listed = json.dumps([(url, str(kind), mime) for url, (kind, mime, _) in made.items()])
    files["/"] = ("text/html", PAGE.replace("FILES", listed).encode())
    with _served(files) as server, tempfile.TemporaryDirectory(prefix="sockets-") as sockets:  # short, as they must be
        address = f"http://127.0.0.1:{server.server_port}/"
        options = ["--headless=new", f"--user-data-dir={tmp_path}", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        with subprocess.Popen(
            [find_chromium(), *options, address],
            env={**os.environ, "TMPDIR": sockets},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as browser:
            try:
                assert server.told.wait(120)
            finally:
                browser.terminate()
    assert server.problems == []
