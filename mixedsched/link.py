"""One direction of an emulated link at work. Whoever owns the time drives it: a relay with a clock, or a simulator."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from mixedsched.profile import Direction

NANOSECONDS_PER_MICROSECOND = 1000
IP_UDP_HEADER_BYTES = 28  # IPv4 and UDP; a real link carries them too

T = TypeVar("T")


class Fate(StrEnum):
    """What a link does to a packet when it is handed over."""

    QUEUED = "queued"
    OVERFLOWED = "overflowed"
    LOST = "lost"


@dataclass(slots=True)
class LinkCounters:
    """What happened so far, in packets and in bytes on the link (headers included)."""

    packets: int = 0
    size_bytes: int = 0
    overflowed: int = 0
    lost: int = 0


class Link(Generic[T]):
    """Queue, then rate, then loss and delay; packets stay in order.

    A packet waits behind those before it, takes its size over the rate to leave, and may then be lost on the way, so a lost
    packet has used the link like any other. Whether the n-th packet is lost depends on the seed and n alone: every scheme
    meets the same network. Transmission times are rounded up, in nanoseconds, so no link beats its rate.
    """

    def __init__(self, direction: Direction, rng: random.Random) -> None:
        self.counters = LinkCounters()
        self._direction = direction
        self._rng = rng
        self._idle_from_ns = 0
        self._waiting: deque[tuple[int, int]] = deque()  # (when it has left the queue, its size)
        self._waiting_bytes = 0
        self._in_flight: deque[tuple[int, T]] = deque()  # (when it arrives, packet)

    def push(self, packet: T, size_bytes: int, now_us: int) -> Fate:
        """Hand over a packet. size_bytes: on the link, headers included. now_us: never less than before."""
        lost = self._rng.random() < self._direction.loss_ratio  # drawn for every packet, so that draws do not shift
        self._let_leave(now_us)
        limit = self._direction.queue_bytes
        if limit is not None and self._waiting_bytes + size_bytes > limit:
            self.counters.overflowed += 1
            return Fate.OVERFLOWED
        self.counters.packets += 1
        self.counters.size_bytes += size_bytes
        left_ns = self._transmit(size_bytes, now_us)
        if lost:
            self.counters.lost += 1
            return Fate.LOST
        arrives_us = -(-left_ns // NANOSECONDS_PER_MICROSECOND) + self._direction.delay_us
        self._in_flight.append((arrives_us, packet))
        return Fate.QUEUED

    def next_due_us(self) -> int | None:
        """When the next packet arrives; None if none is under way."""
        return self._in_flight[0][0] if self._in_flight else None

    def pop_due(self, now_us: int) -> list[T]:
        """The packets that have arrived by now, in order."""
        due = []
        while self._in_flight and self._in_flight[0][0] <= now_us:
            due.append(self._in_flight.popleft()[1])
        return due

    def _transmit(self, size_bytes: int, now_us: int) -> int:
        """When the packet has left the queue, in ns."""
        start_ns = max(self._idle_from_ns, now_us * NANOSECONDS_PER_MICROSECOND)
        rate_bps = self._direction.rate_bps
        if rate_bps is None:
            return start_ns
        self._idle_from_ns = start_ns - (-size_bytes * 8_000_000_000 // rate_bps)
        self._waiting.append((self._idle_from_ns, size_bytes))
        self._waiting_bytes += size_bytes
        return self._idle_from_ns

    def _let_leave(self, now_us: int) -> None:
        now_ns = now_us * NANOSECONDS_PER_MICROSECOND
        while self._waiting and self._waiting[0][0] <= now_ns:
            self._waiting_bytes -= self._waiting.popleft()[1]


def direction_rng(seed: int, direction: str) -> random.Random:
    """The randomness of one direction ("down" or "up") of the link with this seed."""
    return random.Random(f"{seed}/{direction}")
