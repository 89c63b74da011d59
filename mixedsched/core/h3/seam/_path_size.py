"""Datagrams as large as the path takes: sends probes (RFC 9000 section 14.3), and moves aioquic to the size that is found.

A probe is a PING frame with PADDING, one packet in a datagram of its own. It counts as in flight, its loss does not count for
congestion control. What to try, and what the outcome means, is decided by core.h3.datagram_size.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from aioquic import tls
from aioquic.quic.packet import QuicFrameType, QuicPacketType
from aioquic.quic.packet_builder import QuicDeliveryState, QuicPacketBuilder, QuicSentPacket

from mixedsched.core.h3.datagram_size import BASE_BYTES, SizeSearch
from mixedsched.core.h3.seam._cubic_2022 import Cubic2022
from mixedsched.core.h3.seam._flight_cubic import FlightCubic

if TYPE_CHECKING:
    from mixedsched.core.h3.seam._connection import ScheduledConnection

_WINDOW_SHARE = 4  # a probe is at most so small a part of the congestion window, which it may exceed
_ETHERNET_BYTES = 1472  # ten of them are the largest initial window (RFC 9002 section 7.2)


class PathSize:
    """The size of one connection's datagrams. limit_bytes: the most that is tried, as the caller's socket and route allow."""

    def __init__(self, connection: ScheduledConnection, limit_bytes: int) -> None:
        self.search = SizeSearch(limit_bytes)
        self._connection = connection
        self._address: Any = None  # of the path that is searched
        self._probe: int | None = None  # packet number of the one under way
        self._now_s = 0.0

    def prepare(self, now_s: float) -> None:
        """Called before packets are built: begin anew if the client has moved, and keep to what the window allows."""
        self._now_s = now_s
        address = self._connection._network_paths[0].addr
        if address != self._address:
            if self._address is not None:
                self.search.restart()
                self._probe = None
            self._address = address
        self._apply()

    def probes(self, now_s: float) -> list[tuple[bytes, Any]]:
        """The probe to send now, if any: only while other data is in flight, so that its loss is noticed without a timeout."""
        connection = self._connection
        path = connection._network_paths[0]
        window = connection._loss.congestion_window
        size = self.search.next_probe_bytes(now_s)
        if (
            size is None
            or size * _WINDOW_SHARE > window
            or not connection._loss.bytes_in_flight
            or connection._loss._pto_count
            or not path.is_validated
        ):
            return []
        assert connection._version is not None, "the handshake is over"
        builder = QuicPacketBuilder(
            host_cid=connection.host_cid,
            peer_cid=connection._peer_cid.cid,
            version=connection._version,
            is_client=False,
            max_datagram_size=size,
            packet_number=connection._packet_number,
            quic_logger=connection._quic_logger,
            spin_bit=connection._spin_bit,
        )
        self._probe = connection._packet_number
        builder.start_packet(QuicPacketType.ONE_RTT, connection._cryptos[tls.Epoch.ONE_RTT])
        builder.start_frame(QuicFrameType.PING, handler=self.on_probe_delivery, handler_args=(self._probe,))
        if builder.quic_logger_frames is not None and connection._quic_logger is not None:
            builder.quic_logger_frames.append(connection._quic_logger.encode_ping_frame())
        builder._datagram_needs_padding = True
        self.search.probe_sent(size)
        return connection._flush_builder(
            builder=builder, network_path=path, peer_cid=connection._peer_cid.cid, now=now_s
        )

    def is_probe(self, packet: QuicSentPacket) -> bool:
        return any(handler == self.on_probe_delivery for handler, _ in packet.delivery_handlers)

    def note_lost(self, packets: Iterable[QuicSentPacket], now_s: float) -> None:
        """Packets other than probes are lost."""
        self._now_s = now_s
        for packet in packets:
            if packet.sent_bytes > BASE_BYTES:
                assert packet.sent_time is not None
                self.search.lost(packet.sent_time, now_s)
        self._apply()

    def note_timeout(self, in_flight: Iterable[QuicSentPacket], now_s: float) -> None:
        """A probe timeout has passed. in_flight: packets of the application."""
        self._now_s = now_s
        if any(packet.sent_bytes > BASE_BYTES and not self.is_probe(packet) for packet in in_flight):
            self.search.timed_out(now_s)
            self._apply()

    def note_refused(self, size_bytes: int, now_s: float) -> None:
        """The socket did not take a datagram of this size."""
        self.search.refused(size_bytes, now_s)
        self._apply()

    def on_probe_delivery(self, delivery: QuicDeliveryState, number: int) -> None:
        """aioquic's handler of a probe's fate."""
        if number != self._probe:  # on an earlier path
            return
        self._probe = None
        if delivery is QuicDeliveryState.ACKED:
            self.search.probe_acknowledged(self._now_s)
        else:
            self.search.probe_lost(self._now_s)
        self._apply()

    def _apply(self) -> None:
        """Have packets built, paced and counted by congestion control in the size that is known to be carried.

        Jumbo frames are used while the window has room for several: a packet that only fills what is left of the window is
        paced as a whole one. Congestion control counts in packets of Ethernet at most, so that they do not make it bolder.
        """
        connection = self._connection
        loss = connection._loss
        size = min(self.search.size_bytes, max(_ETHERNET_BYTES, loss.congestion_window // _WINDOW_SHARE))
        if connection._max_datagram_size == size:
            return
        connection._max_datagram_size = loss._pacer._max_datagram_size = size
        segment_bytes = min(size, _ETHERNET_BYTES)
        if isinstance(loss._cc, Cubic2022):
            loss._cc.packet_bytes = segment_bytes
        elif isinstance(loss._cc, FlightCubic):
            loss._cc.set_segment_bytes(segment_bytes)
        else:
            loss._cc._max_datagram_size = segment_bytes  # type: ignore[attr-defined]  # of CUBIC and Reno alike
        if loss._rtt_initialized:
            loss._pacer.update_rate(congestion_window=loss.congestion_window, smoothed_rtt=loss._rtt_smoothed)
