"""Streams whose senders pull bodies, and which of them have received something."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from aioquic.buffer import encode_uint_var
from aioquic.quic.packet import QuicStreamFrame
from aioquic.quic.packet_builder import QuicDeliveryState
from aioquic.quic.stream import QuicStream, QuicStreamSender

from mixedsched.core.h3.codes import ErrorCode
from mixedsched.core.h3.response import Body, BodyLostError, GrowingBody
from mixedsched.core.h3.seam._credit import ReadCredit
from mixedsched.model.priority import URGENCY_DEFAULT

if TYPE_CHECKING:
    from mixedsched.core.h3.seam._service import ServiceQueue


class Turn(Enum):
    """Where a stream stands in the order of service."""

    IDLE = auto()  # nothing to send, or only what waits for the stream's own credit
    AHEAD = auto()  # data of a stream that does not carry a response, which goes before all responses
    SCHEDULED = auto()  # a response that the scheduler may pick
    EXEMPT = auto()  # one whose next frame needs no credit: lost data, a bare FIN
    PARKED = auto()  # one that was passed over because the connection has no credit


class PullingSender(QuicStreamSender):
    """Send part of a stream that takes a response body's bytes only when a packet has room for them.

    is_response, turn, urgency, is_ready: kept for the service queue; a response is a stream that the scheduler knows. body:
    what the stream is fed from once everything written to it has been sent; the stream ends with it.
    """

    def __init__(self, stream: QuicStream, writable: bool, queue: ServiceQueue) -> None:
        super().__init__(stream_id=stream.stream_id, writable=writable)
        assert stream.stream_id is not None
        self.stream = stream
        self.encoded_id: bytes = encode_uint_var(stream.stream_id)
        self.body: Body | None = None
        self.is_response = False
        self.turn = Turn.IDLE
        self.urgency = URGENCY_DEFAULT
        self.is_ready = False
        self._id = stream.stream_id
        self._queue = queue

    @property
    def stream_id(self) -> int:
        return self._id

    @property
    def kept_bytes(self) -> int:
        """From the first byte that is not acknowledged up to the last that was written."""
        return len(self._buffer)

    @property
    def next_offset(self) -> int:
        """Where the next frame starts."""
        return self._pending[0].start if len(self._pending) else self._buffer_stop

    @property
    def has_lost_data(self) -> bool:
        """Whether bytes that were sent before must be sent again."""
        return len(self._pending) > 0 and self._pending[0].start < self.highest_offset

    @property
    def has_new_data(self) -> bool:
        """Whether bytes wait that were never sent."""
        return self._buffer_stop > self.highest_offset or (self.body is not None and self.body.remaining_bytes > 0)

    @property
    def waiting_bytes(self) -> int:
        """To be sent, for the first time or again, as far as they are there."""
        pending = sum(wanted.stop - wanted.start for wanted in self._pending)
        return pending + (0 if self.body is None else self.body.remaining_bytes)

    @property
    def needs_credit(self) -> bool:
        """Whether flow control limits the next frame; repeats and a bare FIN need no credit."""
        return self.has_new_data and not self.has_lost_data

    @property
    def is_stopped(self) -> bool:
        """Whether the stream was reset, by us or because the peer asked for it."""
        return self._reset_error_code is not None

    @property
    def has_work(self) -> bool:
        """Whether there is anything to put into a STREAM frame, credit or not."""
        if self.is_stopped or self.is_finished:
            return False
        return len(self._pending) > 0 or self._pending_eof or self.has_new_data

    def get_frame(self, max_size: int, max_offset: int | None = None) -> QuicStreamFrame | None:
        """The next frame's data: lost data first, then what was written, then the body's next bytes.

        If the body's bytes are lost, the stream is reset, so that the client does not take the response for complete.
        """
        try:
            return self._next_frame(max_size, max_offset)
        except BodyLostError:
            self.reset(ErrorCode.H3_INTERNAL_ERROR)
            self._queue.lost_body = True
            return None

    def _next_frame(self, max_size: int, max_offset: int | None) -> QuicStreamFrame | None:
        body = self.body
        sent_before = self.highest_offset
        if body is not None and self._buffer_stop == sent_before and not len(self._pending):
            frame = self._pull_frame(body, max_size, max_offset)
        else:
            if body is not None and not self.has_lost_data and max_size > 0:
                self._top_up(body, max_size if max_offset is None else min(max_size, max_offset - sent_before))
            frame = super().get_frame(max_size, max_offset)
            self.buffer_is_empty = not self.has_work  # aioquic does not know of the body
        if frame is not None:
            size_bytes = len(frame.data)
            again_bytes = min(size_bytes, sent_before - frame.offset)
            self._queue.charge(self, frame, again_bytes, filled=size_bytes == max_size)
        return frame

    def _pull_frame(self, body: Body, max_size: int, max_offset: int | None) -> QuicStreamFrame | None:
        """Fast path: all that was written is sent and none of it is lost, so the frame is all body.

        What leaves is kept until it is acknowledged, and never was pending.
        """
        start = self.highest_offset
        size = max_size if max_offset is None else min(max_size, max_offset - start)
        if size <= 0:
            return None
        data = body.read(size)
        self._buffer += data
        self._buffer_stop = self.highest_offset = stop = start + len(data)
        if body.remaining_bytes:
            return QuicStreamFrame(data, False, start)
        if not has_ended(body):  # the rest is still to come
            self.buffer_is_empty = True
            return QuicStreamFrame(data, False, start) if data else None
        self.body = None
        self._buffer_fin = stop
        self.buffer_is_empty = True
        return QuicStreamFrame(data, True, start)

    def _top_up(self, body: Body, wanted_bytes: int) -> None:
        """Fill the buffer up to `wanted_bytes` of unsent data, if the body has so many."""
        missing = wanted_bytes - (self._buffer_stop - self.highest_offset)
        if missing > 0:
            chunk = body.read(missing)
            ended = has_ended(body)
            if ended:
                self.body = None
            super().write(chunk, end_stream=ended)

    def write(self, data: bytes, end_stream: bool = False) -> None:
        if self.body is not None and has_ended(self.body):  # an empty one ends the stream here
            self.body, end_stream = None, True
        super().write(data, end_stream)
        if self.body is not None:
            self.buffer_is_empty = not self.has_work
        self._queue.note(self._id)

    def reset(self, error_code: int) -> None:
        super().reset(error_code)
        self.body = None
        self._queue.note(self._id)

    def on_data_delivery(self, delivery: QuicDeliveryState, start: int, stop: int, fin: bool) -> None:
        if (
            delivery is QuicDeliveryState.ACKED
            and start == self._buffer_start
            and start < stop
            and not (fin or self._acked_fin)
            and self._reset_error_code is None
            and not len(self._acked)
        ):  # fast path: in order, and not the last
            del self._buffer[: stop - start]
            self._buffer_start = stop
            return
        super().on_data_delivery(delivery, start, stop, fin)
        self._queue.note(self._id)

    def on_reset_delivery(self, delivery: QuicDeliveryState) -> None:
        super().on_reset_delivery(delivery)
        self._queue.note(self._id)


def has_ended(body: Body) -> bool:
    """Whether all of a body was read, and nothing will follow."""
    return body.remaining_bytes == 0 and not (isinstance(body, GrowingBody) and not body.is_ended)


class StreamsById(dict[int, QuicStream]):
    """Stands where aioquic keeps its streams by ID. It walks them only to raise flow-control limits."""

    __slots__ = ("_changed", "_credit")

    def __init__(self, credit: ReadCredit | None = None) -> None:
        super().__init__()
        self._credit = credit
        self._changed: dict[int, None] = {}

    def note(self, stream_id: int) -> None:
        """The stream has received something, or what was sent of its limit is lost."""
        self._changed[stream_id] = None

    def values(self) -> list[QuicStream]:  # type: ignore[override]
        """The streams whose limit aioquic will raise or repeat; a full packet may stop it before the last."""
        if self._changed:
            self._changed = {
                stream_id: None
                for stream_id in self._changed
                if stream_id in self and self._needs_limit(self[stream_id])
            }
        return [self[stream_id] for stream_id in self._changed]

    def _needs_limit(self, stream: QuicStream) -> bool:
        if self._credit is not None:
            unsaid = stream.max_stream_data_local_sent != stream.max_stream_data_local
            return unsaid or self._credit.raised_for(stream) is not None
        return _needs_limit(stream)


def _needs_limit(stream: QuicStream) -> bool:
    """aioquic's own condition: a limit is doubled when half of it is used."""
    limit = stream.max_stream_data_local
    return limit > 0 and (stream.receiver.highest_offset * 2 > limit or stream.max_stream_data_local_sent != limit)
