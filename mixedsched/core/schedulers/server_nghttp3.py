"""`server-nghttp3`: nghttp3's order, as in ngtcp2's example server, curl's peers, nghttpx and Node.

Source: nghttp3 b1d0596 (2026) and 0.8.0, `lib/nghttp3_tnode.c` and `lib/nghttp3_conn.c`. Compared with gtlsserver of Debian 12
(nghttp3 0.8.0, ngtcp2 0.12.1) in docs/servers.md. Left out: ngtcp2 sends any lost
data before new data; here it follows its stream.
"""

from mixedsched.core.schedulers._gupta import by_mapping
from mixedsched.core.schedulers._queue import KeyedHeap
from mixedsched.core.schedulers._urgency import UrgencyLevels
from mixedsched.model.scheme import SERVERS, Scheme

_TURN_BYTES = 800  # written at least, before a turn is over; so many bytes are one cycle


class _Cycles:
    """Responses by (cycle, stream ID). A response that enters begins at the lowest cycle; an incremental one's cycle grows with
    its bytes, a non-incremental one's never: so it precedes all incremental ones once these have had their turn.
    """

    def __init__(self) -> None:
        self._ready: KeyedHeap[int] = KeyedHeap()
        self._cycles: dict[int, int] = {}
        self._since_turn_bytes: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._ready)

    def enter(self, stream_id: int, incremental: bool) -> None:  # noqa: ARG002 - all begin alike
        first = self._ready.first()
        self._cycles[stream_id] = 0 if first is None else self._cycles[first]
        self._ready.push(stream_id, self._cycles[stream_id])

    def leave(self, stream_id: int, incremental: bool) -> None:  # noqa: ARG002
        self._ready.discard(stream_id)

    def forget(self, stream_id: int) -> None:
        self._ready.discard(stream_id)
        self._cycles.pop(stream_id, None)
        self._since_turn_bytes.pop(stream_id, None)

    def first(self) -> int | None:
        return self._ready.first()

    def sent(self, stream_id: int, incremental: bool, size_bytes: int) -> None:
        written_bytes = self._since_turn_bytes.get(stream_id, 0) + size_bytes
        if written_bytes < _TURN_BYTES:
            self._since_turn_bytes[stream_id] = written_bytes
            return
        self._since_turn_bytes[stream_id] = 0
        if incremental and stream_id in self._ready and len(self._ready) > 1:
            self._cycles[stream_id] += written_bytes // _TURN_BYTES
            self._ready.push(stream_id, self._cycles[stream_id])


SCHEMES = (
    Scheme(
        name="server-nghttp3",
        description="What nghttp3 does: the most urgent first; inside one urgency non-incremental responses before incremental "
        "ones, which share by bytes. A priority set by the server is final.",
        source="nghttp3 b1d0596 and 0.8.0, lib/nghttp3_tnode.c",
        needs="the client's signal (or a mapping's)",
        create=lambda _: UrgencyLevels(_Cycles),
        place=by_mapping,
        default_mapping="chromium",
        group=SERVERS,
    ),
)
