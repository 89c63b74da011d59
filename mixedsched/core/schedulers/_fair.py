"""Byte-fair sharing: start-time fair queueing among equal members."""

import heapq

_SLACK = 32  # stale entries tolerated beyond the live ones before the heap is rebuilt


class ByteFair:
    """Members take turns so that each has sent equally many bytes; equal turns would favour large frames.

    Each member has a virtual time, the bytes it has sent. The smallest goes next, ties by member number. Who comes (back)
    starts no earlier than the one served last: idleness earns no credit, and a newcomer waits for one turn at most.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int]] = []  # (virtual bytes, member), with stale entries
        self._ready: dict[int, None] = {}
        self._virtual_bytes: dict[int, int] = {}  # of members not ready too, so that leaving does not reset a turn
        self._now = 0

    def __len__(self) -> int:
        return len(self._ready)

    def enter(self, member: int) -> None:
        start = max(self._virtual_bytes.get(member, 0), self._now)
        self._virtual_bytes[member] = start
        self._ready[member] = None
        heapq.heappush(self._heap, (start, member))

    def leave(self, member: int) -> None:
        self._ready.pop(member, None)
        if len(self._heap) > 2 * len(self._ready) + _SLACK:
            self._heap = [(self._virtual_bytes[ready], ready) for ready in self._ready]
            heapq.heapify(self._heap)

    def forget(self, member: int) -> None:
        self.leave(member)
        self._virtual_bytes.pop(member, None)

    def first(self) -> int | None:
        heap, virtual_bytes = self._heap, self._virtual_bytes
        while heap:
            start, member = heap[0]
            if virtual_bytes.get(member) == start and member in self._ready:
                return member
            heapq.heappop(heap)
        return None

    def sent(self, member: int, size_bytes: int) -> None:
        start = self._virtual_bytes.get(member, self._now)  # a member may be charged that never was ready here
        if start > self._now:
            self._now = start
        then = start + size_bytes
        self._virtual_bytes[member] = then
        if member not in self._ready:
            return
        heap = self._heap
        head_start, head = heap[0]
        if head == member and head_start == start:
            heapq.heapreplace(heap, (then, member))
        else:
            heapq.heappush(heap, (then, member))
