"""Head-of-line blocking inside a connection: bytes that arrived but had to wait for a lost packet.

Source: Sander, Kunze and Wehrle, "Analyzing the Influence of Resource Prioritization on HTTP/3 HOL Blocking and
Performance", TMA 2022, and the evaluation script published with it.

Packets are looked at in the order of their numbers, whenever they arrived, so reordering alone never counts. Each stream
begins with all of its bytes missing. A STREAM frame whose data does not reach down to the first missing byte cannot be
delivered: those of its bytes that were not there yet are blocked. Each byte counts once, however long it waits; what a
repair releases is not counted again. Control and QPACK streams count like any other.

The figure for the whole connection is an estimate of what an ordered transport (TCP) would have held back: the blocked bytes,
and the new bytes of frames that could be delivered while another stream waited, if the frame begins strictly beyond what its
own stream had when the other one was blocked. Because of that "strictly", the first frame after a loss is missed, as in
the source, which computes this figure and does not publish it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from heapq import heappop, heappush

from mixedsched.core.metrics._metric import Metric

METRIC = Metric(
    key="hol_bytes",
    title="Head-of-line blocking",
    short="HOL",
    unit="bytes",
    scale="difference",
    margin=12_000.0,  # ten full packets, the first window of a connection
    event="lost packets held back",
    less="less data",
    more="more data",
    explanation=(
        "How many bytes had arrived but could not be used, because an earlier packet of the same response was lost. Each "
        "byte counts once, however long it waited, so this tells how much was held back and not how much people noticed. It "
        "grows with the page and with how much is under way at once: compare it between schemes on one page and one link, not "
        "between links."
    ),
    source="run",
)

StreamFrame = tuple[int, int, int]
"""(stream ID, offset, length in bytes) of the data of a STREAM frame."""


class HolCounter:
    """Counts while packets come in, with memory only for what is missing.

    stream_hol_bytes: blocked within their stream. connection_hol_bytes: the estimate for an ordered transport.
    packets_seen: packets that were given. packets_lost: numbers below the highest one that were not. loss_runs: how often so
    many of these in a row.
    """

    def __init__(self) -> None:
        self.stream_hol_bytes = 0
        self.connection_hol_bytes = 0
        self.packets_seen = 0
        self.loss_runs: Counter[int] = Counter()
        self._next_number = 0
        self._frames = 0  # so far: the clock of all that is remembered below
        self._streams: dict[int, _Stream] = {}
        self._waiting: list[int] = []  # blocked frames that no repair has freed yet: when they came, in order
        self._waits_on: dict[int, _Stream] = {}  # the stream of each of these

    @property
    def packets_lost(self) -> int:
        return self._next_number - self.packets_seen

    def packet(self, number: int, frames: Iterable[StreamFrame]) -> list[int]:
        """A packet and the STREAM frames in it; returns how many bytes of each are blocked within their stream.

        Numbers must rise; ValueError otherwise.
        """
        if number < self._next_number:
            raise ValueError(f"packet {number} comes after packet {self._next_number - 1}")
        if number > self._next_number:
            self.loss_runs[number - self._next_number] += 1
        self._next_number = number + 1
        self.packets_seen += 1
        return [self._frame(stream_id, offset, length) for stream_id, offset, length in frames]

    def _frame(self, stream_id: int, offset: int, length: int) -> int:
        """Count a frame; returns its blocked bytes."""
        self._frames += 1
        stream = self._streams.get(stream_id)
        if stream is None:
            stream = self._streams[stream_id] = _Stream(self._frames)
        if not length:
            return 0
        blocked_bytes = 0
        first_missing = stream.first_missing
        new_bytes = stream.add(offset, offset + length)
        if stream.first_missing == first_missing:
            blocked_bytes = new_bytes
            self.stream_hol_bytes += new_bytes
            self.connection_hol_bytes += new_bytes
            if offset > first_missing:
                self._block(stream, offset)
        else:
            if self._waiting and self._is_held_back(stream, offset):
                self.connection_hol_bytes += new_bytes
            self._release(stream)
        stream.note_highest(self._frames, keep=bool(self._waiting))
        return blocked_bytes

    def _block(self, stream: _Stream, offset: int) -> None:
        """The present frame waits for a repair of its stream."""
        heappush(stream.blocked, (offset, self._frames))
        self._waiting.append(self._frames)
        self._waits_on[self._frames] = stream

    def _release(self, stream: _Stream) -> None:
        """Forget the blocked frames that a repair has freed."""
        while stream.blocked and stream.blocked[0][0] <= stream.first_missing:
            _, frame = heappop(stream.blocked)
            del self._waiting[bisect_left(self._waiting, frame)]
            del self._waits_on[frame]

    def _is_held_back(self, stream: _Stream, offset: int) -> bool:
        """Whether an ordered transport would let this frame wait for another stream's repair.

        What a stream had only grows, so of the other streams' blocked frames that met it, the earliest decides. Its own
        ones never do, so each of them is passed over once: frames only ever come in at the end of those that wait.
        """
        place = bisect_right(self._waiting, stream.not_met_until)
        while place < len(self._waiting):
            since = self._waiting[place]
            if self._waits_on[since] is not stream:
                return offset > stream.highest_at(since)
            stream.not_met_until = since
            place += 1
        return False


class _Stream:
    """What has arrived of one stream. Points in time are counts of frames."""

    def __init__(self, known_since: int) -> None:
        self.not_met_until = known_since  # no other stream's blocked frame from before, or of then, matters
        self.first_missing = 0
        self.blocked: list[tuple[int, int]] = []  # (offset, when) of frames that still wait: a heap
        self._starts: list[int] = []  # of the pieces behind the first gap, which do not touch, in order
        self._stops: list[int] = []
        self._highest = 0
        self._changed_at = [known_since]
        self._highest_from = [0]

    def add(self, start: int, stop: int) -> int:
        """Mark bytes as received; returns how many of them are new."""
        start = max(start, self.first_missing)
        if start >= stop:
            return 0
        self._highest = max(self._highest, stop)
        # The pieces that overlap or touch are neighbours: from `first` up to, not including, `last`.
        first, last = bisect_left(self._stops, start), bisect_right(self._starts, stop)
        new_bytes = stop - start
        for place in range(first, last):
            new_bytes -= min(stop, self._stops[place]) - max(start, self._starts[place])
        if first < last:
            start, stop = min(start, self._starts[first]), max(stop, self._stops[last - 1])
        if start == self.first_missing:
            self.first_missing = stop
            del self._starts[first:last], self._stops[first:last]
        else:
            self._starts[first:last], self._stops[first:last] = [start], [stop]
        return new_bytes

    def note_highest(self, frame: int, *, keep: bool) -> None:
        """Remember since when the stream has its highest byte. keep: earlier ones may be asked for, too."""
        if not keep:
            self._changed_at, self._highest_from = [frame], [self._highest]
        elif self._highest > self._highest_from[-1]:
            self._changed_at.append(frame)
            self._highest_from.append(self._highest)

    def highest_at(self, frame: int) -> int:
        """The end of its highest byte after so many frames of the connection."""
        return self._highest_from[bisect_right(self._changed_at, frame) - 1]
