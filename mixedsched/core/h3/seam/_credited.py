"""A connection whose client may send a window ahead of what was read: aioquic's limits, raised as ReadCredit says."""

from __future__ import annotations

from typing import Any

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.packet_builder import QuicPacketBuilder
from aioquic.quic.recovery import QuicPacketSpace
from aioquic.quic.stream import QuicStream

from mixedsched.core.h3.seam._credit import ReadCredit
from mixedsched.core.h3.seam._receivers import MAX_PIECES, HandshakeReceiver, Reordered
from mixedsched.core.h3.seam._streams import StreamsById


class CreditedConnection(QuicConnection):
    """Of a client, limits are raised as by aioquic. reordered: what has come behind gaps."""

    __slots__ = ("_credit", "reordered", "streams")

    def __init__(self, *, configuration: QuicConfiguration, **arguments: Any) -> None:
        self.reordered = Reordered(None if configuration.is_client else MAX_PIECES)
        super().__init__(configuration=configuration, **arguments)
        limits = configuration.max_data, configuration.max_stream_data
        self._credit = None if configuration.is_client else ReadCredit(*limits, self.reordered)
        self._streams = self.streams = StreamsById(self._credit)

    def _initialize(self, peer_cid: bytes) -> None:
        super()._initialize(peer_cid)
        if not self._is_client:
            for stream in self._crypto_streams.values():
                stream.receiver = HandshakeReceiver()

    def hold_received(self, stream_id: int, size_bytes: int) -> None:
        """So much of what was received is kept, and the peer may send that much less."""
        if self._credit is not None:
            self._credit.hold(stream_id, size_bytes)

    def release_received(self, stream_id: int, size_bytes: int | None = None) -> None:
        """So much of it, or all, is kept no longer."""
        if self._credit is not None:
            self._credit.release(stream_id, size_bytes)
            if stream_id in self.streams:
                self.streams.note(stream_id)

    @property
    def _needs_data_limit(self) -> bool:
        """Whether aioquic, or the credit that stands in for its rule, would raise what the peer may send in all."""
        limit = self._local_max_data
        if self._credit is not None:
            return self._credit.raised(limit.used, limit.value) is not None
        return limit.used * 2 > limit.value

    def _write_connection_limits(self, builder: QuicPacketBuilder, space: QuicPacketSpace) -> None:
        if self._credit is None:
            super()._write_connection_limits(builder, space)
            return
        limit, used = self._local_max_data, self._local_max_data.used
        limit.value = self._credit.raised(used, limit.value) or limit.value
        limit.used = 0  # so that aioquic leaves it as it is
        try:
            super()._write_connection_limits(builder, space)
        finally:
            limit.used = used

    def _write_stream_limits(self, builder: QuicPacketBuilder, space: QuicPacketSpace, stream: QuicStream) -> None:
        if self._credit is None:
            super()._write_stream_limits(builder, space, stream)
            return
        highest = stream.receiver.highest_offset
        stream.max_stream_data_local = self._credit.raised_for(stream) or stream.max_stream_data_local
        stream.receiver.highest_offset = 0
        try:
            super()._write_stream_limits(builder, space, stream)
        finally:
            stream.receiver.highest_offset = highest
