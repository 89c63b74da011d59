"""Non-incremental delivery: one response after another, each in one piece."""

from itertools import count

from mixedsched.core.schedulers._heap import KeyedHeap


class BlockQueue:
    """Ready N responses: those that have begun, in the order in which they began; then the others by (urgency, stream ID).

    So a response in progress is not interrupted by a more urgent one, and what was lost of an earlier response does not wait
    behind a later one. A response that cannot send for the moment lets the next one begin, and goes on when it can.
    Source: Gupta & Bartos 2024, the non-incremental priority queue: responses go "in their entirety".
    """

    def __init__(self) -> None:
        self._ready: KeyedHeap[tuple[int, int]] = KeyedHeap()
        self._begun: dict[int, int] = {}
        self._order = count()

    def __len__(self) -> int:
        return len(self._ready)

    def enter(self, stream_id: int, urgency: int) -> None:
        begun = self._begun.get(stream_id)
        self._ready.push(stream_id, (1, urgency) if begun is None else (0, begun))

    def leave(self, stream_id: int) -> None:
        self._ready.discard(stream_id)

    def forget(self, stream_id: int) -> None:
        self.leave(stream_id)
        self._begun.pop(stream_id, None)

    @property
    def is_in_progress(self) -> bool:
        """Whether a response that has begun is ready to go on."""
        return self._ready.first() in self._begun

    def first(self) -> int | None:
        return self._ready.first()

    def sent(self, stream_id: int) -> None:
        if stream_id not in self._begun:
            self._begun[stream_id] = next(self._order)
            if stream_id in self._ready:
                self._ready.push(stream_id, (0, self._begun[stream_id]))
