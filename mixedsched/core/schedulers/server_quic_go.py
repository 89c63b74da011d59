"""`server-quic-go`: quic-go's order, and that of Caddy, which has none of its own.

Source: quic-go 0.62 to 0.65.0, `framer.go` and `http3/server_conn.go`; Caddy 2.11.9 pins 0.63.0. Compared with both in
docs/servers.md. Left out: lost data goes before all new data; a PRIORITY_UPDATE before its request is dropped; until a first
signal, responses are incremental (Chromium signals every request, so simulated ones do).
"""

from mixedsched.core.schedulers._blocks_and_ring import BlocksAndRing
from mixedsched.core.schedulers._gupta import by_mapping
from mixedsched.core.schedulers._urgency import UrgencyLevels
from mixedsched.model.scheme import SERVERS, Scheme


class _Alternating(BlocksAndRing):
    """By turns of a packet each."""

    def __init__(self) -> None:
        super().__init__()
        self._is_turn_of_ring = False

    def first(self) -> int | None:
        if self.ring and (self._is_turn_of_ring or not self.blocks):
            return self.ring[0]
        return self.blocks.first()

    def sent(self, stream_id: int, incremental: bool, size_bytes: int) -> None:
        super().sent(stream_id, incremental, size_bytes)
        self._is_turn_of_ring = not incremental


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
