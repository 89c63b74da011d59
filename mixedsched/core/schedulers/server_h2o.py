"""`server-h2o`: H2O's order over HTTP/3.

Source: H2O edd7a120 (2026), `lib/http3/server.c` and `lib/common/absprio.c`. H2O was not run:
the model is of its source alone.
"""

from itertools import count

from mixedsched.core.schedulers._gupta import by_latest_word
from mixedsched.core.schedulers._queue import KeyedHeap
from mixedsched.core.schedulers._urgency import UrgencyLevels
from mixedsched.model.scheme import SERVERS, Scheme


class _BlocksAndNewcomers:
    """Whole responses, and shared ones that have sent nothing yet, by stream ID; then shared ones in turn."""

    def __init__(self) -> None:
        self._head: KeyedHeap[int] = KeyedHeap()
        self._ring: KeyedHeap[int] = KeyedHeap()
        self._turns: dict[int, int] = {}  # of shared ones that have sent something
        self._order = count()

    def __len__(self) -> int:
        return len(self._head) + len(self._ring)

    def enter(self, stream_id: int, incremental: bool) -> None:
        turn = self._turns.get(stream_id)
        if incremental and turn is not None:
            self._ring.push(stream_id, turn)
        else:
            self._head.push(stream_id, 0)

    def leave(self, stream_id: int, incremental: bool) -> None:  # noqa: ARG002 - it is in one of them
        self._head.discard(stream_id)
        self._ring.discard(stream_id)

    def forget(self, stream_id: int) -> None:
        self.leave(stream_id, False)
        self._turns.pop(stream_id, None)

    def first(self) -> int | None:
        first = self._head.first()
        return self._ring.first() if first is None else first

    def sent(self, stream_id: int, incremental: bool, size_bytes: int) -> None:  # noqa: ARG002 - packets count
        if not incremental:
            return
        self._turns[stream_id] = next(self._order)
        if stream_id in self._head or stream_id in self._ring:
            self._head.discard(stream_id)
            self._ring.push(stream_id, self._turns[stream_id])


SCHEMES = (
    Scheme(
        name="server-h2o",
        description="What H2O does: the most urgent first; inside one urgency non-incremental responses and the first packets "
        "of incremental ones by stream ID, then incremental ones in turn, packet by packet. "
        "It reads the response's own priority, which a later PRIORITY_UPDATE of the client overrides.",
        source="H2O edd7a120, lib/http3/server.c",
        needs="the client's signal (or a mapping's)",
        create=lambda _: UrgencyLevels(_BlocksAndNewcomers),
        place=by_latest_word,
        default_mapping="chromium",
        group=SERVERS,
    ),
)
