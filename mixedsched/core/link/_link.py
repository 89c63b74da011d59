"""One direction of a link at work: queue, pace, loss, delay, one after the other."""

import random
from typing import Generic, NamedTuple, TypeVar

from mixedsched.core.link._delay import PacketQueue, arrivals_of, delay_process
from mixedsched.core.link._fate import Fate, LinkCounters, Observer, PacketRecord, RecordsInOrder
from mixedsched.core.link._loss import copies_process
from mixedsched.core.link._pace import pace_of
from mixedsched.core.link._queue import CoDelQueue, DropTailQueue
from mixedsched.model.profile import Direction

NANOSECONDS_PER_MICROSECOND = 1000

T = TypeVar("T")


class _Waiting(NamedTuple, Generic[T]):
    """A packet whose end is not known when it is handed over."""

    packet: T
    number: int
    size_bytes: int
    in_us: int
    copies: int
    delay_us: int | None
    """`copies` and `delay_us` were drawn when it was handed over."""


class Link(Generic[T]):
    """Takes packets and gives back those that arrive; the owner of the clock drives it.

    A packet waits behind those before it, leaves at the link's pace, and may then be lost on the way, so a lost packet has used
    the link like any other. The n-th packet handed over gets the n-th decision of each kind (loss, duplicate, overtaking,
    jitter), whatever became of those before it: every scheme meets the same network. Each kind has randomness of its
    own, made from `rng`, so that adding one does not change the others.
    """

    def __init__(self, direction: Direction, rng: random.Random, observe: Observer | None = None) -> None:
        """rng: see direction_rng. observe: called with each packet's end, in order of packet number, as soon as it is known."""
        self.counters = LinkCounters()
        self._number = 0
        self._draw_delay_us = delay_process(direction, rng)
        self._draw_copies = copies_process(direction, rng)
        pace = pace_of(direction)
        self._offer = DropTailQueue(direction.queue_bytes, pace, self.counters).offer
        self._codel: CoDelQueue[_Waiting[T]] | None = None
        if direction.codel is not None:
            self._codel = CoDelQueue(direction.codel, direction.queue_bytes, pace, self.counters)
        self._under_way: PacketQueue[T] = arrivals_of(direction)
        self._keeps_order = bool(direction.jitter_us) and direction.keeps_order
        self._latest_us = 0  # arrival so far
        self._records = RecordsInOrder(observe) if observe is not None else None

    def push(self, packet: T, size_bytes: int, now_us: int) -> Fate:
        """Hand over a packet. size_bytes: on the link, headers included. now_us: never less than before.

        Returns QUEUED, OVERFLOWED or LOST. Under CoDel a packet that is QUEUED may still come to another end.
        """
        self._number += 1
        copies, delay_us = self._draw_copies(), self._draw_delay_us()  # for every packet, so that draws do not shift
        if self._codel is not None:
            waiting = _Waiting(packet, self._number, size_bytes, now_us, copies, delay_us)
            return self._push_to_codel(self._codel, waiting)
        counters = self.counters
        left_ns = self._offer(size_bytes, now_us * NANOSECONDS_PER_MICROSECOND)
        if left_ns is None:
            counters.overflowed += 1
            out_us, fate = None, Fate.OVERFLOWED
        else:
            counters.packets += 1
            counters.size_bytes += size_bytes
            out_us = self._leave(packet, left_ns, copies, delay_us)
            fate = Fate.QUEUED if copies else Fate.LOST
        if self._records is not None:
            end = _end_of(copies) if left_ns is not None else fate
            self._records.add(PacketRecord(self._number, size_bytes, now_us, out_us, end))
        return fate

    def next_due_us(self) -> int | None:
        """When to call pop_due next; None if nothing is under way. Under CoDel nothing need arrive then."""
        arrives_us = self._under_way.next_us()
        if self._codel is None:
            return arrives_us
        taken_ns = self._codel.next_ns()
        if taken_ns is None:
            return arrives_us
        taken_us = -(-taken_ns // NANOSECONDS_PER_MICROSECOND)  # rounded up
        return taken_us if arrives_us is None else min(arrives_us, taken_us)

    def pop_due(self, now_us: int) -> list[T]:
        """The packets that have arrived by now, in order of arrival; at the same moment, in the order of handing over."""
        if self._codel is not None:
            self._take_from_codel(self._codel, now_us)
        return self._under_way.pop_due(now_us)

    def _leave(self, packet: T, left_ns: int, copies: int, delay_us: int | None) -> int | None:
        """The packet has passed the queue. Returns when it arrives; None: it is lost."""
        counters = self.counters
        if not copies:
            counters.lost += 1
            return None
        arrives_us = -(-left_ns // NANOSECONDS_PER_MICROSECOND)
        if delay_us is None:
            counters.reordered += 1
        else:
            arrives_us += delay_us
            if self._keeps_order:
                self._latest_us = arrives_us = max(arrives_us, self._latest_us)
        self._under_way.add(arrives_us, packet)
        if copies > 1:
            counters.duplicated += 1
            self._under_way.add(arrives_us, packet)
        return arrives_us

    def _push_to_codel(self, codel: CoDelQueue[_Waiting[T]], waiting: _Waiting[T]) -> Fate:
        self._take_from_codel(codel, waiting.in_us)
        if not codel.offer(waiting, waiting.size_bytes, waiting.in_us * NANOSECONDS_PER_MICROSECOND):
            self.counters.overflowed += 1
            self._note(waiting, None, Fate.OVERFLOWED)
            return Fate.OVERFLOWED
        self.counters.packets += 1
        self.counters.size_bytes += waiting.size_bytes
        self._take_from_codel(codel, waiting.in_us)  # it may leave at once
        return Fate.QUEUED

    def _take_from_codel(self, codel: CoDelQueue[_Waiting[T]], now_us: int) -> None:
        """Let time pass in the queue: what leaves by now leaves, what is dropped by now is gone."""
        for waiting, left_ns in codel.take_until(now_us * NANOSECONDS_PER_MICROSECOND):
            if left_ns is None:
                self.counters.dropped_by_aqm += 1
                self._note(waiting, None, Fate.DROPPED)
            else:
                out_us = self._leave(waiting.packet, left_ns, waiting.copies, waiting.delay_us)
                self._note(waiting, out_us, _end_of(waiting.copies))

    def _note(self, waiting: _Waiting[T], out_us: int | None, fate: Fate) -> None:
        if self._records is not None:
            self._records.add(PacketRecord(waiting.number, waiting.size_bytes, waiting.in_us, out_us, fate))


def _end_of(copies: int) -> Fate:
    """The fate of a packet that has passed the queue, by how many copies of it arrive."""
    return (Fate.LOST, Fate.DELIVERED, Fate.DUPLICATED)[copies]
