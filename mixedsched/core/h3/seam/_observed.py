"""A client for virtual time, which reports which packets brought which stream data."""

from collections.abc import Callable
from typing import Any

from aioquic import tls
from aioquic.buffer import Buffer  # type: ignore[attr-defined]
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicReceiveContext
from aioquic.quic.recovery import QuicPacketNumberWindow

from mixedsched.core.h3.seam._connection import ScheduledConnection
from mixedsched.core.schedulers.sequential import Sequential

MAX_ACK_DELAY_S = 0.025  # what aioquic announces, the default of RFC 9000

Received = Callable[[int, list[tuple[int, int, int]]], object]
"""(packet number, its STREAM frames as (stream ID, offset, size of the data in bytes))"""


class NotingWindow(QuicPacketNumberWindow):
    """aioquic's record of the packets that came, which also reports each once all of its frames were handled."""

    def __init__(self, noted: Callable[[int], None]) -> None:
        super().__init__()
        self._noted = noted

    def add(self, packet_number: int) -> None:
        super().add(packet_number)
        self._noted(packet_number)


class ObservedConnection(ScheduledConnection):
    """A client's QUIC connection that reports what each packet brought, and whose order of service never varies.

    aioquic puts streams that shared a packet back in the order of a set, which depends on their places in memory; this does
    not. It acknowledges every second packet, and at once where one is missing (RFC 9000 sections 13.2.1 and 13.2.2), as
    browsers do; aioquic does so 1 ms after each. received: called for every packet that could be read, of all encryption
    levels, which aioquic numbers consecutively.
    """

    def __init__(self, *, configuration: QuicConfiguration, received: Received) -> None:
        self._received = received
        self._frames: list[tuple[int, int, int]] = []
        self._highest_packet = -1
        self._missed_packets = False
        super().__init__(configuration=configuration, scheduler=Sequential())  # a client has no responses to schedule

    def _initialize(self, peer_cid: bytes) -> None:
        super()._initialize(peer_cid)
        for epoch in (tls.Epoch.INITIAL, tls.Epoch.HANDSHAKE, tls.Epoch.ONE_RTT):
            self._spaces[epoch].received_packets = NotingWindow(self._note_packet)

    def _handle_stream_frame(self, context: QuicReceiveContext, frame_type: int, buf: Buffer) -> None:
        start = buf.tell()
        stream_id = buf.pull_uint_var()
        offset = buf.pull_uint_var() if frame_type & 4 else 0
        size_bytes = buf.pull_uint_var() if frame_type & 2 else buf.capacity - buf.tell()
        buf.seek(start)
        self._frames.append((stream_id, offset, size_bytes))
        super()._handle_stream_frame(context, frame_type, buf)

    def _note_packet(self, packet_number: int) -> None:
        self._missed_packets |= packet_number != self._highest_packet + 1
        self._highest_packet = max(self._highest_packet, packet_number)
        frames, self._frames = self._frames, []
        self._received(packet_number, frames)

    def receive_datagram(self, data: bytes, addr: Any, now: float) -> None:
        owed = self.owes_acknowledgement
        self._missed_packets = False
        super().receive_datagram(data, addr, now)
        if self._handshake_confirmed:
            self._ack_delay = MAX_ACK_DELAY_S
            if self.owes_acknowledgement and (owed or self._missed_packets):
                self._spaces[tls.Epoch.ONE_RTT].ack_at = now

    @property
    def owes_acknowledgement(self) -> bool:
        """Whether packets have come that must be acknowledged."""
        return tls.Epoch.ONE_RTT in self._spaces and self._spaces[tls.Epoch.ONE_RTT].ack_at is not None

    def may_wait(self, now_s: float) -> bool:
        """Whether everything to send can go with the next acknowledgement, for which there is a timer."""
        if not self._handshake_confirmed or self._service.has_data:
            return False
        ack_at_s = self._spaces[tls.Epoch.ONE_RTT].ack_at
        return ack_at_s is not None and ack_at_s > now_s

    @property
    def request_credit(self) -> int:
        """How many more request streams the server lets us open."""
        return self._remote_max_streams_bidi - self._local_next_stream_id_bidi // 4
