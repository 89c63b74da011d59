"""Who gets the next connection to the origin: clients take turns, and within one client the most urgent request goes first."""

import heapq
from collections import deque
from typing import Generic, TypeVar

_MARKS_MOST = 100  # that removed items may leave behind, however few wait

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Items that wait. Each client has one turn in a round; its items go by urgency, then as they came. Items that were removed
    stay behind for a while, but no more of them than there are others, or _MARKS_MOST."""

    def __init__(self) -> None:
        self._by_client: dict[str, list[tuple[int, int, T]]] = {}
        self._round: deque[str] = deque()  # clients with items, the next one first
        self._removed: set[int] = set()
        self._waiting: dict[int, tuple[int, float, T]] = {}  # by its identity: an item's number, since when, itself
        self._count = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, client: str, urgency: int, item: T, now_s: float = 0.0) -> None:
        """urgency: 0 goes first. now_s: of a clock that never goes back."""
        if client not in self._by_client:
            self._by_client[client] = []
            self._round.append(client)
        self._count += 1
        self._waiting[id(item)] = self._count, now_s, item
        heapq.heappush(self._by_client[client], (urgency, self._count, item))

    def remove(self, item: T) -> None:
        """It no longer waits; nothing happens if it does not."""
        if id(item) in self._waiting:
            number, _, _ = self._waiting.pop(id(item))
            self._removed.add(number)
            if len(self._removed) > max(_MARKS_MOST, len(self._waiting)):
                self._clear_up()

    def waiting_since_before(self, at_s: float) -> list[T]:
        """The items that were added before a time and still wait, in this order."""
        found: list[T] = []
        for _, since_s, item in self._waiting.values():
            if since_s >= at_s:
                break
            found.append(item)
        return found

    def pop(self) -> T | None:
        """The item whose turn it is; None if none waits."""
        while self._round:
            client = self._round.popleft()
            items = self._by_client[client]
            item = self._first(items)
            if items:
                self._round.append(client)
            else:
                del self._by_client[client]
            if item is not None:
                return item
        return None

    def _clear_up(self) -> None:
        """Let go of all items that were removed: else clients that give up could fill the memory while none gets a turn."""
        for client, items in tuple(self._by_client.items()):
            kept = [entry for entry in items if entry[1] not in self._removed]
            heapq.heapify(kept)
            if kept:
                self._by_client[client] = kept
            else:
                del self._by_client[client]
        self._round = deque(client for client in self._round if client in self._by_client)
        self._removed.clear()

    def _first(self, items: list[tuple[int, int, T]]) -> T | None:
        while items:
            _, number, item = heapq.heappop(items)
            if number in self._removed:
                self._removed.discard(number)
                continue
            del self._waiting[id(item)]
            while items and items[0][1] in self._removed:
                self._removed.discard(heapq.heappop(items)[1])
            return item
        return None
