"""The interface of disciplines: the order among the ready members of one level, group or tree node."""

from typing import Protocol

from mixedsched.core.schedulers._heap import KeyedHeap

QUANTUM_BYTES = 1400
"""The payload of a full packet in the study by Marx et al.; what fair queueing charges for a turn before it is taken."""


class Queue(Protocol):
    """Ready members (streams, or groups with numbers below 0) and whose turn it is. Ties go to the lowest number."""

    def __len__(self) -> int:
        """The number of ready members."""

    def enter(self, member: int, weight: int) -> None:
        """It has something to send, and was not here. weight: ignored by disciplines without weights."""

    def leave(self, member: int) -> None:
        """It has nothing to send any more, and was here."""

    def forget(self, member: int) -> None:
        """It is over, here or not; its number may come again."""

    def first(self) -> int | None:
        """The member whose turn it is; changes nothing."""

    def sent(self, member: int, size_bytes: int) -> None:
        """It was served, here or not."""

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
