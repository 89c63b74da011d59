"""The book-keeping that all schedulers share: which streams are open, with which placement, and which of them are ready."""

from typing import Generic, TypeVar

P = TypeVar("P")


class StreamTable(Generic[P]):
    """Book-keeping half of a scheduler; a policy fills in the hooks and `pick`.

    Hooks are called only on changes: _place when a stream gets a placement, _enter when it becomes ready, _leave when it stops
    being so (its turn is to be kept), _forget when it closes (after _leave).
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

    def is_steady(self) -> bool:
        """Never promised unless a policy knows better."""
        return False

    def _place(self, stream_id: int, placement: P) -> None:
        """The stream has this placement from now on; it is not ready at this moment."""

    def _enter(self, stream_id: int, placement: P) -> None:
        """The stream became ready."""

    def _leave(self, stream_id: int, placement: P) -> None:
        """The stream is ready no more, or not with this placement."""

    def _forget(self, stream_id: int) -> None:
        """The stream closed."""
