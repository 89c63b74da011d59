"""How a server is asked to stop."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterable


class StopRequest:
    """Whether the server is asked to stop, and whether it is asked again, to stop at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def on_signals(self, numbers: Iterable[signal.Signals]) -> None:
        """The first signal asks to stop, and any after that to stop at once."""
        for number in numbers:
            self._loop.add_signal_handler(number, self._signalled)

    def on_end_of(self, descriptor: int) -> None:
        """Ask to stop when the pipe or terminal has ended. Its data is ignored.

        A file that cannot be waited for (a regular one, /dev/null) counts as ended.
        """

        def read() -> None:
            if not os.read(descriptor, 4096):
                self._loop.remove_reader(descriptor)
                self.asked.set()

        try:
            self._loop.add_reader(descriptor, read)
        except PermissionError:  # by epoll, for those
            self.asked.set()

    def _signalled(self) -> None:
        if self.asked.is_set():
            self.at_once.set()
        self.asked.set()


async def first_of(*coroutines: object) -> None:
    """Wait until one of them is done, and cancel the others. Raises what the first one raises."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]  # type: ignore[call-overload]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
