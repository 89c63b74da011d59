"""`eps`: extensible priorities as RFC 9218 section 10 advises."""

from mixedsched.core.schedulers._fair import ByteFair
from mixedsched.core.schedulers._gupta import by_mapping
from mixedsched.core.schedulers._queue import KeyedHeap
from mixedsched.core.schedulers._urgency import UrgencyLevels
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


SCHEMES = (
    Scheme(
        name="eps",
        description="The most urgent responses first, strictly; inside one urgency non-incremental ones one by one and "
        "incremental ones sharing equally, neither starving the other.",
        source="RFC 9218 section 10",
        needs="the client's signal (or a mapping's)",
        create=lambda _: UrgencyLevels(_Level),
        place=by_mapping,
        default_mapping="chromium",
    ),
)
