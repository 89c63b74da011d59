"""Queues before the link: the plain one, and CoDel, the active queue management of RFC 8289."""

from collections import deque
from collections.abc import Iterator
from math import isqrt
from typing import Generic, TypeVar

from mixedsched.core.link._fate import LinkCounters
from mixedsched.core.link._pace import Pace
from mixedsched.model.profile import FULL_PACKET_BYTES, CoDel

NANOSECONDS_PER_MICROSECOND = 1000
RECENT_INTERVALS = 16  # a dropping phase that ended less than this ago tells the next one how fast to drop

T = TypeVar("T")


class DropTailQueue:
    """A packet occupies the queue until it has left. When it will have left is known as soon as it is accepted."""

    def __init__(self, limit_bytes: int | None, pace: Pace, counters: LinkCounters) -> None:
        self._limit_bytes = limit_bytes
        self._send = pace.send
        self._counters = counters
        self._leaving: deque[tuple[int, int]] = deque()  # (when it has left, its size)
        self._bytes = 0

    def offer(self, size_bytes: int, now_ns: int) -> int | None:
        """When the packet has left, in ns; None if there is no room for it."""
        leaving = self._leaving
        while leaving and leaving[0][0] <= now_ns:
            self._bytes -= leaving.popleft()[1]
        occupied_bytes = self._bytes + size_bytes
        if self._limit_bytes is not None and occupied_bytes > self._limit_bytes:
            return None
        left_ns = self._send(size_bytes, now_ns)
        if left_ns > now_ns:
            leaving.append((left_ns, size_bytes))
            self._bytes = occupied_bytes
            if occupied_bytes > self._counters.highest_queue_bytes:
                self._counters.highest_queue_bytes = occupied_bytes
        return left_ns


class CoDelQueue(Generic[T]):
    """A queue in bytes whose packets learn only when they are taken from it whether they leave or are dropped.

    A packet is taken as soon as the pace could begin with it, and occupies the queue until it has left. Names and steps are
    those of RFC 8289 section 5, where a time of 0 stands for our None.
    """

    def __init__(self, parameters: CoDel, limit_bytes: int | None, pace: Pace, counters: LinkCounters) -> None:
        self._target_ns = parameters.target_us * NANOSECONDS_PER_MICROSECOND
        self._interval_ns = parameters.interval_us * NANOSECONDS_PER_MICROSECOND
        self._limit_bytes = limit_bytes
        self._pace = pace
        self._counters = counters
        self._waiting: deque[tuple[T, int, int]] = deque()  # (item, its size, since when)
        self._backlog_bytes = 0  # of those
        self._leaving_bytes = 0  # the one taken last
        self._leaving_until_ns = 0
        self._first_above_ns: int | None = None  # when the wait will have been too long for an interval
        self._dropping = False
        self._drop_next_ns = 0
        self._count = 0  # drops in this dropping phase
        self._last_count = 0  # where it began

    def offer(self, item: T, size_bytes: int, now_ns: int) -> bool:
        """Accept a packet if there is room. take_until(now_ns) must have been exhausted before."""
        occupied_bytes = self._backlog_bytes + size_bytes
        if self._leaving_until_ns > now_ns:
            occupied_bytes += self._leaving_bytes
        if self._limit_bytes is not None and occupied_bytes > self._limit_bytes:
            return False
        self._waiting.append((item, size_bytes, now_ns))
        self._backlog_bytes += size_bytes
        self._counters.highest_queue_bytes = max(self._counters.highest_queue_bytes, occupied_bytes)
        return True

    def next_ns(self) -> int | None:
        """When the next packet will be taken; None if there is none."""
        return self._pace.ready_ns(self._waiting[0][2]) if self._waiting else None

    def take_until(self, now_ns: int) -> Iterator[tuple[T, int | None]]:
        """Every packet taken by now, in order, with the time at which it has left; None: it is dropped."""
        while (start_ns := self.next_ns()) is not None and start_ns <= now_ns:
            dropped, item, size_bytes = self._deque(start_ns)
            left_ns = self._pace.send(size_bytes, start_ns)
            self._leaving_bytes, self._leaving_until_ns = size_bytes, left_ns
            for victim in dropped:
                yield victim, None
            yield item, left_ns

    def _deque(self, now_ns: int) -> tuple[list[T], T, int]:
        """deque() of the RFC: what is dropped now, and what leaves, with its size."""
        dropped: list[T] = []
        item, size_bytes, ok_to_drop = self._dodeque(now_ns)
        if self._dropping:
            self._dropping = ok_to_drop
            while self._dropping and now_ns >= self._drop_next_ns:
                dropped.append(item)
                self._count += 1
                item, size_bytes, self._dropping = self._dodeque(now_ns)
                if self._dropping:
                    self._drop_next_ns = self._control_law(self._drop_next_ns)
        elif ok_to_drop:
            dropped.append(item)
            item, size_bytes, _ = self._dodeque(now_ns)
            self._begin_dropping(now_ns)
        return dropped, item, size_bytes

    def _begin_dropping(self, now_ns: int) -> None:
        """If the last phase ended not long ago, the rate that held the queue then is a good one to begin with."""
        self._dropping = True
        delta = self._count - self._last_count
        is_recent = now_ns - self._drop_next_ns < RECENT_INTERVALS * self._interval_ns
        self._count = self._last_count = delta if delta > 1 and is_recent else 1
        self._drop_next_ns = self._control_law(now_ns)

    def _dodeque(self, now_ns: int) -> tuple[T, int, bool]:
        """dodeque() of the RFC: the first packet, its size, and whether waits have been too long for long enough to drop it.

        The last packet never may be dropped, so there is one behind each that is.
        """
        item, size_bytes, since_ns = self._waiting.popleft()
        self._backlog_bytes -= size_bytes
        if now_ns - since_ns < self._target_ns or self._backlog_bytes <= FULL_PACKET_BYTES:
            self._first_above_ns = None
        elif self._first_above_ns is None:
            self._first_above_ns = now_ns + self._interval_ns
        elif now_ns >= self._first_above_ns:
            return item, size_bytes, True
        return item, size_bytes, False

    def _control_law(self, time_ns: int) -> int:
        """time + interval / sqrt(count), in integers, so that it is the same everywhere."""
        return time_ns + isqrt(self._interval_ns * self._interval_ns // self._count)
