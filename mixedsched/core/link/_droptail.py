"""The plain queue: first in, first out, and what finds it full is dropped."""

from collections import deque

from mixedsched.core.link._fate import LinkCounters
from mixedsched.core.link._pace import Pace


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
