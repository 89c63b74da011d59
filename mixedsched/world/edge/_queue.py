"""Who gets the next connection to the origin: clients take turns, and within one client the most urgent request goes first."""

import heapq
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Items that wait. Each client has one turn in a round; its items go by urgency, then as they came. An item that was
    removed leaves nothing behind but a mark until its turn comes."""

    def __init__(self) -> None:
        self._by_client: dict[str, list[tuple[int, int, T]]] = {}
        self._round: deque[str] = deque()  # clients with items, the next one first
        self._removed: set[int] = set()
        self._numbers: dict[int, int] = {}  # by the item's identity: its number
        self._count = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, client: str, urgency: int, item: T) -> None:
        """urgency: 0 goes first."""
        if client not in self._by_client:
            self._by_client[client] = []
            self._round.append(client)
        self._count += 1
        self._numbers[id(item)] = self._count
        heapq.heappush(self._by_client[client], (urgency, self._count, item))

    def remove(self, item: T) -> None:
        """It no longer waits; nothing happens if it does not."""
        number = self._numbers.pop(id(item), None)
        if number is not None:
            self._removed.add(number)

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

    def _first(self, items: list[tuple[int, int, T]]) -> T | None:
        while items:
            _, number, item = heapq.heappop(items)
            if number in self._removed:
                self._removed.discard(number)
                continue
            del self._numbers[id(item)]
            while items and items[0][1] in self._removed:
                self._removed.discard(heapq.heappop(items)[1])
            return item
        return None
