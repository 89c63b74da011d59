"""The relay's time, and waiting for many sockets with time-outs that a packet can rely on."""

from __future__ import annotations

import select
import selectors
import time
from collections.abc import Callable

from mixedsched.world.emulator.timestamps import Ancillary, arrived_ns

Ready = Callable[[], None]

_NANOSECONDS_PER_MICROSECOND = 1000


class RelayClock:
    """Microseconds since begin_at(), or since it was made before that.

    A link begins with its first packet, not with the process: a browser takes its time to start, and the phases of a rate
    that varies must not depend on that.
    """

    def __init__(self) -> None:
        self._zero_ns = time.monotonic_ns()

    def now_us(self) -> int:
        return (time.monotonic_ns() - self._zero_ns) // _NANOSECONDS_PER_MICROSECOND

    def begin_at(self, at_us: int) -> None:
        """Let what was at_us be 0 from now on."""
        self._zero_ns += at_us * _NANOSECONDS_PER_MICROSECOND

    def arrival_us(self, ancillary: Ancillary) -> int:
        """When a datagram that was read just now came in: the time it waited for us does not count as the link's."""
        return (arrived_ns(ancillary) - self._zero_ns) // _NANOSECONDS_PER_MICROSECOND


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
