"""The scheduler seam: what a server or a simulator asks, and what every policy answers."""

from typing import Protocol, TypeVar

P_contra = TypeVar("P_contra", contravariant=True)


class Scheduler(Protocol[P_contra]):
    """Decides whose bytes go next. Pure: no clock, no randomness, ties broken by stream ID.

    A ready stream is eventually picked, unless the policy promises otherwise. Referring to a stream that is not open raises
    KeyError; opening one twice raises ValueError. The cost of a decision does not grow with open but idle streams.
    """

    def open(self, stream_id: int, placement: P_contra) -> None:
        """Add a stream, ready to send."""

    def reprioritize(self, stream_id: int, placement: P_contra) -> None:
        """Give it a new placement, effective at the next pick. An equal one changes nothing, not even its turn."""

    def pause(self, stream_id: int) -> None:
        """It has no bytes or no credit. It keeps its turn, unless the policy keeps none (weighted fair queueing)."""

    def resume(self, stream_id: int) -> None:
        """It has bytes and credit again; undoes pause."""

    def close(self, stream_id: int) -> None:
        """Forget it."""

    def pick(self) -> int | None:
        """The stream whose bytes go next; None if none is ready. Changes nothing."""

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:
        """Charge the bytes really sent. again_bytes: how many of them had been sent before and were lost."""

    def is_steady(self) -> bool:
        """Whether `pick` stays the same however often it is served, until another call than `sent` is made, and a single
        `sent` for several packets is as good as one for each. A simulator need not ask again then."""
