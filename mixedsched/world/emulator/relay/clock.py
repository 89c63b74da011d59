"""The relay's time: microseconds since the first datagram."""

from __future__ import annotations

import time
from collections.abc import Sequence

from mixedsched.world.emulator.notes import Note, arrived_ns

NANOSECONDS_PER_MICROSECOND = 1000


class RelayClock:
    """Microseconds since begin_at(), or since it was made before that.

    A link begins with its first packet, not with the process: a browser takes its time to start, and the phases of a rate
    that varies must not depend on that.
    """

    def __init__(self) -> None:
        self._zero_ns = time.monotonic_ns()

    def now_us(self) -> int:
        return (time.monotonic_ns() - self._zero_ns) // NANOSECONDS_PER_MICROSECOND

    def begin_at(self, at_us: int) -> None:
        """Let what was at_us be 0 from now on."""
        self._zero_ns += at_us * NANOSECONDS_PER_MICROSECOND

    def arrival_us(self, notes: Sequence[Note]) -> int:
        """When a datagram that was read just now came in: the time it waited for us does not count as the link's."""
        return (arrived_ns(notes) - self._zero_ns) // NANOSECONDS_PER_MICROSECOND
