"""All responses side by side under one discipline, each with a weight."""

from mixedsched.core.schedulers._base import StreamTable
from mixedsched.core.schedulers._queue import Queue


class Siblings(StreamTable[int]):
    """A dependency tree without groups: every stream is a child of the root. A placement is a weight."""

    def __init__(self, queue: Queue) -> None:
        super().__init__()
        self._queue = queue

    def _enter(self, stream_id: int, placement: int) -> None:
        self._queue.enter(stream_id, placement)

    def _leave(self, stream_id: int, placement: int) -> None:  # noqa: ARG002 - one queue for all
        self._queue.leave(stream_id)

    def _forget(self, stream_id: int) -> None:
        self._queue.forget(stream_id)

    def pick(self) -> int | None:
        return self._queue.first()

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:  # noqa: ARG002 - repeats cost capacity too
        self._queue.sent(stream_id, size_bytes)

    def is_steady(self) -> bool:
        return self._queue.is_steady()
