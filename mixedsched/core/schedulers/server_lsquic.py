"""`server-lsquic`: the order of LiteSpeed's and OpenLiteSpeed's QUIC library.

Source: lsquic 4.9.3 (2026), `lsquic_hpi.c`; it reads the request's priority since 4.7.2. OpenLiteSpeed places what has no
signal at u=2, i, and by kind; Chromium signals every request. A rewrite rule sets a priority once; that a later update of the
client replaces it is inferred. It was not run: the model is of its source alone. Left out: lost data goes before new data.
"""

from mixedsched.core.schedulers._gupta import by_latest_word
from mixedsched.core.schedulers._queue import KeyedHeap, RoundRobin
from mixedsched.core.schedulers._urgency import UrgencyLevels
from mixedsched.model.scheme import SERVERS, Scheme


class _BlocksFirst:
    """Whole responses by stream ID; then shared ones in turn, by stream ID, a packet each."""

    def __init__(self) -> None:
        self._blocks: KeyedHeap[int] = KeyedHeap()
        self._ring = RoundRobin()

    def __len__(self) -> int:
        return len(self._blocks) + len(self._ring)

    def enter(self, stream_id: int, incremental: bool) -> None:
        if incremental:
            self._ring.enter(stream_id, 1)
        else:
            self._blocks.push(stream_id, 0)

    def leave(self, stream_id: int, incremental: bool) -> None:
        if incremental:
            self._ring.leave(stream_id)
        else:
            self._blocks.discard(stream_id)

    def forget(self, stream_id: int) -> None:
        """Nothing is kept but the place in the round."""

    def first(self) -> int | None:
        first = self._blocks.first()
        return self._ring.first() if first is None else first

    def sent(self, stream_id: int, incremental: bool, size_bytes: int) -> None:
        if incremental:
            self._ring.sent(stream_id, size_bytes)


SCHEMES = (
    Scheme(
        name="server-lsquic",
        description="What LiteSpeed and OpenLiteSpeed do: the most urgent first; inside one urgency non-incremental responses "
        "before incremental ones, which take turns. The response's own priority is not read; a rewrite rule can set it.",
        source="lsquic 4.9.3, lsquic_hpi.c",
        needs="the client's signal (or a mapping's)",
        create=lambda _: UrgencyLevels(_BlocksFirst),
        place=by_latest_word,
        default_mapping="chromium",
        group=SERVERS,
    ),
)
