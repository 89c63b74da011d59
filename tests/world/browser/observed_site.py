"""A web site on plain HTTP/1.1, as anybody's server would have it: all kinds of resources, and pages that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import brotli
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

from tests.world.browser.h3_site import noise_png

OTHER_HOST = "cdn.test"

# Found by the parser, in CSS, by scripts; shown at once or never; in the other host; through a redirect.
INDEX = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>All kinds</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/style.css">
<link rel="stylesheet" href="/print.css" media="print"><link rel="preload" href="/hero.png" as="image">
<script src="/head.js"></script><script defer src="/defer.js"></script><script async src="/async.js"></script>
<script type="module" src="/module.js"></script><link rel="manifest" href="/app.json">
</head><body><h1>Some text</h1><img src="/hero.png" width="400" height="300"><div id="back"></div>
<img src="http://cdn.test:PORT/moved.png" width="20" height="20"><script src="/body.js"></script>
<div style="height: 9000px"></div><img src="/below.png" width="100" height="100">
<img loading="lazy" src="/lazy.png" width="10" height="10"><iframe src="/frame.html"></iframe>
<link rel="stylesheet" href="/late.css"></body></html>"""

STYLE = """@font-face { font-family: "Ours"; src: url(/ours.woff2) } h1 { font-family: Ours }
#back { width: 50px; height: 50px; background: url(/back.png) }"""

BODY_SCRIPT = """fetch("/data.json?a=1"); navigator.sendBeacon("/beacon", "hello");
fetch("http://cdn.test:PORT/cors.json", {method: "PUT", headers: {"x-own": "1"}}).catch(() => 0);
const script = document.createElement("script"); script.src = "/inserted.js";
document.head.append(script); script.remove();
new Worker("/worker.js"); new EventSource("/events"); new WebSocket(`ws://${location.host}/socket`);"""

NEVER_QUIET_SCRIPT = "fetch('/trickle'); setInterval(() => fetch('/data.json?' + Math.random()), 100)"

# The element of the largest paint runs code when it is made.
CUSTOM = """<!doctype html><title>Custom</title><script>
customElements.define("own-text", class extends HTMLElement { constructor() { super(); fetch("/data.json?made"); } });
</script><own-text style="display: block; font-size: 80px">Words of its own</own-text>"""

_PAGES = {
    "/": ("text/html", INDEX),
    "/style.css": ("text/css", STYLE),
    "/print.css": ("text/css", "a {}"),
    "/late.css": ("text/css", "b {}"),
    "/head.js": ("text/javascript", "1"),
    "/defer.js": ("text/javascript", "2"),
    "/async.js": ("text/javascript", "3"),
    "/module.js": ("text/javascript", 'import "./imported.js"'),
    "/imported.js": ("text/javascript", "4"),
    "/body.js": ("text/javascript", BODY_SCRIPT),
    "/inserted.js": ("text/javascript", "5"),
    "/worker.js": ("text/javascript", 'fetch("/of-worker.json")'),
    "/frame.html": ("text/html", "<p>frame</p>"),
    "/app.json": ("application/manifest+json", '{"name": "x"}'),
    "/data.json": ("application/json", "[1]"),
    "/cors.json": ("application/json", "[2]"),
    "/of-worker.json": ("application/json", "[3]"),
    "/beacon": ("text/plain", ""),
    "/never-quiet": ("text/html", f"<h1>Never</h1><script>{NEVER_QUIET_SCRIPT}</script>"),
    "/reloading": ("text/html", '<meta http-equiv="refresh" content="0"><h1>Again</h1>'),
    "/dense": ("text/html", '<img srcset="/back.png 120w, /hero.png 240w" sizes="120px">'),
    "/windows": ("text/html", "<h1>Windows</h1><script>alert(1); confirm(2)</script>"),
    "/custom": ("text/html", CUSTOM),
    "/worker-page": ("text/html", "<h1>Worker</h1><script>navigator.serviceWorker.register('/worker.js')</script>"),
}
_CODINGS = {"/": "gzip", "/style.css": "br", "/body.js": "gzip"}


