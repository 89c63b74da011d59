"""Waiting for many sockets with time-outs that a packet can rely on."""

from __future__ import annotations

import select
import selectors
from collections.abc import Callable
from pathlib import Path

Ready = Callable[[], None]

_TIMER_SLACK = Path("/proc/self/timerslack_ns")  # Linux lets timers of ordinary programs fire 50 us late, to save power


class PreciseSelector:
    """Calls back when files can be read. Time-outs are in microseconds, and any number of files will do.

    epoll counts its time-outs in milliseconds, and a packet at 9 Mbit/s takes one; select() stops at file number 1023. So
    select() does the waiting, for the one file that epoll itself is. kqueue is a file too.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._file: int = self._selector.fileno()  # opened early, so its number is a low one

    def add(self, file: int, ready: Ready) -> None:
        self._selector.register(file, selectors.EVENT_READ, ready)

    def remove(self, file: int) -> None:
        self._selector.unregister(file)

    def wait(self, limit_us: int) -> list[Ready]:
        """What to call for the files that can be read now; waits up to limit_us for one."""
        if limit_us > 0:
            select.select((self._file,), (), (), limit_us / 1_000_000)
        return [key.data for key, _ in self._selector.select(0)]

    def close(self) -> None:
        self._selector.close()


def ask_for_exact_timers() -> None:
    """Have this process' time-outs end when they should, where the system lets us."""
    try:
        _TIMER_SLACK.write_text("1", encoding="ascii")
    except OSError:  # not Linux, or /proc is not there
        return
