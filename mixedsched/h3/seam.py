"""The scheduler seam: the only module that touches aioquic's private parts.

What aioquic 1.7.2 does: for each packet it walks `_streams_queue`, a list of all streams, and lets each write a STREAM
frame until the packet is full; then it builds that list anew with the served streams at its end. `QuicStreamSender` holds
everything that was written and not acknowledged.

What is changed here:
- `_streams_queue` is a property whose value asks the scheduler when it is walked, so retransmissions are decided like
  new data, and idle streams are not even looked at;
- each stream's sender and receiver are of subclasses that report every change of state, and the sender pulls a body's
  bytes at the moment it may fill a frame with them, so nothing piles up ahead of the scheduler's choice;
- a MAX_STREAM_DATA frame wakes the stream that it is for;
- for each packet aioquic walks `_streams`, a dictionary of all streams, to raise their flow-control limits; ours shows it
  only those that received something since.

`ObservedConnection` is the other end in virtual time: a client that tells which packets brought which stream data.

`tests/h3/test_seam.py` says what is expected of aioquic, and fails with a clear message when a version moves it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from aioquic import tls
from aioquic.buffer import Buffer, encode_uint_var  # type: ignore[attr-defined]
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection, QuicReceiveContext
from aioquic.quic.events import StreamDataReceived, StreamReset
from aioquic.quic.packet import QuicErrorCode, QuicStreamFrame
from aioquic.quic.packet_builder import QuicDeliveryState
from aioquic.quic.recovery import QuicPacketNumberWindow
from aioquic.quic.stream import QuicStream, QuicStreamReceiver, QuicStreamSender

from mixedsched.h3.response import Body
from mixedsched.schedulers.sequential import Sequential
from mixedsched.scheme import Scheduler

FRAME_DATA = 0x00
MAX_ACK_DELAY_S = 0.025  # what aioquic announces, the default of RFC 9000

Sent = Callable[[int, int, bool], None]
"""(stream ID, size of a STREAM frame's data in bytes, whether it ends the stream)"""

Discarded = Callable[[int], None]
"""(stream ID)"""

Received = Callable[[int, list[tuple[int, int, int]]], None]
"""(packet number, its STREAM frames as (stream ID, offset, size of the data in bytes))"""


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
        else:
            self._queue.note_received(self._id)
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


class StreamTable(dict[int, QuicStream]):
    """Stands where aioquic keeps its streams by ID. All it walks them for is to raise flow-control limits."""

    def __init__(self) -> None:
        super().__init__()
        self._changed: dict[int, None] = {}

    def note(self, stream_id: int) -> None:
        """The stream has received something, or what was sent of its limit is lost."""
        self._changed[stream_id] = None

    def values(self) -> list[QuicStream]:  # type: ignore[override]
        """The streams whose limit aioquic will raise or repeat; a full packet may make it leave off before the last."""
        if self._changed:
            self._changed = {
                stream_id: None for stream_id in self._changed if stream_id in self and _needs_limit(self[stream_id])
            }
        return [self[stream_id] for stream_id in self._changed]


def _needs_limit(stream: QuicStream) -> bool:
    """As aioquic decides it: a limit is doubled when half of it is used."""
    limit = stream.max_stream_data_local
    return limit > 0 and (stream.receiver.highest_offset * 2 > limit or stream.max_stream_data_local_sent != limit)


class ServiceQueue:
    """Stands where aioquic keeps its list of streams, and serves them as the scheduler says.

    Order within a packet: streams that need a frame other than STREAM or are finished, then control and QPACK streams by
    ID, then a client's requests by ID or a server's responses as the scheduler picks them.
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
        self.packets = 0

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
        self.packets += 1
        return self._serve()

    def extend(self, served: Any) -> None:  # noqa: ARG002 - who was served is known from charge()
        """The end of a packet: aioquic puts the streams that it served back."""
        self._in_packet = False

    @property
    def has_data(self) -> bool:
        """Whether any but responses have something to send."""
        return bool(self._ahead or self._errands)

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

    def note_received(self, stream_id: int) -> None:
        """The stream has received data, so that its limit may have to be raised."""
        self._connection.streams.note(stream_id)

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
        for stream_id in sorted(self._ahead, key=_place):
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


def _place(stream_id: int) -> tuple[bool, int]:
    """Control and QPACK streams first."""
    return stream_id % 4 < 2, stream_id


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
        self._streams = self.streams = StreamTable()

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

    def _on_max_stream_data_delivery(self, delivery: QuicDeliveryState, stream: QuicStream) -> None:
        super()._on_max_stream_data_delivery(delivery, stream)
        assert stream.stream_id is not None
        self.streams.note(stream.stream_id)

    @property
    def packet(self) -> int:
        """Names the packet being written, in rising order: what `sent` tells of under the same name shares a packet."""
        return self._service.packets

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


class NotingWindow(QuicPacketNumberWindow):
    """Remembers which packets came, as aioquic wants it, and reports each once all of its frames were handled."""

    def __init__(self, noted: Callable[[int], None]) -> None:
        super().__init__()
        self._noted = noted

    def add(self, packet_number: int) -> None:
        super().add(packet_number)
        self._noted(packet_number)


class ObservedConnection(ScheduledConnection):
    """A client's QUIC connection that tells what each packet brought, and whose order of service never varies.

    aioquic puts streams that shared a packet back in the order of a set, thus of their places in memory; ours does not.
    It acknowledges every second packet, and at once where one is missing (RFC 9000 sections 13.2.1 and 13.2.2), as browsers
    do; aioquic does so 1 ms after each. received: told of every packet that could be read, whatever its encryption level:
    aioquic numbers them in one row.
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
        """Whether packets have come that are to be acknowledged."""
        return tls.Epoch.ONE_RTT in self._spaces and self._spaces[tls.Epoch.ONE_RTT].ack_at is not None

    def may_wait(self, now_s: float) -> bool:
        """Whether all that there is to send can go with the next acknowledgement, for which there is a timer."""
        if not self._handshake_confirmed or self._service.has_data:
            return False
        ack_at_s = self._spaces[tls.Epoch.ONE_RTT].ack_at
        return ack_at_s is not None and ack_at_s > now_s

    @property
    def request_credit(self) -> int:
        """How many more request streams the server lets us open."""
        return self._remote_max_streams_bidi - self._local_next_stream_id_bidi // 4
