"""Fair sharing of bytes: among equals, and by weight."""

import heapq
from math import gcd

from mixedsched.core.schedulers._queue import QUANTUM_BYTES, KeyedHeap

_SLACK = 32  # stale entries tolerated beyond as many as there are live ones, before the heap is rebuilt


class ByteFair:
    """Members take turns so that each has sent equally many bytes; equal turns would favour large frames.

    Each member has a virtual time, the bytes it has sent. The smallest goes next, ties by member number. A member that enters
    starts no earlier than the one served last: idleness earns no credit, and a newcomer waits for one turn at most.
    """

    def __init__(self) -> None:
        self._ready: KeyedHeap[int] = KeyedHeap()  # by virtual bytes
        self._virtual_bytes: dict[int, int] = {}  # of members not ready too, so that leaving does not reset a turn
        self._now = 0

    def __len__(self) -> int:
        return len(self._ready)

    def enter(self, member: int) -> None:
        start = max(self._virtual_bytes.get(member, 0), self._now)
        self._virtual_bytes[member] = start
        self._ready.push(member, start)

    def leave(self, member: int) -> None:
        self._ready.discard(member)

    def forget(self, member: int) -> None:
        self.leave(member)
        self._virtual_bytes.pop(member, None)

    def first(self) -> int | None:
        return self._ready.first()

    def sent(self, member: int, size_bytes: int) -> None:
        start = self._virtual_bytes.get(member, self._now)  # a member may be charged that never was ready here
        if start > self._now:
            self._now = start
        then = start + size_bytes
        self._virtual_bytes[member] = then
        if member in self._ready:
            self._ready.push(member, then)


class WeightedFair:
    """Ready members share in proportion to their weights, in bytes.

    Each has a virtual time v; the smallest goes next, ties by number. Serving the one with time v makes V = v and adds the
    bytes over its weight to v. Who comes (back) starts at V plus a full packet over its weight: no credit and no debt is
    kept, a heavy newcomer is served almost at once, and one of weight 1 beside one of 256 after some 256 packets.
    A changed weight counts from the next time the member is served or enters.

    by_packets: a turn costs a full packet whatever was sent, so that weights share packets instead of bytes.
    Virtual times are whole numbers, bytes times the least common multiple of all weights met: ties are exact.
    Source: Marx et al. 2019, published code (prioritization tree of `quicker`), with ties by number instead of heap position.
    """

    def __init__(self, *, by_packets: bool = False) -> None:
        self._by_packets = by_packets
        self._unit = 1
        self._now = 0
        self._heap: list[tuple[int, int]] = []  # with stale entries, but never at the top
        self._times: dict[int, int] = {}  # of ready members
        self._per_byte: dict[int, int] = {}  # of ready members
        self._weights: dict[int, int] = {}  # of ready members

    def __len__(self) -> int:
        return len(self._times)

    def enter(self, member: int, weight: int) -> None:
        self.set_weight(member, weight)
        time = self._now + QUANTUM_BYTES * self._per_byte[member]
        self._times[member] = time
        heapq.heappush(self._heap, (time, member))

    def leave(self, member: int) -> None:
        heap, times = self._heap, self._times
        del times[member], self._per_byte[member], self._weights[member]
        while heap and times.get(heap[0][1]) != heap[0][0]:
            heapq.heappop(heap)
        self._limit()

    def forget(self, member: int) -> None:
        """Nothing is kept of those that are not ready."""

    def set_weight(self, member: int, weight: int) -> None:
        """For a member that is ready: from its next turn on."""
        factor = weight // gcd(self._unit, weight)
        if factor > 1:
            self._refine(factor)
        self._weights[member] = weight
        self._per_byte[member] = self._unit // weight

    def first(self) -> int | None:
        heap = self._heap
        return heap[0][1] if heap else None

    def sent(self, member: int, size_bytes: int) -> None:
        times = self._times
        time = times.get(member)
        if time is None:
            return
        then = time + (QUANTUM_BYTES if self._by_packets else size_bytes) * self._per_byte[member]
        times[member] = then
        heap = self._heap
        if heap[0][1] != member:
            heapq.heappush(heap, (then, member))
            self._limit()
            return
        self._now = time
        heapq.heapreplace(heap, (then, member))
        while times.get(heap[0][1]) != heap[0][0]:
            heapq.heappop(heap)

    def is_steady(self) -> bool:
        return False

    def _refine(self, factor: int) -> None:
        """Make the unit of virtual time finer, so that the new weight divides it."""
        self._unit *= factor
        self._now *= factor
        self._times = {member: time * factor for member, time in self._times.items()}
        self._per_byte = {member: self._unit // weight for member, weight in self._weights.items()}
        self._rebuild()

    def _limit(self) -> None:
        if len(self._heap) > 2 * len(self._times) + _SLACK:
            self._rebuild()

    def _rebuild(self) -> None:
        self._heap = [(time, member) for member, time in self._times.items()]
        heapq.heapify(self._heap)
