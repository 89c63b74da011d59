"""Receive parts of streams, which keep what came out of order within bounds, whatever a client leaves out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from aioquic.quic.connection import QuicConnectionError
from aioquic.quic.events import StreamDataReceived, StreamReset
from aioquic.quic.packet import QuicErrorCode, QuicFrameType, QuicStreamFrame
from aioquic.quic.packet_builder import QuicDeliveryState
from aioquic.quic.stream import QuicStreamReceiver

if TYPE_CHECKING:
    from mixedsched.core.h3.seam._service import ServiceQueue

MAX_PIECES = 2048  # of a connection; a window of 256 KiB in full packets with every second one lost has 110
MAX_HANDSHAKE_BYTES = 64 * 1024  # of a client's TLS messages at each level of encryption; browsers send under 2 KiB


class Reordered:
    """What a connection has received behind gaps.

    ahead_bytes: from the first gap of each stream up to the end of what came, the gaps included. pieces: how many it is in.
    max_pieces: None for any number.
    """

    __slots__ = ("ahead_bytes", "max_pieces", "pieces")

    def __init__(self, max_pieces: int | None) -> None:
        self.ahead_bytes = 0
        self.pieces = 0
        self.max_pieces = max_pieces

    def add_pieces(self, change: int) -> None:
        """Raises QuicConnectionError where there are too many, as each takes memory beyond its bytes."""
        self.pieces += change
        if change > 0 and self.max_pieces is not None and self.pieces > self.max_pieces:
            raise QuicConnectionError(QuicErrorCode.INTERNAL_ERROR, QuicFrameType.STREAM_BASE, "too many pieces")


class Pieces:
    """The ranges of a stream that were received and not read, in order and apart from each other.

    Stands where aioquic has a RangeSet, which is searched from its beginning: then a client that sends every second byte makes
    each frame cost more than the one before.
    """

    __slots__ = ("_reordered", "_starts", "_stops")

    def __init__(self, reordered: Reordered) -> None:
        self._reordered = reordered
        self._starts: list[int] = []
        self._stops: list[int] = []

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: int) -> range:
        return range(self._starts[index], self._stops[index])

    def add(self, start: int, stop: int) -> None:
        """Join a range with those that it overlaps or touches."""
        first, last = bisect_left(self._stops, start), bisect_right(self._starts, stop)
        if first < last:
            start, stop = min(start, self._starts[first]), max(stop, self._stops[last - 1])
        self._starts[first:last] = [start]
        self._stops[first:last] = [stop]
        self._reordered.add_pieces(1 - (last - first))

    def shift(self) -> range:
        """Take the first range."""
        self._reordered.add_pieces(-1)
        return range(self._starts.pop(0), self._stops.pop(0))

    def clear(self) -> None:
        self._reordered.add_pieces(-len(self._starts))
        self._starts.clear()
        self._stops.clear()


class NotingReceiver(QuicStreamReceiver):
    """Receive part of a stream that reports when there may be something to tell the peer, or nothing left to do."""

    def __init__(self, stream_id: int, readable: bool, queue: ServiceQueue, reordered: Reordered) -> None:
        super().__init__(stream_id=stream_id, readable=readable)
        self._ranges = Pieces(reordered)  # type: ignore[assignment]
        self._id = stream_id
        self._queue = queue
        self._reordered = reordered
        self._ahead_bytes = 0  # as counted in reordered

    def handle_frame(self, frame: QuicStreamFrame) -> StreamDataReceived | None:
        event = super().handle_frame(frame)
        self._count(0 if self.is_finished else self.highest_offset - self._buffer_start)
        if self.is_finished:
            self._queue.note(self._id)
        else:
            self._queue.note_received(self._id)
        return event

    def handle_reset(self, *, final_size: int, error_code: int = QuicErrorCode.NO_ERROR) -> StreamReset | None:
        event = super().handle_reset(final_size=final_size, error_code=error_code)
        self._drop()
        self._queue.note(self._id)
        return event

    def _drop(self) -> None:
        """What waits behind a gap will not be read any more, though our half of the stream may last."""
        self._buffer = bytearray()
        self._ranges.clear()  # type: ignore[attr-defined]
        self._count(0)

    def _count(self, ahead_bytes: int) -> None:
        self._reordered.ahead_bytes += ahead_bytes - self._ahead_bytes
        self._ahead_bytes = ahead_bytes

    def on_stop_sending_delivery(self, delivery: QuicDeliveryState) -> None:
        super().on_stop_sending_delivery(delivery)
        self._queue.note(self._id)

    def stop(self, error_code: int = QuicErrorCode.NO_ERROR) -> None:
        super().stop(error_code)
        self._queue.note(self._id)


class HandshakeReceiver(QuicStreamReceiver):
    """Receive part of a client's TLS messages at one level of encryption: bounded in all, as TLS keeps a message until it is
    complete, and one may announce 16 MB."""

    def __init__(self) -> None:
        super().__init__(stream_id=None, readable=True)
        self._ranges = Pieces(Reordered(MAX_PIECES))  # type: ignore[assignment]

    def handle_frame(self, frame: QuicStreamFrame) -> StreamDataReceived | None:
        if frame.offset + len(frame.data) > MAX_HANDSHAKE_BYTES:
            raise QuicConnectionError(
                QuicErrorCode.CRYPTO_BUFFER_EXCEEDED, QuicFrameType.CRYPTO, "too long for a handshake"
            )
        return super().handle_frame(frame)
