"""Disciplines: the order among the ready members of one level, group or tree node."""

import heapq
from bisect import bisect_left, bisect_right, insort
from typing import Any, Generic, Protocol, TypeVar

QUANTUM_BYTES = 1400
"""The payload of a full packet in the study by Marx et al.; what fair queueing charges for a turn before it is taken."""


class _Ordered(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


K = TypeVar("K", bound=_Ordered)

_SLACK = 32  # stale entries tolerated beyond the live ones before the heap is rebuilt


class KeyedHeap(Generic[K]):
    """Streams ordered by (key, stream ID). A stream is in it at most once; pushing it again changes its key."""

    def __init__(self) -> None:
        self._heap: list[tuple[K, int]] = []
        self._keys: dict[int, K] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, stream_id: int) -> bool:
        return stream_id in self._keys

    def push(self, stream_id: int, key: K) -> None:
        heap, keys = self._heap, self._keys
        old = keys.get(stream_id)
        if old == key:
            return
        keys[stream_id] = key
        if old is not None and heap[0] == (old, stream_id):  # the one in turn moves back, the usual case
            heapq.heapreplace(heap, (key, stream_id))
            return
        heapq.heappush(heap, (key, stream_id))
        if len(heap) > 2 * len(keys) + _SLACK:
            self._heap = [(key, stream_id) for stream_id, key in keys.items()]
            heapq.heapify(self._heap)

    def discard(self, stream_id: int) -> None:
        self._keys.pop(stream_id, None)
        if not self._keys:  # what is in the heap is stale; a cleared dict gives its room back
            self._keys.clear()
            self._heap.clear()

    def first(self) -> int | None:
        """The stream with the smallest (key, stream ID); None if empty. Drops stale entries, which are invisible to callers."""
        heap, keys = self._heap, self._keys
        while heap:
            key, stream_id = heap[0]
            if keys.get(stream_id) == key:
                return stream_id
            heapq.heappop(heap)
        return None


class Queue(Protocol):
    """Ready members (streams, or groups with numbers below 0) and whose turn it is. Ties go to the lowest number."""

    def __len__(self) -> int:
        """The number of ready members."""

    def enter(self, member: int, weight: int) -> None:
        """It has something to send, and was not in the queue. weight: ignored by disciplines without weights."""

    def leave(self, member: int) -> None:
        """It has nothing more to send, and was in the queue."""

    def forget(self, member: int) -> None:
        """It is closed, in the queue or not; its number may be used again."""

    def first(self) -> int | None:
        """The member whose turn it is; changes nothing."""

    def sent(self, member: int, size_bytes: int) -> None:
        """It was served, in the queue or not."""

    def is_steady(self) -> bool:
        """See Scheduler.is_steady."""


class Fifo(KeyedHeap[int]):
    """The lowest number first, all of it. Stream IDs grow with time, so this is the order of requests."""

    def enter(self, member: int, weight: int) -> None:  # noqa: ARG002 - a queue of equals
        self.push(member, 0)

    def leave(self, member: int) -> None:
        self.discard(member)

    def forget(self, member: int) -> None:
        self.discard(member)

    def sent(self, member: int, size_bytes: int) -> None:
        """Sending changes no order here."""

    def is_steady(self) -> bool:
        return True


class RoundRobin:
    """After a member's packets the next higher number has its turn, after the highest the lowest.

    packets: how many a member sends before the turn passes on. A member that leaves loses what is left of its batch only if
    another one is served meanwhile.
    """

    def __init__(self, packets: int = 1) -> None:
        self.packets = packets
        self._ready: list[int] = []
        self._last: int | None = None
        self._batch = 0  # packets that _last has sent in this turn

    def __len__(self) -> int:
        return len(self._ready)

    def enter(self, member: int, weight: int) -> None:  # noqa: ARG002 - all are equal
        insort(self._ready, member)

    def leave(self, member: int) -> None:
        del self._ready[bisect_left(self._ready, member)]

    def forget(self, member: int) -> None:
        """Nothing is kept but the place in the round, which is that of the number."""

    def first(self) -> int | None:
        ready, last = self._ready, self._last
        if last is None or not ready:
            return ready[0] if ready else None
        if self._batch < self.packets:
            place = bisect_left(ready, last)
            if place < len(ready) and ready[place] == last:
                return last
        place = bisect_right(ready, last)
        return ready[place] if place < len(ready) else ready[0]

    def sent(self, member: int, size_bytes: int) -> None:  # noqa: ARG002 - packets count, not bytes
        if member == self._last and self._batch < self.packets:
            self._batch += 1
        else:
            self._last, self._batch = member, 1

    def is_steady(self) -> bool:
        return len(self._ready) == 1 and self.packets == 1


class NewcomersFirst:
    """Turns for one packet each; those that have not been served yet go before all that have, lowest number first.

    Source: H2O's scheduler of extensible priorities, incremental responses of one urgency (first emission from the list
    ordered by stream ID, later ones from the end of the other).
    """

    def __init__(self) -> None:
        self._ready: list[tuple[int, int, int]] = []  # (0, 0, number) before the first packet, else (1, turn, number)
        self._turns: dict[int, int] = {}
        self._turn = 0

    def __len__(self) -> int:
        return len(self._ready)

    def enter(self, member: int, weight: int) -> None:  # noqa: ARG002 - all are equal
        insort(self._ready, self._key(member))

    def leave(self, member: int) -> None:
        del self._ready[bisect_left(self._ready, self._key(member))]

    def forget(self, member: int) -> None:
        self._turns.pop(member, None)

    def first(self) -> int | None:
        return self._ready[0][2] if self._ready else None

    def sent(self, member: int, size_bytes: int) -> None:  # noqa: ARG002 - packets count, not bytes
        place = bisect_left(self._ready, key := self._key(member))
        self._turn += 1
        self._turns[member] = self._turn
        if place < len(self._ready) and self._ready[place] == key:
            del self._ready[place]
            insort(self._ready, self._key(member))

    def is_steady(self) -> bool:
        return len(self._ready) == 1

    def _key(self, member: int) -> tuple[int, int, int]:
        turn = self._turns.get(member)
        return (0, 0, member) if turn is None else (1, turn, member)
