"""A gate before a server's socket: what passes it can be cut off for a while, as by a pulled cable: nobody is told."""

import selectors
import socket
import threading
from pathlib import Path
from typing import Self

_CHUNK_BYTES = 65_536
_LOOK_S = 0.05


class Gate:
    """Use with `with`. Clients connect to a socket in `folder` instead of the server's own, and are passed on while it is open.

    While it is shut, connections stay but nothing passes in either direction; what was sent meanwhile passes once it is open.
    """

    def __init__(self, server: Path, folder: Path) -> None:
        """server: the socket behind it. folder: for the socket of the gate, which has the same name."""
        self._server = server
        folder.mkdir(mode=0o755)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(folder / server.name))
        self._open = threading.Event()
        self._open.set()
        self._is_over = threading.Event()
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._pass_on, daemon=True)

    def __enter__(self) -> Self:
        self._listener.listen()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._open.set()
        self._thread.join()
        for sock in [self._listener, *self._pairs]:
            sock.close()
        self._selector.close()

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def _pass_on(self) -> None:
        while not self._is_over.is_set():
            if not self._open.wait(_LOOK_S):
                continue
            for key, _ in self._selector.select(_LOOK_S):
                if not self._open.is_set():
                    break
                if key.fileobj is self._listener:
                    self._accept()
                elif (sock := key.fileobj) in self._pairs:
                    self._forward(sock)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        behind = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            behind.connect(str(self._server))
        except OSError:  # the server is gone, which the client is to notice
            client.close()
            behind.close()
            return
        for sock, other in ((client, behind), (behind, client)):
            self._pairs[sock] = other
            self._selector.register(sock, selectors.EVENT_READ)

    def _forward(self, sock: socket.socket) -> None:
        try:
            data = sock.recv(_CHUNK_BYTES)
            self._pairs[sock].sendall(data)
        except OSError:
            data = b""
        if not data:
            for end in (sock, self._pairs[sock]):
                self._selector.unregister(end)
                del self._pairs[end]
                end.close()
