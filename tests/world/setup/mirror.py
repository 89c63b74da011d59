"""A mirror of Chrome for Testing on this machine, which can be cut off, and programs that stand in for others."""

from __future__ import annotations

import io
import random
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

BROWSER = "#!/bin/sh\necho '<html></html>'\n"


def archive(browser: str = BROWSER, filling_bytes: int = 0) -> bytes:
    """As Google packs it, with a script for a browser. filling_bytes: of something that does not compress."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as out:
        program = zipfile.ZipInfo("chrome-linux64/chrome")
        program.external_attr = 0o100755 << 16
        out.writestr(program, browser)
        out.writestr("chrome-linux64/resources.pak", random.Random(1).randbytes(filling_bytes))
    return packed.getvalue()


class Mirror:
    """url: its address. files: by path; a path that is not here is looked for by its last part. requests: paths and ranges
    that were asked for. cut_bytes: so much of a file is sent before the connection is closed, or held until `release` is set.
    """

    def __init__(self, url: str, files: Mapping[str, bytes]) -> None:
        self.url = url
        self.files = dict(files)
        self.requests: list[tuple[str, str | None]] = []
        self.cut_bytes: int | None = None
        self.release: threading.Event | None = None
        self.knows_ranges = True

    def file(self, path: str) -> bytes | None:
        return self.files.get(path, self.files.get(path.rpartition("/")[2]))

    @property
    def downloads(self) -> list[str | None]:
        """The ranges of the requests for archives."""
        return [asked for path, asked in self.requests if path.endswith(".zip")]


@contextmanager
def mirror(**files: bytes) -> Iterator[Mirror]:
    """Serve an archive, or other files by name, under /cft/."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            serving.requests.append((self.path, self.headers["Range"]))
            body = serving.file(self.path)
            if body is None:
                self.send_error(404)
                return
            begin = int(self.headers["Range"][6:-1]) if self.headers["Range"] and serving.knows_ranges else 0
            if begin >= len(body):
                self.send_error(416)
                return
            self.send_response(206 if begin else 200)
            self.send_header("Content-Length", str(len(body) - begin))
            self.end_headers()
            end = len(body) if serving.cut_bytes is None else begin + serving.cut_bytes
            self.wfile.write(body[begin:end])
            self.wfile.flush()
            if serving.release is not None:
                serving.release.wait(60)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = Mirror(f"http://127.0.0.1:{server.server_port}/cft", files or {"chrome-linux64.zip": archive()})
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield serving
        finally:
            if serving.release is not None:
                serving.release.set()
            server.shutdown()
            thread.join()


def program(folder: Path, name: str, script: str) -> Path:
    """A shell script that can be run."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path
