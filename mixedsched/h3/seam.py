"""The scheduler seam: the only module that touches aioquic's private parts.

What aioquic 1.7.2 does: for each packet it walks `_streams_queue`, a list of all streams, and lets each write a STREAM
frame until the packet is full; then it builds that list anew with the served streams at its end. `QuicStreamSender` holds
everything that was written and not acknowledged.

What is changed here:
- `_streams_queue` is a property whose value asks the scheduler when it is walked, so retransmissions are decided like
  new data, and idle streams are not even looked at;
- each stream's sender and receiver are of subclasses that report every change of state, and the sender pulls a body's
  bytes at the moment it may fill a frame with them, so nothing piles up ahead of the scheduler's choice;
- a MAX_STREAM_DATA frame wakes the stream that it is for.

`tests/h3/test_seam.py` says what is expected of aioquic, and fails with a clear message when a version moves it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from aioquic.buffer import Buffer, encode_uint_var  # type: ignore[attr-defined]
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection, QuicReceiveContext
from aioquic.quic.events import StreamDataReceived, StreamReset
from aioquic.quic.packet import QuicErrorCode, QuicStreamFrame
from aioquic.quic.packet_builder import QuicDeliveryState
from aioquic.quic.stream import QuicStream, QuicStreamReceiver, QuicStreamSender

from mixedsched.h3.response import Body
from mixedsched.scheme import Scheduler

FRAME_DATA = 0x00

Sent = Callable[[int, int, bool], None]
"""(stream ID, size of a STREAM frame's data in bytes, whether it ends the stream)"""

Discarded = Callable[[int], None]
"""(stream ID)"""


class PullingSender(QuicStreamSender):
    """Send part of a stream that takes a response body's bytes only when a packet has room for them.

    body: what the stream is fed from once everything written to it has been sent; the stream ends with it.
    """

    def __init__(self, stream_id: int, writable: bool, queue: ServiceQueue) -> None:
        super().__init__(stream_id=stream_id, writable=writable)
        self.body: Body | None = None
        self._id = stream_id
        self._queue = queue

    @property
    def has_lost_data(self) -> bool:
        """Whether bytes that were sent before wait to be sent again."""
        return len(self._pending) > 0 and self._pending[0].start < self.highest_offset

    @property
    def has_new_data(self) -> bool:
        """Whether bytes wait that were never sent."""
        return self._buffer_stop > self.highest_offset or (self.body is not None and self.body.remaining_bytes > 0)

    @property
    def is_stopped(self) -> bool:
        """Whether the stream was reset, by us or at the peer's wish."""
        return self._reset_error_code is not None

    @property
    def has_work(self) -> bool:
        """Whether there is anything to put into a STREAM frame, credit or not."""
        if self.is_stopped or self.is_finished:
            return False
        return len(self._pending) > 0 or self._pending_eof or self.has_new_data

    def get_frame(self, max_size: int, max_offset: int | None = None) -> QuicStreamFrame | None:
        again = self.has_lost_data
        if not again and self.body is not None and max_size > 0:
            self._pull(max_size if max_offset is None else min(max_size, max_offset - self.highest_offset))
        frame = super().get_frame(max_size, max_offset)
        self.buffer_is_empty = not self.has_work  # aioquic's idea of it knows nothing of the body
        if frame is not None:
            self._queue.charge(self._id, frame, again, filled=len(frame.data) == max_size)
        return frame

    def _pull(self, wanted_bytes: int) -> None:
        """Have `wanted_bytes` of unsent data in the buffer, as far as the body has them."""
        assert self.body is not None
        missing = wanted_bytes - (self._buffer_stop - self.highest_offset)
        if missing > 0:
            chunk = self.body.read(missing)
            ended = self.body.remaining_bytes == 0
            if ended:
                self.body = None
            super().write(chunk, end_stream=ended)

    def write(self, data: bytes, end_stream: bool = False) -> None:
        if self.body is not None and self.body.remaining_bytes == 0:
            self.body, end_stream = None, True
        super().write(data, end_stream and self.body is None)
        if self.body is not None:
            self.buffer_is_empty = False
        self._queue.note(self._id)

    def reset(self, error_code: int) -> None:
        super().reset(error_code)
        self.body = None
        self._queue.note(self._id)

    def on_data_delivery(self, delivery: QuicDeliveryState, start: int, stop: int, fin: bool) -> None:
        super().on_data_delivery(delivery, start, stop, fin)
        self._queue.note(self._id)

    def on_reset_delivery(self, delivery: QuicDeliveryState) -> None:
        super().on_reset_delivery(delivery)
        self._queue.note(self._id)


class NotingReceiver(QuicStreamReceiver):
    """Receive part of a stream that reports when there may be something to tell the peer, or nothing left to do."""

    def __init__(self, stream_id: int, readable: bool, queue: ServiceQueue) -> None:
        super().__init__(stream_id=stream_id, readable=readable)
        self._id = stream_id
        self._queue = queue

    def handle_frame(self, frame: QuicStreamFrame) -> StreamDataReceived | None:
        event = super().handle_frame(frame)
        if self.is_finished:
            self._queue.note(self._id)
        return event

    def handle_reset(self, *, final_size: int, error_code: int = QuicErrorCode.NO_ERROR) -> StreamReset | None:
        event = super().handle_reset(final_size=final_size, error_code=error_code)
        self._queue.note(self._id)
        return event

    def on_stop_sending_delivery(self, delivery: QuicDeliveryState) -> None:
        super().on_stop_sending_delivery(delivery)
        self._queue.note(self._id)

    def stop(self, error_code: int = QuicErrorCode.NO_ERROR) -> None:
        super().stop(error_code)
        self._queue.note(self._id)


class ServiceQueue:
    """Stands where aioquic keeps its list of streams, and serves them as the scheduler says.

    Order within a packet: streams that need a frame other than STREAM or are finished, then control and QPACK streams by
    ID, then responses as the scheduler picks them.
    """

    def __init__(self, connection: ScheduledConnection, scheduler: Scheduler[Any]) -> None:
        self._connection = connection
        self._scheduler = scheduler
        self._streams: dict[int, QuicStream] = {}
        self._senders: dict[int, PullingSender] = {}
        self._responses: dict[int, None] = {}  # streams that the scheduler knows
        self._errands: dict[int, None] = {}  # resets, stops, finished streams
        self._ahead: dict[int, None] = {}  # streams with data that are no responses
        self._parked: dict[int, None] = {}  # responses that wait for credit of the connection
        self._in_packet = False
        self._has_room = False

    def append(self, stream: QuicStream) -> None:
        """aioquic has created a stream."""
        stream_id = stream.stream_id
        assert stream_id is not None
        self._senders[stream_id] = stream.sender = PullingSender(stream_id, not stream.sender.is_finished, self)
        stream.receiver = NotingReceiver(stream_id, not stream.receiver.is_finished, self)
        self._streams[stream_id] = stream

    def __iter__(self) -> Iterator[QuicStream]:
        """For each packet aioquic walks its list twice: to serve the streams, then to build the list anew."""
        if self._in_packet:
            return iter(())
        self._in_packet = True
        return self._serve()

    def extend(self, served: Any) -> None:  # noqa: ARG002 - who was served is known from charge()
        """The end of a packet: aioquic puts the streams that it served back."""
        self._in_packet = False

    def awaits_response(self, stream_id: int) -> bool:
        """Whether a response can be opened: there is none yet, and the client still wants one."""
        sender = self._senders.get(stream_id)
        return sender is not None and stream_id not in self._responses and not sender.is_stopped

    def has_response(self, stream_id: int) -> bool:
        return stream_id in self._responses

    def open_response(self, stream_id: int, placement: Any, body: Body | None) -> None:
        self._senders[stream_id].body = body
        self._responses[stream_id] = None
        self._scheduler.open(stream_id, placement)
        self.note(stream_id)

    def pending_body(self, stream_id: int) -> Body | None:
        """The body of which nothing was sent yet, if the stream has one."""
        sender = self._senders.get(stream_id)
        return sender.body if sender is not None and sender.highest_offset == 0 else None

    def reprioritize(self, stream_id: int, placement: Any) -> None:
        if stream_id in self._responses:
            self._scheduler.reprioritize(stream_id, placement)

    def note(self, stream_id: int) -> None:
        """Something about the stream has changed: sort it into where it will be looked for."""
        stream = self._streams.get(stream_id)
        if stream is None:
            return
        if stream.is_finished or stream.sender.reset_pending or stream.receiver.stop_pending:
            self._errands[stream_id] = None
        sender = self._senders[stream_id]
        has_work = sender.has_work
        if stream_id not in self._responses:
            if has_work:
                self._ahead[stream_id] = None
            else:
                self._ahead.pop(stream_id, None)
        elif not has_work or self._is_stream_blocked(stream, sender):
            self._scheduler.pause(stream_id)
            self._parked.pop(stream_id, None)
        elif stream_id not in self._parked or sender.has_lost_data:
            self._parked.pop(stream_id, None)
            self._scheduler.resume(stream_id)

    def charge(self, stream_id: int, frame: QuicStreamFrame, again: bool, filled: bool) -> None:
        """A STREAM frame goes into the packet. again: it repeats lost data; filled: it leaves no room for another."""
        self._has_room = not filled
        size_bytes = len(frame.data)
        if stream_id in self._responses:
            self._scheduler.sent(stream_id, size_bytes, size_bytes if again else 0)
            self._connection.sent(stream_id, size_bytes, frame.fin)
        self.note(stream_id)

    def _serve(self) -> Iterator[QuicStream]:
        """One packet: aioquic writes what the yielded stream has, and leaves off when the packet is full."""
        for stream_id in tuple(self._errands):
            stream = self._streams[stream_id]
            finished = stream.is_finished
            yield stream
            del self._errands[stream_id]
            if finished:
                self._forget(stream_id)
            else:
                self.note(stream_id)
        for stream_id in sorted(self._ahead):
            yield self._streams[stream_id]
        if self._parked and self._connection.credit_bytes > 0:
            self._unpark()
        while (picked := self._scheduler.pick()) is not None:
            if not self._has_credit(self._senders[picked]):
                self._park(picked)
                continue
            self._has_room = False  # nor if no frame fits any more
            yield self._streams[picked]
            if not self._has_room:
                return

    def _is_stream_blocked(self, stream: QuicStream, sender: PullingSender) -> bool:
        """Whether the stream's own flow-control limit stops it; repeats and a bare FIN need no credit."""
        return (
            sender.has_new_data and not sender.has_lost_data and sender.highest_offset >= stream.max_stream_data_remote
        )

    def _has_credit(self, sender: PullingSender) -> bool:
        return sender.has_lost_data or not sender.has_new_data or self._connection.credit_bytes > 0

    def _park(self, stream_id: int) -> None:
        self._parked[stream_id] = None
        self._scheduler.pause(stream_id)

    def _unpark(self) -> None:
        parked = tuple(self._parked)
        self._parked.clear()
        for stream_id in parked:
            self.note(stream_id)

    def _forget(self, stream_id: int) -> None:
        del self._streams[stream_id], self._senders[stream_id]
        self._ahead.pop(stream_id, None)
        self._parked.pop(stream_id, None)
        if stream_id in self._responses:
            del self._responses[stream_id]
            self._scheduler.close(stream_id)
        self._connection.discarded(stream_id)


class ScheduledConnection(QuicConnection):
    """A server's QUIC connection whose responses are sent in the order that a scheduler picks.

    sent: told of every STREAM frame of a response that goes into a packet, repeats included. Must not raise.
    discarded: told of every stream that is over, both ways.
    """

    def __init__(
        self,
        *,
        configuration: QuicConfiguration,
        scheduler: Scheduler[Any],
        sent: Sent = lambda _stream_id, _size_bytes, _fin: None,
        discarded: Discarded = lambda _stream_id: None,
        **arguments: Any,
    ) -> None:
        self._service = ServiceQueue(self, scheduler)  # before aioquic's constructor, which assigns _streams_queue
        self.sent = sent
        self.discarded = discarded
        super().__init__(configuration=configuration, **arguments)

    @property  # type: ignore[override]
    def _streams_queue(self) -> ServiceQueue:
        return self._service

    @_streams_queue.setter
    def _streams_queue(self, value: list[QuicStream]) -> None:
        """aioquic's own order is of no interest."""

    def _handle_max_stream_data_frame(self, context: QuicReceiveContext, frame_type: int, buf: Buffer) -> None:
        start = buf.tell()
        stream_id = buf.pull_uint_var()
        buf.seek(start)
        super()._handle_max_stream_data_frame(context, frame_type, buf)
        self._service.note(stream_id)

    @property
    def credit_bytes(self) -> int:
        """What the peer's connection flow control still lets us send."""
        return self._remote_max_data - self._remote_max_data_used

    @property
    def request_stream_limit(self) -> int:
        """How many request streams the client may have opened in all; stream IDs below 4 times that are legal."""
        return self._local_max_streams_bidi.value

    def is_discarded(self, stream_id: int) -> bool:
        """Whether the stream was opened and is over."""
        return self._stream_is_discarded(stream_id)

    def awaits_response(self, stream_id: int) -> bool:
        """Whether a request may be answered: it was not yet, and the client has not cancelled it."""
        return self._service.awaits_response(stream_id)

    def has_response(self, stream_id: int) -> bool:
        """Whether a response was opened and is not over, though all of it may have been sent."""
        return self._service.has_response(stream_id)

    def open_response(self, stream_id: int, placement: Any, body: Body | None) -> None:
        """Hand a response to the scheduler. The body follows, in one DATA frame, what is written to the stream next."""
        self._service.open_response(stream_id, placement, body)

    def send_stream_data(self, stream_id: int, data: bytes, end_stream: bool = False) -> None:
        """As aioquic's; on a response with a body, the head of the DATA frame is put behind `data`."""
        body = self._service.pending_body(stream_id)
        if body is not None:
            data += encode_uint_var(FRAME_DATA) + encode_uint_var(body.size_bytes)
        super().send_stream_data(stream_id, data, end_stream)

    def reprioritize(self, stream_id: int, placement: Any) -> None:
        """Move a response; takes effect at the next packet. Nothing happens if it is over already."""
        self._service.reprioritize(stream_id, placement)
