"""A priority queue of streams with removal, O(log n) amortized: a heap with lazy deletion."""

import heapq
from typing import Any, Generic, Protocol, TypeVar


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

    def first(self) -> int | None:
        """The stream with the smallest (key, stream ID); None if empty. Drops stale entries, which are invisible to callers."""
        heap, keys = self._heap, self._keys
        while heap:
            key, stream_id = heap[0]
            if keys.get(stream_id) == key:
                return stream_id
            heapq.heappop(heap)
        return None
