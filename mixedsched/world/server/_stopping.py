"""When a server is to stop, and waiting for whichever comes first."""

import asyncio
import os
import signal

_STDIN = 0


class StopSignal:
    """Whether the server is asked to stop, by a signal or the end of standard input, and asked again, to stop at once."""

    def __init__(self, *, with_stdin: bool) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()
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
        if not os.read(_STDIN, 4096):  # what it says is ignored
            self._loop.remove_reader(_STDIN)
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