def _contents() -> dict[str, tuple[str, bytes]]:
    images = {"hero": (400, 300), "back": (50, 50), "final": (20, 20), "below": (100, 100), "lazy": (10, 10)}
    return {
        **{path: (mime, text.encode()) for path, (mime, text) in _PAGES.items()},
        **{f"/{name}.png": ("image/png", noise_png(*size, seed=1)) for name, size in images.items()},
        "/ours.woff2": ("font/woff2", _font()),
    }


def _font() -> bytes:
    """One square for every letter."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((0, 700), (500, 700), (500, 0)):
        pen.lineTo(corner)
    pen.closePath()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "square"])
    builder.setupCharacterMap(dict.fromkeys(range(0x41, 0x7B), "square"))
    builder.setupGlyf(dict.fromkeys((".notdef", "square"), pen.glyph()))
    builder.setupHorizontalMetrics(dict.fromkeys((".notdef", "square"), (600, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Ours", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.font.flavor = "woff2"
    file = io.BytesIO()
    builder.font.save(file)
    return file.getvalue()


def encoded(data: bytes, coding: str | None) -> bytes:
    match coding:
        case "gzip":
            return gzip.compress(data, mtime=0)
        case "br":
            return brotli.compress(data)
        case _:
            return data


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _respond(self) -> None:
        path = self.path.partition("?")[0]
        self.server.asked[path] += 1
        self.rfile.read(int(self.headers.get("content-length") or 0))
        if path in ("/trickle", "/events"):
            self._trickle("text/event-stream" if path == "/events" else "text/plain")
        elif path == "/moved.png":
            self._answer(302, "text/plain", b"moved", location="/final.png")
        elif path == "/loop":
            self._answer(302, "text/plain", b"", location=f"/loop?{time.monotonic_ns()}")
        elif path == "/login":
            self._answer(401, "text/html", b"<h1>Who are you?</h1>", www_authenticate="Basic realm=x")
        elif path == "/broken":
            self._answer(500, "text/html", b"<h1>Broken</h1>")
        elif path in self.server.contents:
            mime, body = self.server.contents[path]
            coding = _CODINGS.get(path)
            extra = {"content_encoding": coding} if coding else {}
            self._answer(200, mime, encoded(body, coding), **extra)
        else:
            self._answer(404, "text/plain", b"not here")

    do_GET = do_POST = do_PUT = do_OPTIONS = _respond  # noqa: N815 -- the library's names

    def _answer(self, status: int, mime: str, body: bytes, **headers: str) -> None:
        allowed = {f"access_control_allow_{what}": "*" for what in ("origin", "methods", "headers")}
        self.send_response(status)
        fields = {"content-type": mime, "content-length": str(len(body)), **allowed, **headers}
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("set-cookie", "one=1")
        self.send_header("set-cookie", "two=2")
        self.end_headers()
        self.wfile.write(body)

    def _trickle(self, mime: str) -> None:
        self.send_response(200)
        self.send_header("content-type", mime)
        self.send_header("connection", "close")
        self.end_headers()
        while not self.server.closing.wait(0.2):
            self.wfile.write(b": still here\n\n")

    def log_message(self, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        port = str(self.server_address[1]).encode()
        contents = _contents().items()
        self.contents = {path: (mime, body.replace(b":PORT/", b":%b/" % port)) for path, (mime, body) in contents}
        self.closing = threading.Event()
        self.asked: Counter[str] = Counter()

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that ends hangs up."""


@dataclass(frozen=True)
class ObservedSite:
    """A running site. contents: plain bodies by path. asked: how often each path was, so far."""

    port: int
    contents: dict[str, bytes]
    asked: Counter[str]

    def url(self, path: str) -> str:
        return f"http://localhost:{self.port}/{path}"

    async def until_asked(self, path: str, times: int) -> None:
        """Until it was asked that often from now on."""
        end = self.asked[path] + times
        while self.asked[path] < end:
            await asyncio.sleep(0.05)


@contextlib.contextmanager
def observed_site() -> Iterator[ObservedSite]:
    """Serve it on a port of its own."""
    with _Server() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        contents = {path: body for path, (_, body) in server.contents.items()}
        yield ObservedSite(server.server_address[1], contents, server.asked)
        server.closing.set()
        server.shutdown()
        thread.join()
