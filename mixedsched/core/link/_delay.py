"""Delay after the queue: how long each packet is under way, and the buffer that holds it until it arrives."""

import random
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import repeat
from typing import Generic, Protocol, TypeVar

from mixedsched.core.link._loss import chance, stream_beside
from mixedsched.model.profile import Direction

T = TypeVar("T")


def delay_process(direction: Direction, rng: random.Random) -> Callable[[], int | None]:
    """The next packet's delay in microseconds; None: it is sent on without delay, and so may overtake others.

    To be asked for every packet handed over. Jitter is spread evenly over whole microseconds, both ends included.
    """
    draw_delay = _jitter(direction, rng)
    if not direction.reorder_ratio:
        return draw_delay
    overtakes = chance(direction.reorder_ratio, stream_beside(rng, "reorder"))

    def delay_us() -> int | None:
        delay_us = draw_delay()
        return None if overtakes() else delay_us

    return delay_us


def _jitter(direction: Direction, rng: random.Random) -> Callable[[], int]:
    delay_us, jitter_us = direction.delay_us, direction.jitter_us
    if not jitter_us:
        return repeat(delay_us).__next__
    draw = stream_beside(rng, "jitter").random
    least_us, choices = delay_us - jitter_us, 2 * jitter_us + 1
    return lambda: least_us + int(draw() * choices)


class PacketQueue(Protocol[T]):
    """Packets under way. Those that arrive at the same moment come in the order in which they were added."""

    def add(self, arrives_us: int, packet: T) -> None: ...

    def next_us(self) -> int | None: ...

    def pop_due(self, now_us: int) -> list[T]: ...


def arrivals_of(direction: Direction) -> PacketQueue[T]:
    """The buffer for packets of this direction."""
    return QueueInAnyOrder() if direction.may_reorder else QueueInOrder()


class QueueInOrder(Generic[T]):
    """For links on which no packet overtakes another one."""

    def __init__(self) -> None:
        self._packets: deque[tuple[int, T]] = deque()

    def add(self, arrives_us: int, packet: T) -> None:
        self._packets.append((arrives_us, packet))

    def next_us(self) -> int | None:
        return self._packets[0][0] if self._packets else None

    def pop_due(self, now_us: int) -> list[T]:
        packets, due = self._packets, []
        while packets and packets[0][0] <= now_us:
            due.append(packets.popleft()[1])
        return due


class QueueInAnyOrder(Generic[T]):
    """For links on which packets overtake each other."""

    def __init__(self) -> None:
        self._packets: list[tuple[int, int, T]] = []  # a heap; the number breaks ties
        self._added = 0

    def add(self, arrives_us: int, packet: T) -> None:
        self._added += 1
        heappush(self._packets, (arrives_us, self._added, packet))

    def next_us(self) -> int | None:
        return self._packets[0][0] if self._packets else None

    def pop_due(self, now_us: int) -> list[T]:
        due = []
        while self._packets and self._packets[0][0] <= now_us:
            due.append(heappop(self._packets)[2])
        return due
