"""`server-quic-go`: quic-go's order, and that of Caddy, which has none of its own.

Source: quic-go 0.62 to 0.65.0, `framer.go` and `http3/server_conn.go`; Caddy 2.11.9 pins 0.63.0. Compared with both in
docs/servers.md. Left out: lost data goes before all new data; a PRIORITY_UPDATE before its request is dropped; until a first
signal, responses are incremental (Chromium signals every request, so simulated ones do).
"""

from collections import deque

from mixedsched.core.schedulers._gupta import by_mapping
from mixedsched.core.schedulers._queue import KeyedHeap
from mixedsched.core.schedulers._urgency import UrgencyLevels
from mixedsched.model.scheme import SERVERS, Scheme


class _Alternating:
    """The whole response of the lowest stream ID, and a ring of the shared ones, by turns of a packet each."""

    def __init__(self) -> None:
        self._blocks: KeyedHeap[int] = KeyedHeap()
        self._ring: deque[int] = deque()
        self._is_turn_of_ring = False

    def __len__(self) -> int:
        return len(self._blocks) + len(self._ring)

    def enter(self, stream_id: int, incremental: bool) -> None:
        if incremental:
            self._ring.append(stream_id)
        else:
            self._blocks.push(stream_id, 0)

    def leave(self, stream_id: int, incremental: bool) -> None:
        if incremental:
            self._ring.remove(stream_id)
        else:
            self._blocks.discard(stream_id)

    def forget(self, stream_id: int) -> None:
        """Nothing is kept of those that are not ready."""

    def first(self) -> int | None:
        if self._ring and (self._is_turn_of_ring or not self._blocks):
            return self._ring[0]
        return self._blocks.first()

    def sent(self, stream_id: int, incremental: bool, size_bytes: int) -> None:  # noqa: ARG002 - packets count
        self._is_turn_of_ring = not incremental
        if incremental and self._ring and self._ring[0] == stream_id:
            self._ring.rotate(-1)


SCHEMES = (
    Scheme(
        name="server-quic-go",
        description="What quic-go and Caddy do: the most urgent first; inside one urgency non-incremental responses one by one "
        "and a ring of the incremental ones, alternating packet by packet. The response's own priority is not read.",
        source="quic-go 0.62 to 0.65.0, framer.go (Caddy 2.11.9: 0.63.0)",
        needs="the client's signal (or a mapping's)",
        create=lambda _: UrgencyLevels(_Alternating),
        place=by_mapping,
        default_mapping="chromium",
        group=SERVERS,
    ),
)
