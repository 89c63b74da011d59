"""A server's QUIC connection: aioquic's, in the scheduler's order, and with fast paths."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from aioquic import tls
from aioquic.buffer import Buffer  # type: ignore[attr-defined]
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.congestion.cubic import CubicCongestionControl
from aioquic.quic.connection import END_STATES, Limit, QuicNetworkPath, QuicReceiveContext
from aioquic.quic.packet import QuicErrorCode, QuicFrameType, pull_quic_transport_parameters
from aioquic.quic.packet_builder import QuicDeliveryState, QuicPacketBuilder
from aioquic.quic.stream import QuicStream

from mixedsched.core.h3.certificate import Certificate
from mixedsched.core.h3.datagram_size import BASE_BYTES
from mixedsched.core.h3.response import Body
from mixedsched.core.h3.seam._confirmed import FrameHandlers, drop_handshake
from mixedsched.core.h3.seam._credited import CreditedConnection
from mixedsched.core.h3.seam._cubic_2022 import Cubic2022
from mixedsched.core.h3.seam._express import write_response_packets
from mixedsched.core.h3.seam._flight_cubic import FlightCubic
from mixedsched.core.h3.seam._hello import HelloReader
from mixedsched.core.h3.seam._number_window import NumberWindow
from mixedsched.core.h3.seam._one_packet import PacketIsDone, one_packet
from mixedsched.core.h3.seam._pacer import PACING_GAIN, FlightPacer, Unpaced
from mixedsched.core.h3.seam._path_size import PathSize
from mixedsched.core.h3.seam._receiving import receive_plain_datagram
from mixedsched.core.h3.seam._recovery import PacketRecovery, packets_to_repeat
from mixedsched.core.h3.seam._service import ServiceQueue
from mixedsched.core.h3.tables import shrink
from mixedsched.model.scheduler import Scheduler

MAX_KEPT_BYTES = 64 * 1024 * 1024  # of responses in flight and behind the oldest loss; a second of 500 Mbit/s

_EPOCH = tls.Epoch.ONE_RTT  # of all packets once the handshake is confirmed

Sent = Callable[[int, int, int, bool], None]
"""(stream ID, size of a STREAM frame's data in bytes, how much of it had been sent before, whether it ends the stream)"""

Discarded = Callable[[int], None]
"""(stream ID)"""


class ScheduledConnection(CreditedConnection):
    """A server's QUIC connection whose responses are sent in the order that a scheduler picks.

    sent: called for every STREAM frame of a response that goes into a packet, repeats included. Must not raise.
    discarded: called for every stream that is over, both ways. make_connection_id: makes the connection IDs for the client to
    use, all of the configured length; random ones by default. request_limit: how many requests the client may have open.
    sends_flights: pace in flights on fast links, for a caller that can send a flight at once, and have CUBIC allow for the way
    browsers acknowledge; without effect on CUBIC of 2022, which is not paced. notes_server_name: keep the host name that the
    client gives in its handshake, as `server_name`.
    datagram_limit_bytes: the largest datagrams that may be tried on the path once the handshake is over; 1200 for none larger.
    The caller's socket must not let its datagrams be fragmented.
    choose_certificate: the one for the host name that the client gives, if any, instead of the configuration's.
    """

    # Outside of aioquic's own attributes, whose table would otherwise be of twice the size.
    __slots__ = (
        "_choose_certificate",
        "_fills_packets",
        "_holds_handshake",
        "_make_connection_id",
        "_notes_server_name",
        "_path_size",
        "_service",
        "discarded",
        "sent",
        "server_name",
    )

    def __init__(
        self,
        *,
        configuration: QuicConfiguration,
        scheduler: Scheduler[Any],
        sent: Sent = lambda _stream_id, _size_bytes, _again_bytes, _fin: None,
        discarded: Discarded = lambda _stream_id: None,
        make_connection_id: Callable[[], bytes] | None = None,
        request_limit: int | None = None,
        sends_flights: bool = False,
        notes_server_name: bool = False,
        datagram_limit_bytes: int = BASE_BYTES,
        choose_certificate: Callable[[str | None], Certificate] | None = None,
        **arguments: Any,
    ) -> None:
        self._make_connection_id = make_connection_id
        self._notes_server_name = notes_server_name
        self._choose_certificate = choose_certificate
        self.server_name: str | None = None
        self._service = ServiceQueue(self, scheduler)  # before aioquic's constructor, which assigns _streams_queue
        self.sent = sent
        self.discarded = discarded
        super().__init__(configuration=configuration, **arguments)
        self._QuicConnection__frame_handlers = FrameHandlers(self)
        self._holds_handshake = not self._is_client
        self._path_size = PathSize(self, datagram_limit_bytes) if datagram_limit_bytes > BASE_BYTES else None
        self._loss = PacketRecovery(
            congestion_control_algorithm=configuration.congestion_control_algorithm,
            initial_rtt=configuration.initial_rtt,
            max_datagram_size=self._max_datagram_size,
            peer_completed_address_validation=not self._is_client,
            quic_logger=self._quic_logger,
            send_probe=self._send_probe,
            choose_repeats=partial(packets_to_repeat, self),
            next_number=lambda: self._packet_number,
            noted_loss=self._limit_kept,
            path_size=self._path_size,
            logger=self._logger,
        )
        if make_connection_id is not None:
            self.host_cid = self._host_cids[0].cid = self._local_initial_source_connection_id = make_connection_id()
        if request_limit is not None:
            self._local_max_streams_bidi.value = self._local_max_streams_bidi.sent = request_limit
        size_bytes = configuration.max_datagram_size
        # Simulated loads keep aioquic's CUBIC, so that their results stay; the congestion controls of papers stay as they are.
        self._fills_packets = sends_flights and isinstance(self._loss._cc, CubicCongestionControl)
        if self._fills_packets:
            self._loss._cc = FlightCubic(max_datagram_size=size_bytes)
        if isinstance(self._loss._cc, Cubic2022):
            self._loss._pacer = Unpaced(max_datagram_size=size_bytes)
        elif sends_flights:
            self._loss._pacer = FlightPacer(
                max_datagram_size=size_bytes, gain=PACING_GAIN if self._fills_packets else 1.0
            )

    def _initialize(self, peer_cid: bytes) -> None:
        super()._initialize(peer_cid)
        self._spaces[_EPOCH].received_packets = NumberWindow()
        if self._notes_server_name or self._choose_certificate is not None:
            hello = HelloReader(self, self.tls._server_handle_hello, self._choose_certificate)
            self.tls._server_handle_hello = hello.handle  # type: ignore[assignment, method-assign]

    def _replenish_connection_ids(self) -> None:
        first_new = len(self._host_cids)
        super()._replenish_connection_ids()
        if self._make_connection_id is not None:
            for connection_id in self._host_cids[first_new:]:
                connection_id.cid = self._make_connection_id()

    @property  # type: ignore[override]
    def _streams_queue(self) -> ServiceQueue:
        return self._service

    @_streams_queue.setter
    def _streams_queue(self, value: list[QuicStream]) -> None:
        """aioquic's own order is not used."""

    def receive_datagram(self, data: bytes, addr: Any, now: float) -> None:
        is_usual = self._handshake_confirmed and not self._is_client and self._quic_logger is None
        if not (is_usual and receive_plain_datagram(self, data, addr, now)):
            super().receive_datagram(data, addr, now)
            if self._holds_handshake and self._handshake_confirmed:
                self._holds_handshake = False
                drop_handshake(self)

    def datagrams_to_send(self, now: float) -> list[tuple[bytes, Any]]:
        sizing = self._path_size if self._handshake_confirmed else None
        if sizing is not None:
            sizing.prepare(now)
        datagrams = super().datagrams_to_send(now)
        while self._service.lost_body:  # the reset is still to be sent, and what the other responses have
            self._service.lost_body = False
            datagrams += super().datagrams_to_send(now)
        if sizing is not None and not self.has_ended:
            datagrams += sizing.probes(now)
        return datagrams

    def _parse_transport_parameters(self, data: bytes, from_session_ticket: bool = False) -> None:
        super()._parse_transport_parameters(data, from_session_ticket)
        accepted_bytes = pull_quic_transport_parameters(Buffer(data=data)).max_udp_payload_size
        if self._path_size is not None and accepted_bytes is not None:
            self._path_size.search.lower_limit(accepted_bytes)

    def _send_probing_frames(self, network_path: QuicNetworkPath, now: float) -> list[tuple[bytes, Any]]:
        """Frames for another path, of which nothing is known: not larger than any path carries."""
        size, self._max_datagram_size = self._max_datagram_size, BASE_BYTES
        try:
            return super()._send_probing_frames(network_path=network_path, now=now)
        finally:
            self._max_datagram_size = size

    def _limit_kept(self) -> None:
        """End a connection whose client acknowledges all but the beginning of what is sent, so that all of it must be kept.

        Asked when packets are lost, as the beginning then is, again and again; and not for each packet.
        """
        if self._service.kept_bytes > MAX_KEPT_BYTES:
            self.close(QuicErrorCode.INTERNAL_ERROR, QuicFrameType.PADDING, "too much is not acknowledged")

    def note_refused(self, size_bytes: int, now_s: float) -> None:
        """The caller's socket did not take a datagram of this size, because its interface sends none so large."""
        if self._path_size is not None:
            self._path_size.note_refused(size_bytes, now_s)

    def _write_application(self, builder: QuicPacketBuilder, network_path: QuicNetworkPath, now: float) -> None:
        """Write packets: through aioquic, one at a time, while there is more than response data; then by the fast path."""
        if self._is_client or self._quic_logger is not None or not self._handshake_confirmed:
            super()._write_application(builder, network_path, now)
            return
        while not self._has_only_responses(network_path, now):
            try:
                with one_packet(builder):
                    super()._write_application(builder, network_path, now)
            except PacketIsDone:
                builder._end_packet()
            else:
                return
        write_response_packets(self, builder, now)

    def _has_only_responses(self, path: QuicNetworkPath, now_s: float) -> bool:
        """Whether there is nothing to send but response data: the conditions that aioquic checks before streams."""
        space = self._spaces[_EPOCH]
        crypto = self._cryptos[_EPOCH]
        max_data = self._local_max_data
        return not (
            (space.ack_at is not None and space.ack_at <= now_s)
            or not path.is_validated
            or path.remote_challenges
            or self._handshake_done_pending
            or self._retire_connection_ids
            or self._streams_blocked_pending
            or self._needs_data_limit
            or max_data.value != max_data.sent
            or _is_due(self._local_max_streams_bidi)
            or _is_due(self._local_max_streams_uni)
            or self._ping_pending
            or self._probe_pending
            or self._datagrams_pending
            or self._service.has_data
            or self.streams.values()
            or crypto._update_key_requested
            or not self._crypto_streams[_EPOCH].sender.buffer_is_empty
            or [True for connection_id in self._host_cids if not connection_id.was_sent]
        )

    def _handle_max_stream_data_frame(self, context: QuicReceiveContext, frame_type: int, buf: Buffer) -> None:
        start = buf.tell()
        stream_id = buf.pull_uint_var()
        buf.seek(start)
        super()._handle_max_stream_data_frame(context, frame_type, buf)
        self._service.note(stream_id)

    def _on_max_stream_data_delivery(self, delivery: QuicDeliveryState, stream: QuicStream) -> None:
        super()._on_max_stream_data_delivery(delivery, stream)
        assert stream.stream_id is not None
        self.streams.note(stream.stream_id)

    @property
    def is_established(self) -> bool:
        """Whether the handshake is over, which also proves the client's address."""
        return self._handshake_confirmed

    @property
    def has_ended(self) -> bool:
        """Whether the connection was closed, by us or by the client, so that nothing more will be sent."""
        return self._state in END_STATES

    @property
    def datagram_bytes(self) -> int:
        """The largest datagrams that are sent now, besides probes for larger ones."""
        return self._max_datagram_size

    @property
    def packet(self) -> int:
        """A rising number of the packet that is being written: frames that `sent` reports under the same one share it."""
        return self._service.packets

    @property
    def credit_bytes(self) -> int:
        """Bytes that the peer's connection flow control still lets us send."""
        return self._remote_max_data - self._remote_max_data_used

    @property
    def is_probing(self) -> bool:
        """Whether a probe timeout has passed since the peer last acknowledged something (RFC 9002 section 6.2)."""
        return self._loss._pto_count > 0

    @property
    def rtt_s(self) -> float:
        """The smoothed round-trip time, 0 before the first measurement."""
        return self._loss._rtt_smoothed

    @property
    def lost_packets(self) -> int:
        """Packets that were declared lost, without probes for larger datagrams."""
        assert isinstance(self._loss, PacketRecovery)
        return self._loss.lost_packets

    @property
    def late_bytes(self) -> int:
        """Bytes of responses that left while a more urgent one had bytes to send, see LateBytes."""
        return self._service.lateness.late_bytes

    @property
    def round_trips_ms(self) -> tuple[float, float] | None:
        """The shortest so far, and the latest without the client's delay; None before the first."""
        shortest_s, latest_s = self._loss._rtt_min, self._loss._rtt_latest
        return (shortest_s * 1000, latest_s * 1000) if shortest_s < math.inf else None

    @property
    def request_stream_limit(self) -> int:
        """How many request streams the client may have opened in all; stream IDs below 4 times that are legal."""
        return self._local_max_streams_bidi.value

    def is_discarded(self, stream_id: int) -> bool:
        """Whether the stream was opened and is over."""
        return self._stream_is_discarded(stream_id)

    def awaits_response(self, stream_id: int) -> bool:
        """Whether a request may be answered: it was not answered yet, and the client has not cancelled it."""
        return self._service.awaits_response(stream_id)

    def has_response(self, stream_id: int) -> bool:
        """Whether a response was opened and is not over, though all of it may have been sent."""
        return self._service.has_response(stream_id)

    def open_response(self, stream_id: int, placement: Any, body: Body | None) -> None:
        """Hand a response to the scheduler. The body follows what is written to the stream next, and ends it."""
        self._service.open_response(stream_id, placement, body)

    def body_changed(self, stream_id: int) -> None:
        """The body of a response, a GrowingBody, has more to read or has ended. Nothing happens if the response is over."""
        self._service.body_changed(stream_id)

    def set_urgency(self, stream_id: int, urgency: int) -> None:
        """A response's urgency as the client would have it, 0 first, for `late_bytes`; the order is the scheduler's."""
        self._service.set_urgency(stream_id, urgency)

    def shrink(self) -> None:
        """All responses are over: give back the room that their streams and packets have taken. Not from within a packet."""
        self._service.shrink()
        shrink(self.streams)
        shrink(self._spaces[_EPOCH].sent_packets)

    def reprioritize(self, stream_id: int, placement: Any) -> None:
        """Move a response; takes effect at the next packet. Nothing happens if it is over already."""
        self._service.reprioritize(stream_id, placement)


def _is_due(limit: Limit) -> bool:
    """Whether a limit on streams must be announced: once the client has fewer left than it would get."""
    return limit.value != limit.sent and limit.sent - limit.used < limit.value - limit.sent
