"""Pacing in flights: packets that a fast link carries in a millisecond may leave together, in one system call. Or none."""

from aioquic.quic.recovery import QuicPacketPacer

FLIGHT_S = 0.001  # the finest that an event loop's timers can do
MAX_FLIGHT_BYTES = 65_536  # as the send quantum of BBR, and the most that one system call takes
PACING_GAIN = 1.25  # RFC 9002 section 7.7: above 1, so that a changing round trip does not leave the window unused
MIN_WAIT_S = 0.0006  # rounded to whole milliseconds by the event loop; less would not wait at all


class FlightPacer(QuicPacketPacer):
    """aioquic's pacer with a burst of a millisecond's worth of packets, where that is more than its own 16.

    Below 16 packets a millisecond (150 Mbit/s) bursts are aioquic's. The last packet of a burst leaves before it is due; the
    next wait is longer by that time. aioquic forgets it, which costs a fifth of the rate in bursts of a few packets.
    Source: RFC 9002 section 7.7 leaves the size of bursts to what the path can absorb; draft-ietf-ccwg-bbr, "send quantum",
    has a millisecond's worth, at most 64 KB. gain: windows that may leave in a smoothed round trip.
    """

    def __init__(self, *, max_datagram_size: int, gain: float = 1.0) -> None:
        super().__init__(max_datagram_size=max_datagram_size)
        self._gain = gain

    def next_send_time(self, now: float) -> float | None:  # type: ignore[override]  # aioquic's annotation forgets None
        at_s: float | None = super().next_send_time(now)
        if at_s is None or self.packet_time is None:
            return at_s
        return now + max(self.packet_time, min(MIN_WAIT_S, self.bucket_max / 2)) - self.bucket_time

    def update_after_send(self, now: float) -> None:
        if self.packet_time is not None:
            self.update_bucket(now=now)
            self.bucket_time -= self.packet_time

    def update_rate(self, congestion_window: int, smoothed_rtt: float) -> None:
        super().update_rate(congestion_window=congestion_window, smoothed_rtt=smoothed_rtt / self._gain)
        assert self.packet_time is not None, "just set"
        flight_s = min(FLIGHT_S, MAX_FLIGHT_BYTES / self._max_datagram_size * self.packet_time)
        self.bucket_max = max(self.bucket_max, flight_s)
        if self._max_datagram_size > MAX_FLIGHT_BYTES // 16:  # aioquic's burst would be more than one call sends
            self.bucket_max = min(self.bucket_max, MAX_FLIGHT_BYTES / self._max_datagram_size * self.packet_time)
        self.bucket_time = max(self.bucket_time, -self.packet_time)  # a debt of the old rate must not outlast it


class Unpaced(QuicPacketPacer):
    """Packets may leave as soon as the congestion window has room."""

    def update_rate(self, congestion_window: int, smoothed_rtt: float) -> None:
        """Never set a rate: aioquic's pacer has packets wait only once it has one."""
