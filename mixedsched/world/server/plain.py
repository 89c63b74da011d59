"""A folder over plain HTTP on this machine, for the browser that looks at it; not the server that is measured."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_NOTHING = ".there-is-no-such-file"


class _Inside(SimpleHTTPRequestHandler):
    """Files of the folder, and nothing that a link in it leads to outside."""

    def translate_path(self, path: str) -> str:
        file = Path(super().translate_path(path))
        root = Path(self.directory).resolve()
        return str(file) if file.resolve().is_relative_to(root) else str(root / _NOTHING)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(directory: Path) -> Iterator[int]:
    """Serve a folder on 127.0.0.1; gives the port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Inside, directory=str(directory))) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
