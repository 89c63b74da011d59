"""Round robin by packets: everybody in turn, in order of number, for one packet or a batch of them."""

from bisect import bisect_left, bisect_right, insort


class RoundRobin:
    """After a member's packets the next higher number has its turn, after the highest the lowest.

    packets: how many one sends before the turn passes on. A member that leaves loses what is left of its batch only if
    another one is served meanwhile.
    """

    def __init__(self, packets: int = 1) -> None:
        self._packets = packets
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
        if self._batch < self._packets:
            place = bisect_left(ready, last)
            if place < len(ready) and ready[place] == last:
                return last
        place = bisect_right(ready, last)
        return ready[place] if place < len(ready) else ready[0]

    def sent(self, member: int, size_bytes: int) -> None:  # noqa: ARG002 - packets count, not bytes
        if member == self._last and self._batch < self._packets:
            self._batch += 1
        else:
            self._last, self._batch = member, 1

    def is_steady(self) -> bool:
        return len(self._ready) == 1 and self._packets == 1


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
