"""When a server is to stop, and what the parent of several workers tells them."""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Mapping

_STDIN = 0

PAUSE, READ, STOP = "pause", "read", "stop"
"""What a worker is told, as {"do": ...}: leave what comes to the port there; read it (again); stop, in order."""


class StopSignal:
    """Whether the server is asked to stop, by a signal or the end of standard input, and asked again, to stop at once.

    orders: what else standard input may ask of a worker, by name. A worker is asked to stop by `STOP`, since the end of its
    input tells that its parent is gone, and then it stops at once: nobody could ask it to make way for the next server.
    """

    def __init__(self, *, with_stdin: bool, orders: Mapping[str, Callable[[], None]] | None = None) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()
        self._orders = orders
        self._rest = b""
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._on_signal)
        if with_stdin:
            try:
                self._loop.add_reader(_STDIN, self._on_stdin)
            except PermissionError:  # epoll cannot wait for a file or /dev/null, which count as ended
                self.asked.set()

    def _on_signal(self) -> None:
        if self.asked.is_set():
            self.at_once.set()
        self.asked.set()

    def _on_stdin(self) -> None:
        data = os.read(_STDIN, 4096)
        if not data:
            self._loop.remove_reader(_STDIN)
            if self._orders is not None:
                self.at_once.set()
            self.asked.set()
        elif self._orders is not None:  # what anyone else says is ignored
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                order = json.loads(line)["do"]
                if order == STOP:
                    self.asked.set()
                else:
                    self._orders[order]()
