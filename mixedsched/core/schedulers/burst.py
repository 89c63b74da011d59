"""`burst-rr`: batched round robin whose batch follows the bursts of loss that its connection sees."""

from mixedsched.core.schedulers._base import Siblings
from mixedsched.core.schedulers._queue import RoundRobin
from mixedsched.core.schedulers.sander import SOURCE
from mixedsched.model.scheme import LEARNING, Parameter, Scheme

PACKET_BYTES = 1160
"""Approximate stream data in a packet."""
APART_PACKETS = 48
"""Retransmissions with more packets between them belong to two bursts: data lost together is retransmitted together."""
TIMES = 2.0
"""Batches per burst: with one as long as a burst, most bursts still hit two responses."""
STEP = 0.25
"""The weight of the latest burst in the mean."""
MOST_PACKETS = 64


class BurstRoundRobin(Siblings[int]):
    """All responses take turns of a multiple of the mean burst of lost packets, as seen in retransmissions.

    packets: in a turn, until a burst was seen.
    """

    def __init__(self, packets: int) -> None:
        self._turns = RoundRobin(packets)
        super().__init__(self._turns, int)
        self._mean_packets: float | None = None
        self._burst_bytes = 0  # sent again of the burst under way
        self._since = 0  # packets since the last repeat

    @property
    def burst_packets(self) -> float | None:
        """The mean burst so far, None before the first one is over."""
        return self._mean_packets

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:
        super().sent(stream_id, size_bytes, again_bytes)
        if again_bytes:
            self._burst_bytes += again_bytes
            self._since = 0
        elif self._burst_bytes:
            self._since += 1
            if self._since > APART_PACKETS:
                self._end_burst()

    def _end_burst(self) -> None:
        packets, self._burst_bytes = max(1.0, self._burst_bytes / PACKET_BYTES), 0
        mean = packets if self._mean_packets is None else self._mean_packets + (packets - self._mean_packets) * STEP
        self._mean_packets = mean
        self._turns.packets = max(1, min(MOST_PACKETS, round(TIMES * mean)))

    def is_steady(self) -> bool:
        return False


SCHEMES = (
    Scheme(
        name="burst-rr",
        description="All responses take turns of several packets, as by batched-rr; how many follows the bursts of loss that "
        "the connection sees: twice the mean burst, at most 64.",
        source=f"this project, after {SOURCE}, which proposes batches that match bursts",
        needs="nothing",
        create=lambda values: BurstRoundRobin(int(values["packets"])),
        place=lambda _request, _mapping, _values: 1,
        parameters=(
            Parameter(
                "packets",
                "how many packets a response sends in its turn until a burst has been seen",
                default=10,
                low=1,
                high=10_000,
                whole=True,
            ),
        ),
        group=LEARNING,
    ),
)
