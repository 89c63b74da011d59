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

from bisect import bisect_right
from collections.abc import Iterable, Sequence

StreamFrame = tuple[int, int, int]
"""(stream ID, offset, length in bytes) of the data of a STREAM frame."""


class HolCounter:
    """Counts while packets come in, with memory for what is missing only.

    stream_hol_bytes: blocked within their stream. connection_hol_bytes: the estimate for an ordered transport.
    packets_seen: with a number that was told. packets_lost: numbers below the highest one that never were.
    """

    def __init__(self) -> None:
        self.stream_hol_bytes = 0
        self.connection_hol_bytes = 0
        self.packets_seen = 0
        self._next_number = 0
        self._frames = 0  # so far: the clock of all that is remembered below
        self._streams: dict[int, _Stream] = {}
        self._waiting: dict[int, _Stream] = {}  # those with blocked frames

    @property
    def packets_lost(self) -> int:
        return self._next_number - self.packets_seen

    def packet(self, number: int, frames: Iterable[StreamFrame]) -> None:
        """A packet and the STREAM frames in it. Numbers must rise; ValueError otherwise."""
        if number < self._next_number:
            raise ValueError(f"packet {number} comes after packet {self._next_number - 1}")
        self._next_number = number + 1
        self.packets_seen += 1
        for stream_id, offset, length in frames:
            self._frame(stream_id, offset, length)

    def _frame(self, stream_id: int, offset: int, length: int) -> None:
        self._frames += 1
        stream = self._streams.get(stream_id)
        if stream is None:
            stream = self._streams[stream_id] = _Stream(self._frames)
        if not length:
            return
        first_missing = stream.first_missing
        new_bytes = stream.add(offset, offset + length)
        if stream.first_missing == first_missing:
            self.stream_hol_bytes += new_bytes
            self.connection_hol_bytes += new_bytes
            if offset > first_missing:
                stream.blocked.append((self._frames, offset))
                self._waiting[stream_id] = stream
        else:
            if self._waiting and self._is_held_back(stream, stream_id, offset):
                self.connection_hol_bytes += new_bytes
            if stream.blocked:
                self._release(stream_id, stream)
        stream.note_highest(self._frames, keep=bool(self._waiting))

    def _is_held_back(self, stream: _Stream, stream_id: int, offset: int) -> bool:
        """Whether an ordered transport would let this frame wait for another stream's repair."""
        for other_id, other in self._waiting.items():
            if other_id == stream_id:
                continue
            # What this stream had only grows, so the earliest blocked frame that met it decides.
            since = next((frame for frame, _ in other.blocked if frame > stream.known_since), None)
            if since is not None and offset > stream.highest_at(since):
                return True
        return False

    def _release(self, stream_id: int, stream: _Stream) -> None:
        """Forget the blocked frames that a repair has freed."""
        stream.blocked = [entry for entry in stream.blocked if entry[1] > stream.first_missing]
        if not stream.blocked:
            del self._waiting[stream_id]


class _Stream:
    """What has arrived of one stream. Points in time are counts of frames."""

    def __init__(self, known_since: int) -> None:
        self.known_since = known_since
        self.first_missing = 0
        self.blocked: list[tuple[int, int]] = []  # (when, offset) of frames that still wait
        self._beyond: list[tuple[int, int]] = []  # pieces behind the first gap: (start, stop), in order, not touching
        self._highest = 0
        self._changed_at = [known_since]
        self._highest_from = [0]

    def add(self, start: int, stop: int) -> int:
        """Mark bytes as there; returns how many were not before."""
        start = max(start, self.first_missing)
        if start >= stop:
            return 0
        self._highest = max(self._highest, stop)
        if not self._beyond and start == self.first_missing:
            self.first_missing = stop
            return stop - start
        apart, overlap_bytes, merged_start, merged_stop = [], 0, start, stop
        for piece_start, piece_stop in self._beyond:
            if piece_stop < start or piece_start > stop:
                apart.append((piece_start, piece_stop))
                continue
            overlap_bytes += max(0, min(stop, piece_stop) - max(start, piece_start))
            merged_start, merged_stop = min(merged_start, piece_start), max(merged_stop, piece_stop)
        if merged_start == self.first_missing:
            self.first_missing = merged_stop
        else:
            apart.append((merged_start, merged_stop))
            apart.sort()
        self._beyond = apart
        return stop - start - overlap_bytes

    def note_highest(self, frame: int, *, keep: bool) -> None:
        """Remember since when the stream has what it has. keep: what it had earlier may be asked for, too."""
        if not keep:
            self._changed_at, self._highest_from = [frame], [self._highest]
        elif self._highest > self._highest_from[-1]:
            self._changed_at.append(frame)
            self._highest_from.append(self._highest)

    def highest_at(self, frame: int) -> int:
        """The end of its highest byte after so many frames of the connection."""
        return self._highest_from[bisect_right(self._changed_at, frame) - 1]


def count_hol(packets: Iterable[Sequence[StreamFrame] | None]) -> HolCounter:
    """The same from a list by packet number, None for numbers that were never seen (and, at the end, do not count)."""
    counter = HolCounter()
    for number, frames in enumerate(packets):
        if frames is not None:
            counter.packet(number, frames)
    return counter
