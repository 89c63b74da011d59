"""What becomes of packets, and the counts of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Fate(StrEnum):
    """What becomes of a packet: the first three are known when it is handed over, the others only appear in records."""

    QUEUED = "queued"  # it is under way; under CoDel it may still be dropped or lost
    OVERFLOWED = "overflowed"  # the queue was full
    LOST = "lost"  # on the way, after it has used the link
    DROPPED = "dropped"  # by active queue management, as it was about to leave
    DELIVERED = "delivered"
    DUPLICATED = "duplicated"  # delivered twice


@dataclass(slots=True)
class LinkCounters:
    """What happened so far, in packets and in bytes on the link (headers included).

    packets, size_bytes: accepted into the queue. overflowed: refused there. dropped_by_aqm: by CoDel. lost: on the way.
    duplicated: arrive twice. reordered: sent on without delay. highest_queue_bytes: waiting or leaving at one moment.
    """

    packets: int = 0
    size_bytes: int = 0
    overflowed: int = 0
    lost: int = 0
    dropped_by_aqm: int = 0
    duplicated: int = 0
    reordered: int = 0
    highest_queue_bytes: int = 0


class PacketRecord(NamedTuple):
    """One packet's end. number: from 1, in the order of handing over. in_us: handed over; out_us: due to arrive, or None.

    fate: any but QUEUED.
    """

    number: int
    size_bytes: int
    in_us: int
    out_us: int | None
    fate: Fate


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
