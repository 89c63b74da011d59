"""The book-keeping that all schedulers share: which streams are open, with which placement, and which of them are ready."""

from collections.abc import Callable
from typing import Generic, TypeVar

from mixedsched.core.schedulers._queue import Queue

P = TypeVar("P")


class StreamTable(Generic[P]):
    """Book-keeping half of a scheduler; a policy fills in the hooks and `pick`.

    Hooks are called only on changes: _place when a stream gets a placement, _enter when it becomes ready, _leave when it is no
    longer ready (its turn is to be kept), _forget when it closes (after _leave).
    """

    def __init__(self) -> None:
        self._placements: dict[int, P] = {}
        self._ready: dict[int, None] = {}  # an ordered set

    def open(self, stream_id: int, placement: P) -> None:
        if stream_id in self._placements:
            raise ValueError(f"stream {stream_id} is open already")
        self._placements[stream_id] = placement
        self._place(stream_id, placement)
        self._ready[stream_id] = None
        self._enter(stream_id, placement)

    def reprioritize(self, stream_id: int, placement: P) -> None:
        if self._placements[stream_id] == placement:
            return
        ready = stream_id in self._ready
        if ready:
            self._leave(stream_id, self._placements[stream_id])
        self._placements[stream_id] = placement
        self._place(stream_id, placement)
        if ready:
            self._enter(stream_id, placement)

    def pause(self, stream_id: int) -> None:
        placement = self._placements[stream_id]
        if stream_id in self._ready:
            del self._ready[stream_id]
            self._leave(stream_id, placement)

    def resume(self, stream_id: int) -> None:
        placement = self._placements[stream_id]
        if stream_id not in self._ready:
            self._ready[stream_id] = None
            self._enter(stream_id, placement)

    def close(self, stream_id: int) -> None:
        self.pause(stream_id)
        del self._placements[stream_id]
        self._forget(stream_id)
        if not self._placements:  # nor is any ready: give back the room that many have taken
            self._placements.clear()
            self._ready.clear()

    def is_steady(self) -> bool:
        """False unless a policy can promise it."""
        return False

    def _place(self, stream_id: int, placement: P) -> None:
        """The stream has this placement from now on; it is not ready at the moment."""

    def _enter(self, stream_id: int, placement: P) -> None:
        """The stream became ready."""

    def _leave(self, stream_id: int, placement: P) -> None:
        """The stream is no longer ready, or not with this placement."""

    def _forget(self, stream_id: int) -> None:
        """The stream closed."""


class Siblings(StreamTable[P]):
    """All responses side by side under one discipline, as in a dependency tree without groups.

    weight_of: the weight in the queue that a placement stands for; `int` for placements that are weights.
    """

    def __init__(self, queue: Queue, weight_of: Callable[[P], int]) -> None:
        super().__init__()
        self._queue = queue
        self._weight_of = weight_of

    def _enter(self, stream_id: int, placement: P) -> None:
        self._queue.enter(stream_id, self._weight_of(placement))

    def _leave(self, stream_id: int, placement: P) -> None:  # noqa: ARG002 - one queue for all
        self._queue.leave(stream_id)

    def _forget(self, stream_id: int) -> None:
        self._queue.forget(stream_id)

    def pick(self) -> int | None:
        return self._queue.first()

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:  # noqa: ARG002 - repeats cost capacity too
        self._queue.sent(stream_id, size_bytes)

    def is_steady(self) -> bool:
        return self._queue.is_steady()
