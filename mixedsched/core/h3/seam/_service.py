"""The order of service: stands where aioquic keeps its list of streams."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from aioquic.quic.packet import QuicStreamFrame
from aioquic.quic.stream import QuicStream

from mixedsched.core.h3.response import Body
from mixedsched.core.h3.seam._late_bytes import LateBytes
from mixedsched.core.h3.seam._receivers import NotingReceiver
from mixedsched.core.h3.seam._streams import PullingSender, Turn
from mixedsched.core.h3.tables import shrink
from mixedsched.model.scheduler import Scheduler

if TYPE_CHECKING:
    from mixedsched.core.h3.seam._connection import ScheduledConnection


class ServiceQueue:
    """Stands where aioquic keeps its list of streams, and serves them as the scheduler says.

    Order within a packet: streams that need a frame other than STREAM or are finished, then control and QPACK streams by
    ID, then a client's requests by ID or a server's responses as the scheduler picks them.
    """

    def __init__(self, connection: ScheduledConnection, scheduler: Scheduler[Any]) -> None:
        self._connection = connection
        self._scheduler = scheduler
        self._senders: dict[int, PullingSender] = {}  # of all streams
        self._other_frames: dict[int, None] = {}  # streams with a reset or a stop to send, and finished ones
        self._queues: dict[Turn, dict[int, None]] = {turn: {} for turn in Turn}  # every stream is in that of its turn
        self._ahead, self._parked = self._queues[Turn.AHEAD], self._queues[Turn.PARKED]
        self._in_packet = False
        self._has_room = False
        self.lateness = LateBytes()
        self.has_placements = False  # whether the scheme tells responses apart
        self.packets = 0
        self.lost_body = False  # a packet ended early since a response had to be reset

    def append(self, stream: QuicStream) -> None:
        """aioquic has created a stream."""
        stream_id = stream.stream_id
        assert stream_id is not None
        self._senders[stream_id] = stream.sender = PullingSender(stream, not stream.sender.is_finished, self)
        self._queues[Turn.IDLE][stream_id] = None
        readable, reordered = not stream.receiver.is_finished, self._connection.reordered
        stream.receiver = NotingReceiver(stream_id, readable, self, reordered)

    def __iter__(self) -> Iterator[QuicStream]:
        """For each packet aioquic walks its list twice: to serve the streams, then to build the list anew."""
        if self._in_packet:
            return iter(())
        self._in_packet = True
        self.packets += 1
        return self._serve()

    def extend(self, served: Any) -> None:  # noqa: ARG002 - charge() has seen which streams were served
        """The end of a packet: aioquic puts the streams that it served back."""
        self._in_packet = False

    @property
    def has_data(self) -> bool:
        """Whether there is anything to send besides responses."""
        return bool(self._ahead or self._other_frames)

    @property
    def kept_bytes(self) -> int:
        """What was sent or written, from the first byte of each stream on that is not acknowledged."""
        return sum(sender.kept_bytes for sender in self._senders.values())

    def awaits_response(self, stream_id: int) -> bool:
        """Whether a response can be opened: there is none yet, and the client still wants one."""
        sender = self._senders.get(stream_id)
        return sender is not None and not sender.is_response and not sender.is_stopped

    def has_response(self, stream_id: int) -> bool:
        sender = self._senders.get(stream_id)
        return sender is not None and sender.is_response

    def open_response(self, stream_id: int, placement: Any, body: Body | None) -> None:
        sender = self._senders[stream_id]
        sender.body, sender.is_response = body, True
        self.has_placements |= placement is not None
        self._scheduler.open(stream_id, placement)
        self.note(stream_id)

    def body_changed(self, stream_id: int) -> None:
        """The body that a response is fed from has grown, or ended."""
        sender = self._senders.get(stream_id)
        if sender is not None and sender.body is not None:
            sender.write(b"")

    def set_urgency(self, stream_id: int, urgency: int) -> None:
        """What a response is worth to the client, for the count of bytes that are late. Changes no order."""
        sender = self._senders.get(stream_id)
        if sender is not None:
            self.lateness.moved(sender, urgency)

    def reprioritize(self, stream_id: int, placement: Any) -> None:
        if self.has_response(stream_id):
            self._scheduler.reprioritize(stream_id, placement)

    def note(self, stream_id: int) -> None:
        """Something about the stream has changed: give it the turn that it has now."""
        sender = self._senders.get(stream_id)
        if sender is None:
            return
        stream = sender.stream
        if stream.is_finished or sender.reset_pending or stream.receiver.stop_pending:
            self._other_frames[stream_id] = None
        if not sender.is_response:
            self._set_turn(sender, Turn.AHEAD if sender.has_work else Turn.IDLE)
        elif not sender.has_work:
            self._pause(sender, Turn.IDLE)
        elif not sender.needs_credit:
            self._resume(sender, Turn.EXEMPT)
        elif sender.highest_offset >= stream.max_stream_data_remote:
            self._pause(sender, Turn.IDLE)
        elif sender.turn is not Turn.PARKED:
            self._resume(sender, Turn.SCHEDULED)

    def _set_turn(self, sender: PullingSender, turn: Turn) -> None:
        if sender.turn is not turn:
            del self._queues[sender.turn][sender.stream_id]
            self._queues[turn][sender.stream_id] = None
            sender.turn = turn
            self.lateness.turned(sender, is_ready=turn is Turn.SCHEDULED or turn is Turn.EXEMPT)

    def _pause(self, sender: PullingSender, turn: Turn) -> None:
        self._set_turn(sender, turn)
        self._scheduler.pause(sender.stream_id)

    def _resume(self, sender: PullingSender, turn: Turn) -> None:
        self._set_turn(sender, turn)
        self._scheduler.resume(sender.stream_id)

    def note_received(self, stream_id: int) -> None:
        """The stream has received data, so that its limit may have to be raised."""
        self._connection.streams.note(stream_id)

    def charge(self, sender: PullingSender, frame: QuicStreamFrame, again_bytes: int, filled: bool) -> None:
        """A STREAM frame goes into the packet. again_bytes: of lost data; filled: it leaves no room for another frame."""
        self._has_room = not filled
        stream_id = sender.stream_id
        if sender.is_response:
            size_bytes = len(frame.data)
            self._scheduler.sent(stream_id, size_bytes, again_bytes)
            self.lateness.sent(sender, size_bytes)
            self._connection.sent(stream_id, size_bytes, again_bytes, frame.fin)
            if (
                sender.body is not None
                and sender.body.remaining_bytes
                and not again_bytes
                and sender.highest_offset < sender.stream.max_stream_data_remote
            ):
                return  # it is as ready as before
        self.note(stream_id)

    def next_response(self) -> PullingSender | None:
        """The response whose data goes next: the scheduler's pick among those that may send."""
        if self._connection.credit_bytes <= 0:
            return self._pick_without_credit()
        if self._parked:
            self._unpark()
        picked = self._scheduler.pick()
        return None if picked is None else self._senders[picked]

    @property
    def can_send_data(self) -> bool:
        """Whether the next packet would carry stream data, new or lost, if it were written now."""
        return bool(self._ahead) or self.next_response() is not None

    def awaits_delivery(self, sender: PullingSender) -> bool:
        """Whether what the sender has in flight would be sent again if it were lost."""
        return sender.stream_id in self._senders and not sender.is_stopped

    def pick_among(self, stream_ids: Collection[int]) -> int | None:
        """The scheduler's pick if each of these responses had lost data. Only to be called while no data can be sent.

        They are made ready just for the question: no bytes are charged, so all keep their turns.
        """
        for stream_id in stream_ids:
            self._resume(self._senders[stream_id], Turn.EXEMPT)
        picked = self._pick_without_credit()
        for stream_id in stream_ids:
            self.note(stream_id)
        return None if picked is None else picked.stream_id

    def _serve(self) -> Iterator[QuicStream]:
        """One packet: aioquic writes what the yielded stream has, and leaves off when the packet is full."""
        for stream_id in tuple(self._other_frames):
            stream = self._senders[stream_id].stream
            finished = stream.is_finished
            yield stream
            del self._other_frames[stream_id]
            if finished:
                self._forget(stream_id)
            else:
                self.note(stream_id)
        # Control and QPACK streams first.
        for stream_id in sorted(self._ahead, key=lambda stream_id: (stream_id % 4 < 2, stream_id)):
            yield self._senders[stream_id].stream
        while (sender := self.next_response()) is not None:
            self._has_room = False  # nor if no frame fits any more
            yield sender.stream
            if not self._has_room:
                return

    def _pick_without_credit(self) -> PullingSender | None:
        """The scheduler's pick among the responses that need no credit; the others are parked until there is some."""
        if not self._queues[Turn.EXEMPT]:
            return None
        while (picked := self._scheduler.pick()) is not None:
            sender = self._senders[picked]
            if sender.turn is Turn.EXEMPT:
                return sender
            self._pause(sender, Turn.PARKED)
        return None

    def _unpark(self) -> None:
        for stream_id in tuple(self._parked):
            self._set_turn(self._senders[stream_id], Turn.IDLE)
            self.note(stream_id)

    def shrink(self) -> None:
        """No response is under way: give back the room that many have taken."""
        shrink(self._senders)
        for table in (self._other_frames, *self._queues.values()):
            shrink(table)

    def _forget(self, stream_id: int) -> None:
        sender = self._senders.pop(stream_id)
        del self._queues[sender.turn][stream_id]
        self.lateness.turned(sender, is_ready=False)
        if sender.is_response:
            self._scheduler.close(stream_id)
        self._connection.discarded(stream_id)
