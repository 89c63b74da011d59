"""One urgency of servers that keep whole responses by stream ID, and shared ones in a ring that takes newcomers at its end."""

from collections import deque

from mixedsched.core.schedulers._queue import KeyedHeap


class BlocksAndRing:
    """The ready responses: whole ones first, unless a server's own order says otherwise."""

    def __init__(self) -> None:
        self.blocks: KeyedHeap[int] = KeyedHeap()
        self.ring: deque[int] = deque()

    def __len__(self) -> int:
        return len(self.blocks) + len(self.ring)

    def enter(self, stream_id: int, incremental: bool) -> None:
        if incremental:
            self.ring.append(stream_id)
        else:
            self.blocks.push(stream_id, 0)

    def leave(self, stream_id: int, incremental: bool) -> None:
        if incremental:
            self.ring.remove(stream_id)
        else:
            self.blocks.discard(stream_id)

    def forget(self, stream_id: int) -> None:
        """Nothing is kept of those that are not ready."""

    def first(self) -> int | None:
        if self.blocks:
            return self.blocks.first()
        return self.ring[0] if self.ring else None

    def sent(self, stream_id: int, incremental: bool, size_bytes: int) -> None:  # noqa: ARG002 - packets count
        if incremental and self.ring and self.ring[0] == stream_id:
            self.ring.rotate(-1)
