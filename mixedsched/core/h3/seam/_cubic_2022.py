"""CUBIC as in the testbed of Sander et al. 2022: RFC 8312, as quicly had it in May 2022.

It differs from aioquic's CUBIC where that changes which packets are lost. Slow start ends with the first loss (no HyStart), so
that it overshoots and fills the queue. Packets leave as soon as the window has room (no pacing). A pause resets nothing: it
only does not count as time since the last loss (RFC 8312 section 5.8). After a loss the window is a share of what it was,
not of the bytes in flight. As in quicly, the window also grows while the server has little to send, and persistent
congestion changes nothing.
"""

from collections.abc import Iterable
from typing import Any

from aioquic.quic.congestion.base import K_MINIMUM_WINDOW, QuicCongestionControl, register_congestion_control
from aioquic.quic.packet_builder import QuicSentPacket

from mixedsched.model.congestion import CongestionControl

C = 0.4  # packets / s³, RFC 8312 section 5
BETA = 0.7
FRIENDLY_PACKETS_PER_RTT = 3 * (1 - BETA) / (1 + BETA)  # growth of a standard TCP that backs off to BETA, section 4.2
_RTT_SHARE = 1 / 8  # of a new sample in the smoothed round-trip time, RFC 9002 section 5.3


class Cubic2022(QuicCongestionControl):
    """Windows in bytes, times in seconds. The notation is that of RFC 8312; equations are in packets there."""

    def __init__(self, *, max_datagram_size: int) -> None:
        super().__init__(max_datagram_size=max_datagram_size)
        self.packet_bytes = max_datagram_size
        self._rtt_s: float | None = None
        self._w_max = 0.0
        self._w_last_max = 0.0
        self._k_s = 0.0
        self._epoch_s = 0.0  # of the last loss, moved on by the pauses since
        self._quiet_from_s: float | None = None  # when nothing was in flight any more
        self._highest_sent = -1
        self._recovered_from = 0  # losses of packets with lower numbers belong to the last congestion event

    def on_packet_sent(self, *, packet: QuicSentPacket) -> None:
        assert packet.sent_time is not None, "it leaves now"
        if self._quiet_from_s is not None:
            self._epoch_s += packet.sent_time - max(self._quiet_from_s, self._epoch_s)
            self._quiet_from_s = None
        self.bytes_in_flight += packet.sent_bytes
        self._highest_sent = max(self._highest_sent, packet.packet_number)

    def on_packet_acked(self, *, now: float, packet: QuicSentPacket) -> None:
        self.bytes_in_flight -= packet.sent_bytes
        if not self.bytes_in_flight:
            self._quiet_from_s = now
        if packet.packet_number < self._recovered_from:
            return
        if self.ssthresh is None or self.congestion_window < self.ssthresh:
            self.congestion_window += packet.sent_bytes
        elif self._rtt_s is not None:
            self._avoid_congestion(now - self._epoch_s, self._rtt_s)

    def _avoid_congestion(self, t_s: float, rtt_s: float) -> None:
        """Grow after an acknowledgement, t_s after the last loss. The window never shrinks here."""
        window = self.congestion_window
        friendly = self._w_max * BETA + FRIENDLY_PACKETS_PER_RTT * t_s / rtt_s * self.packet_bytes  # equation 4
        if self._w_cubic(t_s) < friendly:
            self.congestion_window = max(window, int(friendly))
        else:
            gain = self._w_cubic(t_s + rtt_s) / window - 1  # sections 4.3 and 4.4
            self.congestion_window += int(max(gain, 0.0) * self.packet_bytes)

    def _w_cubic(self, t_s: float) -> float:
        """Equation 1."""
        return C * (t_s - self._k_s) ** 3 * self.packet_bytes + self._w_max

    def on_packets_lost(self, *, now: float, packets: Iterable[QuicSentPacket]) -> None:
        for packet in packets:
            self.bytes_in_flight -= packet.sent_bytes
            if packet.packet_number >= self._recovered_from:
                self._back_off(now)

    def _back_off(self, now_s: float) -> None:
        self._recovered_from = self._highest_sent + 1
        self._epoch_s = now_s
        window = self.congestion_window
        fast_convergence = (1 + BETA) / 2 if window < self._w_last_max else 1.0  # section 4.6
        self._w_last_max = window
        self._w_max = window * fast_convergence
        self._k_s = (self._w_max / self.packet_bytes * (1 - BETA) / C) ** (1 / 3)  # equation 2
        self.congestion_window = max(int(window * BETA), K_MINIMUM_WINDOW * self.packet_bytes)
        self.ssthresh = self.congestion_window

    def on_packets_expired(self, *, packets: Iterable[QuicSentPacket]) -> None:
        self.bytes_in_flight -= sum(packet.sent_bytes for packet in packets)

    def on_persistent_congestion(self) -> None:
        """Quicly's does nothing, either."""

    def on_rtt_measurement(self, *, now: float, rtt: float) -> None:  # noqa: ARG002 - as aioquic calls it
        self._rtt_s = rtt if self._rtt_s is None else (1 - _RTT_SHARE) * self._rtt_s + _RTT_SHARE * rtt

    def get_log_data(self) -> dict[str, Any]:
        return {**super().get_log_data(), "cubic-wmax": int(self._w_max)}


register_congestion_control(CongestionControl.CUBIC_2022.value, Cubic2022)
