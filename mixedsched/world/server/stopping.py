"""How a server learns that it is to stop, and stops."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterable

from mixedsched.world.server.endpoint import Endpoint


class Stop:
    """A wish to stop, and a second one to do so at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def on_signals(self, numbers: Iterable[signal.Signals]) -> None:
        """The first signal asks to stop; one that comes when that was asked already means at once."""
        for number in numbers:
            self._loop.add_signal_handler(number, self._signalled)

    def on_end_of(self, descriptor: int) -> None:
        """Ask to stop when the pipe or terminal has ended. What it says is of no interest.

        What cannot be waited for (a file, /dev/null) counts as ended.
        """

        def read() -> None:
            if not os.read(descriptor, 4096):
                self._loop.remove_reader(descriptor)
                self.asked.set()

        try:
            self._loop.add_reader(descriptor, read)
        except PermissionError:  # what epoll answers for those
            self.asked.set()

    def _signalled(self) -> None:
        if self.asked.is_set():
            self.at_once.set()
        self.asked.set()


async def serve_until_stopped(endpoint: Endpoint, stop: Stop, grace_s: float) -> None:
    """Serve; when asked to stop, let the responses under way finish, for grace_s at most, unless told a second time."""
    endpoint.start()
    try:
        await stop.asked.wait()
        await first_of(endpoint.shut_down(grace_s), stop.at_once.wait())
    finally:
        endpoint.close()


async def first_of(*coroutines: object) -> None:
    """Wait until one of them is done, and give up the others. What the first one raises is raised."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]  # type: ignore[call-overload]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
