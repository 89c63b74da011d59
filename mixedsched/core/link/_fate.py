"""The fates of packets, and their counts."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Fate(StrEnum):
    """The fate of a packet: the first three are known when it is handed over, the others only appear in records."""

    QUEUED = "queued"  # it is under way; under CoDel it may still be dropped or lost
    OVERFLOWED = "overflowed"  # the queue was full
    LOST = "lost"  # on the way, after it has used the link
    DROPPED = "dropped"  # by active queue management, as it was about to leave
    DELIVERED = "delivered"
    DUPLICATED = "duplicated"  # delivered twice


@dataclass(slots=True)
class LinkCounters:
    """Counts so far, in packets and in bytes on the link (headers included)."""

    packets: int = 0
    size_bytes: int = 0
    """`packets` and `size_bytes` were accepted into the queue."""
    overflowed: int = 0
    """Packets refused by a full queue."""
    lost: int = 0
    """Packets lost on the way."""
    dropped_by_aqm: int = 0
    """Packets dropped by CoDel."""
    duplicated: int = 0
    """Packets that arrive twice."""
    reordered: int = 0
    """Packets sent on without delay, which overtake others."""
    highest_queue_bytes: int = 0
    """The most that was waiting or leaving at one moment."""


class PacketRecord(NamedTuple):
    """One packet's end."""

    number: int
    """From 1, in the order in which packets were handed over."""
    size_bytes: int
    in_us: int
    """When it was handed over."""
    out_us: int | None
    """When it is due to arrive; None if it never does."""
    fate: Fate
    """Never QUEUED."""


Observer = Callable[[PacketRecord], object]


class RecordsInOrder:
    """Passes records on in order of packet number: one waits until all before it are there."""

    def __init__(self, observe: Observer) -> None:
        self._observe = observe
        self._next_number = 1
        self._waiting: dict[int, PacketRecord] = {}

    def add(self, record: PacketRecord) -> None:
        """Each number comes once."""
        if record.number != self._next_number:
            self._waiting[record.number] = record
            return
        self._next_number += 1
        self._observe(record)
        while self._waiting and (due := self._waiting.pop(self._next_number, None)) is not None:
            self._next_number += 1
            self._observe(due)
