"""A connection whose client may send ahead of what was read, and no more: aioquic's limits, raised as ReadCredit says."""

from __future__ import annotations

from typing import Any

from aioquic.quic.connection import QuicConnection
from aioquic.quic.packet_builder import QuicPacketBuilder
from aioquic.quic.recovery import QuicPacketSpace
from aioquic.quic.stream import QuicStream

from mixedsched.core.h3.seam._credit import ReadCredit
from mixedsched.core.h3.seam._streams import StreamsById


class CreditedConnection(QuicConnection):
    """holds_received: whether what is received on request streams counts against the client's credit while hold_received says
    that it is kept; else limits are raised as by aioquic.
    """

    __slots__ = ("_credit", "streams")

    def __init__(self, *, holds_received: bool, **arguments: Any) -> None:
        super().__init__(**arguments)
        limits = self._configuration
        self._credit = ReadCredit(limits.max_data, limits.max_stream_data) if holds_received else None
        self._streams = self.streams = StreamsById(self._credit)

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
        if self._credit is None or not self._credit.counts(stream):
            super()._write_stream_limits(builder, space, stream)
            return
        highest = stream.receiver.highest_offset
        stream.max_stream_data_local = self._credit.raised_for(stream) or stream.max_stream_data_local
        stream.receiver.highest_offset = 0
        try:
            super()._write_stream_limits(builder, space, stream)
        finally:
            stream.receiver.highest_offset = highest
