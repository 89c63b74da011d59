"""Non-incremental delivery: one response after another, each in one piece."""

from __future__ import annotations

from mixedsched.schedulers._heap import KeyedHeap


class BlockQueue:
    """Ready N responses by (urgency, stream ID); one in progress is not interrupted.

    Source: Gupta & Bartos 2024, the non-incremental priority queue: responses go "in their entirety". A response that
    cannot send for the moment lets the next one start, which then is the one in progress.
    """

    def __init__(self) -> None:
        self._ready: KeyedHeap[int] = KeyedHeap()
        self._in_progress: int | None = None

    def __len__(self) -> int:
        return len(self._ready)

    def enter(self, stream_id: int, urgency: int) -> None:
        self._ready.push(stream_id, urgency)

    def leave(self, stream_id: int) -> None:
        self._ready.discard(stream_id)
        if self._in_progress == stream_id:
            self._in_progress = None

    def first(self) -> int | None:
        return self._in_progress if self._in_progress is not None else self._ready.first()

    def sent(self, stream_id: int) -> None:
        if stream_id in self._ready:
            self._in_progress = stream_id
