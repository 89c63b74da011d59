"""`stock`: round robin as in aioquic since 1.0, but with a stable order."""

from itertools import count

from mixedsched.core.schedulers._base import StreamTable
from mixedsched.core.schedulers._queue import KeyedHeap
from mixedsched.model.scheme import Scheme


class Stock(StreamTable[None]):
    """A queue in which a stream that sent something new goes to the end; one that only repeated lost data keeps its place.

    aioquic puts the streams that shared a packet back in no particular order; here they keep the order of service.
    """

    def __init__(self) -> None:
        super().__init__()
        self._turns = count()
        self._turn: dict[int, int] = {}
        self._queue: KeyedHeap[int] = KeyedHeap()

    def _enter(self, stream_id: int, placement: None) -> None:  # noqa: ARG002 - no placement decides here
        self._queue.push(stream_id, self._turn.setdefault(stream_id, next(self._turns)))

    def _leave(self, stream_id: int, placement: None) -> None:  # noqa: ARG002
        self._queue.discard(stream_id)

    def _forget(self, stream_id: int) -> None:
        del self._turn[stream_id]

    def pick(self) -> int | None:
        return self._queue.first()

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:
        if size_bytes <= again_bytes:
            return
        self._turn[stream_id] = next(self._turns)
        if stream_id in self._queue:
            self._queue.push(stream_id, self._turn[stream_id])

    def is_steady(self) -> bool:
        return len(self._queue) == 1


SCHEMES = (
    Scheme(
        name="stock",
        description="All responses take turns, one packet each, whatever the client signals. "
        "What aioquic does since 1.0, made repeatable.",
        source="aioquic 1.0.0 to 1.7.2, stream service queue",
        needs="nothing",
        create=lambda _: Stock(),
        place=lambda _request, _mapping, _values: None,
    ),
)
