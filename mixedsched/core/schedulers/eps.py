"""`eps`: extensible priorities as RFC 9218 section 10 advises."""

from mixedsched.core.schedulers._base import StreamTable
from mixedsched.core.schedulers._fair import ByteFair
from mixedsched.core.schedulers._gupta import by_mapping
from mixedsched.core.schedulers._levels import FilledLevels
from mixedsched.core.schedulers._queue import KeyedHeap
from mixedsched.model.priority import URGENCY_MAX, Priority
from mixedsched.model.scheme import Scheme

_BLOCKS = -1  # the member of a level's fair queue that stands for its non-incremental responses together


class _Level:
    """One urgency: N responses one by one in order of stream ID, as one member of a byte-fair queue with all I responses.

    So the N response in turn gets the same share as each I response, and neither kind starves the other.
    """

    def __init__(self) -> None:
        self._blocks: KeyedHeap[int] = KeyedHeap()
        self._fair = ByteFair()

    def __len__(self) -> int:
        return len(self._fair)

    def enter(self, stream_id: int, incremental: bool) -> None:
        if incremental:
            self._fair.enter(stream_id)
            return
        if not self._blocks:
            self._fair.enter(_BLOCKS)
        self._blocks.push(stream_id, 0)

    def leave(self, stream_id: int, incremental: bool) -> None:
        if incremental:
            self._fair.leave(stream_id)
            return
        self._blocks.discard(stream_id)
        if not self._blocks:
            self._fair.leave(_BLOCKS)

    def forget(self, stream_id: int) -> None:
        self._fair.forget(stream_id)

    def first(self) -> int | None:
        member = self._fair.first()
        return self._blocks.first() if member == _BLOCKS else member

    def sent(self, stream_id: int, incremental: bool, size_bytes: int) -> None:
        self._fair.sent(stream_id if incremental else _BLOCKS, size_bytes)


class ExtensiblePriorities(StreamTable[Priority]):
    """Urgency strictly; inside one urgency N by stream ID and I byte-fair, neither starving the other."""

    def __init__(self) -> None:
        super().__init__()
        self._levels = tuple(_Level() for _ in range(URGENCY_MAX + 1))
        self._filled = FilledLevels()

    def _enter(self, stream_id: int, placement: Priority) -> None:
        self._levels[placement.urgency].enter(stream_id, placement.incremental)
        self._filled.add(placement.urgency)

    def _leave(self, stream_id: int, placement: Priority) -> None:
        level = self._levels[placement.urgency]
        level.leave(stream_id, placement.incremental)
        if not level:
            self._filled.discard(placement.urgency)

    def _forget(self, stream_id: int) -> None:
        for level in self._levels:
            level.forget(stream_id)

    def pick(self) -> int | None:
        urgency = self._filled.first()
        return self._levels[urgency].first() if urgency >= 0 else None

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:  # noqa: ARG002 - repeats cost capacity too
        placement = self._placements[stream_id]
        self._levels[placement.urgency].sent(stream_id, placement.incremental, size_bytes)


SCHEMES = (
    Scheme(
        name="eps",
        description="The most urgent responses first, strictly; inside one urgency non-incremental ones one by one and "
        "incremental ones sharing equally, neither starving the other.",
        source="RFC 9218 section 10",
        needs="the client's signal (or a mapping's)",
        create=lambda _: ExtensiblePriorities(),
        place=by_mapping,
        default_mapping="chromium",
    ),
)
