"""The relay's time, and waiting for many sockets with time-outs that a packet can rely on."""

import select
import selectors
import time
from collections.abc import Callable

from mixedsched.world.emulator._timestamps import Ancillary, arrived_ns

Ready = Callable[[], None]

_NANOSECONDS_PER_MICROSECOND = 1000


class RelayClock:
    """Microseconds since begin_at(); before that, since it was made.

    A link begins with its first packet, not with the process: a browser takes a while to start, and the phases of a varying
    rate must not depend on that.
    """

    def __init__(self) -> None:
        self._zero_ns = time.monotonic_ns()

    def now_us(self) -> int:
        return (time.monotonic_ns() - self._zero_ns) // _NANOSECONDS_PER_MICROSECOND

    def begin_at(self, at_us: int) -> None:
        """Make at_us the new zero."""
        self._zero_ns += at_us * _NANOSECONDS_PER_MICROSECOND

    def arrival_us(self, ancillary: Ancillary) -> int:
        """When a datagram that was read just now came in: the time that it waited for us is not the link's."""
        return (arrived_ns(ancillary) - self._zero_ns) // _NANOSECONDS_PER_MICROSECOND


class PreciseSelector:
    """Callbacks for files that can be read, with time-outs in microseconds and for any number of files.

    epoll counts its time-outs in milliseconds, and a packet at 9 Mbit/s takes one; select() ends at file number 1023. So
    select() does the waiting, for one file, which is epoll itself. (kqueue is a file too.)
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._file: int = self._selector.fileno()  # opened early, so its number is a low one

    def add(self, file: int, ready: Ready) -> None:
        self._selector.register(file, selectors.EVENT_READ, ready)

    def remove(self, file: int) -> None:
        self._selector.unregister(file)

    def wait(self, limit_us: int) -> list[Ready]:
        """The callbacks of the files that can be read now; waits up to limit_us for one."""
        if limit_us > 0:
            select.select((self._file,), (), (), limit_us / 1_000_000)
        return [key.data for key, _ in self._selector.select(0)]

    def close(self) -> None:
        self._selector.close()
