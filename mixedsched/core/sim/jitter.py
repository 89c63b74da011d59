"""Jitter: some packets are overtaken by those behind them, and what the receiver makes of it."""

import heapq
import random
from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

ONE_IN = 4


@dataclass(frozen=True, slots=True)
class Jitter:
    """Which packets are late, by how much, and whether the receiver waits for them.

    Source: Marx et al. 2019, section on jitter; the published code has `fourth` with low = high = 2.
    """

    pattern: Literal["fourth", "random"]
    """`fourth` delays every fourth packet, `random` each with probability 1/4. A late one is overtaken by low..high
    packets of the pace (evenly distributed, drawn from seed).
    """
    low: int = 1
    high: int = 3
    seed: int = 1
    in_order: bool = False
    """If set, nothing behind a missing packet is handed to HTTP/3, whatever stream it is of, as over TCP; otherwise
    only what is behind a gap in its own stream waits, as over QUIC.
    """


@dataclass(frozen=True, slots=True)
class Packet:
    """number: place in the connection, from 0. place: place among the packets of its stream, from 0."""

    number: int
    stream_id: int
    place: int
    size_bytes: int


class JitteryPath:
    """From the end of the pipe to HTTP/3: packets go in as they leave, and come out when they are handed over."""

    def __init__(self, jitter: Jitter, pace_us: int) -> None:
        self.held_bytes = 0  # that arrived and had to wait for an earlier packet
        self._jitter = jitter
        self._pace_us = pace_us
        self._rng = random.Random(f"{jitter.seed}/jitter")
        self._under_way: list[tuple[int, bool, int, Packet]] = []  # (arrives, is late, number, packet)
        self._next_place: defaultdict[int, int] = defaultdict(int)  # by stream, or of the connection
        self._held: defaultdict[int, dict[int, Packet]] = defaultdict(dict)

    def push(self, packet: Packet, leaves_us: int) -> None:
        """A packet leaves the pipe. A late one comes just behind those that were sent meanwhile."""
        slots = self._late_by(packet.number)
        arrives_us = leaves_us + slots * self._pace_us
        heapq.heappush(self._under_way, (arrives_us, slots > 0, packet.number, packet))

    def next_due_us(self) -> int | None:
        return self._under_way[0][0] if self._under_way else None

    def pop_due(self, now_us: int) -> list[Packet]:
        """The packets that are handed to HTTP/3 at this moment, in order."""
        handed: list[Packet] = []
        while self._under_way and self._under_way[0][0] <= now_us:
            packet = heapq.heappop(self._under_way)[3]
            handed += self._release(packet)
        return handed

    def _late_by(self, number: int) -> int:
        """By how many packets this one is overtaken. Drawn for every packet, so that draws do not shift."""
        chance, slots = self._rng.random(), self._rng.randint(self._jitter.low, self._jitter.high)
        is_late = number % ONE_IN == ONE_IN - 1 if self._jitter.pattern == "fourth" else chance < 1 / ONE_IN
        return slots if is_late else 0

    def _release(self, packet: Packet) -> list[Packet]:
        """The packet and those that waited for it; nothing if it has to wait itself."""
        line, place = (-1, packet.number) if self._jitter.in_order else (packet.stream_id, packet.place)
        held = self._held[line]
        held[place] = packet
        if place != self._next_place[line]:
            self.held_bytes += packet.size_bytes
        released = []
        while (following := held.pop(self._next_place[line], None)) is not None:
            self._next_place[line] += 1
            released.append(following)
        return released
