"""Byte-fair sharing: start-time fair queueing among equal members."""

from __future__ import annotations

from mixedsched.schedulers._heap import KeyedHeap


class ByteFair:
    """Members take turns so that each has sent equally many bytes; equal turns would favour large frames.

    Each member has a virtual time, the bytes it has sent. The smallest goes next, ties by member number. Who comes (back)
    starts no earlier than the one served last: idleness earns no credit, and a newcomer waits for one turn at most.
    """

    def __init__(self) -> None:
        self._ready: KeyedHeap[int] = KeyedHeap()
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
        self._virtual_bytes[member] = start + size_bytes
        if member in self._ready:
            self._ready.push(member, start + size_bytes)
