"""A receiver that keeps responses in one line, as over TCP: what was sent later waits for what was sent before."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.events import StreamDataReceived

from mixedsched.core.h3.seam import ScheduledConnection


@dataclass(frozen=True, slots=True)
class _Piece:
    """Data of a response that has come."""

    stop: int  # place behind it, see _Stream
    size_bytes: int
    events: list[H3Event]  # what it means to the page


@dataclass(slots=True)
class _Stream:
    """One response. A place is an offset in its stream; its end (FIN) takes one place behind the last byte."""

    sent: int = 0  # first place that was never sent
    has_end: bool = False  # whether the end was sent
    stops: deque[int] = field(
        default_factory=deque
    )  # where the pieces end in which it was first sent, as far as none has come
    received: int = 0  # first place that is missing
    held: deque[_Piece] = field(default_factory=deque)  # come, and still kept from the page


class OrderedReceiver:
    """Keeps from the page what was first sent behind data that is missing, whatever stream that is of.

    It stands between HTTP/3, which gets everything at once, so that the same packets travel, and the page. It knows from the
    sender in which order data of several streams has left. held_bytes: data that its own stream would have handed over, and
    that had to wait for another one's.
    """

    def __init__(self, sender: ScheduledConnection) -> None:
        self.held_bytes = 0
        self._streams: defaultdict[int, _Stream] = defaultdict(_Stream)
        self._line: deque[tuple[int, int]] = deque()  # (stream ID, place where the piece ends), as first sent
        self._told = sender.sent
        sender.sent = self._note

    def _note(self, stream_id: int, size_bytes: int, again_bytes: int, fin: bool) -> None:
        self._told(stream_id, size_bytes, again_bytes, fin)
        stream = self._streams[stream_id]
        stop = stream.sent + size_bytes - again_bytes + (fin and not stream.has_end)
        if stop > stream.sent:
            stream.sent = stop
            stream.has_end |= fin
            stream.stops.append(stop)
            self._line.append((stream_id, stop))

    def receive(
        self, event: StreamDataReceived, read: Callable[[StreamDataReceived], list[H3Event]]
    ) -> list[tuple[int, list[H3Event]]]:
        """What the page gets now that this has come: stream IDs, and what HTTP/3, by `read`, makes of their data."""
        if not is_response(event.stream_id):
            for freed in read(event):  # by header compression: a response's headers could not be read before
                self._hold(freed)
            return list(self._release())
        stream = self._streams[event.stream_id]
        before = stream.received
        for part in _cut(event, stream):
            stream.received += len(part.data) + part.end_stream
            stream.held.append(_Piece(stream.received, len(part.data), read(part)))
        released = list(self._release())
        self.held_bytes += sum(piece.size_bytes for piece in stream.held if piece.stop > before)
        return released

    def _hold(self, event: H3Event) -> None:
        """Keep it back until the page has all that has come of its response."""
        assert isinstance(event, HeadersReceived | DataReceived), "nothing else belongs to a response"
        stream = self._streams[event.stream_id]
        stream.held.append(_Piece(stream.received, 0, [event]))

    def _release(self) -> Iterator[tuple[int, list[H3Event]]]:
        while self._line:
            stream_id, stop = self._line[0]
            stream = self._streams[stream_id]
            while stream.held and stream.held[0].stop <= stop:
                yield stream_id, stream.held.popleft().events
            if stream.received < stop:
                return
            self._line.popleft()


def is_response(stream_id: int) -> bool:
    """Whether a client opened the stream with a request (RFC 9000 section 2.1)."""
    return stream_id % 4 == 0


def _cut(event: StreamDataReceived, stream: _Stream) -> Iterator[StreamDataReceived]:
    """The event in pieces as its data was first sent; a repair may bring several at once, and parts of some."""
    begin = start = stream.received
    stop = begin + len(event.data) + event.end_stream
    while start < stop:
        end = min(stream.stops[0], stop)
        if end == stream.stops[0]:
            stream.stops.popleft()
        data = event.data[start - begin : end - begin]
        yield StreamDataReceived(data=data, end_stream=event.end_stream and end == stop, stream_id=event.stream_id)
        start = end
