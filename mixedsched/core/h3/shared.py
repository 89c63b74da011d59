"""One scheduler for several connections of one client, so that its responses compete as they would on one connection.

Each connection has a `Share` as its scheduler, which only lets it send what the shared scheduler has chosen among the responses
of all. Packets without response data (handshakes, acknowledgements, control streams, probes) need no turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mixedsched.model.scheduler import Scheduler

T = TypeVar("T")

MAX_RESERVED = 256  # numbers kept for streams of a connection whose responses are still to come
_NUMBERS_APART = 4  # as those of a client's request streams (RFC 9000 section 2.1)


class SharedScheduler:
    """The scheduler of a scheme behind the shares of several connections.

    Its streams are numbered in order of request, as the streams of one connection would be: a request takes the next number
    when it, or a later one of the same connection, first appears. So ties are broken by arrival between connections and by
    stream ID within one.

    A share that cannot use its turn is set aside, so that it does not block the others until it can send again. What it may
    send meanwhile (a probe, lost data that needs no credit) still waits for its turn.
    """

    def __init__(self, scheduler: Scheduler[Any]) -> None:
        self.scheduler = scheduler
        self.owners: dict[int, tuple[Share, int]] = {}  # by number: share and stream ID
        self.shares: dict[Share, None] = {}
        self._next_number = 0

    def __len__(self) -> int:
        return len(self.shares)

    def join(self, is_stalled: Callable[[], bool] = lambda: False) -> Share:
        """A share for one more connection. is_stalled: see Share."""
        share = Share(self, is_stalled)
        self.shares[share] = None
        return share

    def take_turns(self, share: Share, flush: Callable[[Share], None]) -> None:
        """Let a connection send what it may, then those whose turn comes by that, until none can go on.

        flush: has the connection of a share build and send its packets. Call this whenever something has happened to a
        connection, or after it left (then nothing is flushed for it). A connection that has its turn and cannot use it yet,
        because of its congestion window or its pacer, is not asked again before something has happened to it.
        """
        while True:
            if share in self.shares:
                share.is_spent = False
                share.look()
                flush(share)
                share.look()
            following = self.turn()
            if following is None:
                return
            following.is_spent |= following is share
            if following.is_spent:
                return
            share = following

    def turn(self) -> Share | None:
        """The share whose response goes next; None if no response can."""
        number = self.scheduler.pick()
        return None if number is None else self.owners[number][0]

    def new_number(self) -> int:
        self._next_number += _NUMBERS_APART
        return self._next_number - _NUMBERS_APART


class Share:
    """A connection's part in a shared scheduler; a Scheduler itself.

    is_stalled: whether the connection cannot use its turn for longer than its congestion window and pacer take, because its
    peer is silent or grants no credit. is_spent: it had its turn, and has sent what it can for now.
    """

    def __init__(self, shared: SharedScheduler, is_stalled: Callable[[], bool]) -> None:
        self.is_stalled = is_stalled
        self.is_spent = False
        self._shared = shared
        self._scheduler = shared.scheduler
        self._numbers: dict[int, int] = {}  # of open streams
        self._reserved: dict[int, int] = {}  # of streams that were skipped
        self._ready: dict[int, None] = {}  # numbers
        self._is_aside = False
        self._next_stream_id = 0

    def open(self, stream_id: int, placement: Any) -> None:
        if stream_id in self._numbers:
            raise ValueError(f"stream {stream_id} is open already")
        number = self._number_for(stream_id)
        self._numbers[stream_id] = number
        self._shared.owners[number] = self, stream_id
        self._scheduler.open(number, placement)
        self._ready[number] = None
        if self._is_aside:
            self._scheduler.pause(number)

    def reprioritize(self, stream_id: int, placement: Any) -> None:
        self._scheduler.reprioritize(self._numbers[stream_id], placement)

    def pause(self, stream_id: int) -> None:
        number = self._numbers[stream_id]
        if number in self._ready:
            del self._ready[number]
            self._scheduler.pause(number)

    def resume(self, stream_id: int) -> None:
        number = self._numbers[stream_id]
        if number not in self._ready:
            self._ready[number] = None
            if not self._is_aside:
                self._scheduler.resume(number)

    def close(self, stream_id: int) -> None:
        number = self._numbers.pop(stream_id)
        self._ready.pop(number, None)
        del self._shared.owners[number]
        self._scheduler.close(number)

    def pick(self) -> int | None:
        """The shared scheduler's choice if it is a stream of this connection."""
        if self._is_aside:
            return self._as_if_present(self._own_choice) if self._ready else None
        return self._own_choice()

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:
        number = self._numbers[stream_id]
        if self._is_aside:
            self._as_if_present(lambda: self._scheduler.sent(number, size_bytes, again_bytes))
        else:
            self._scheduler.sent(number, size_bytes, again_bytes)

    def is_steady(self) -> bool:
        return self._scheduler.is_steady() and not self._is_aside and self._own_choice() is not None

    def look(self) -> None:
        """Step aside if the connection is stalled; come back if it no longer is."""
        stalled = self.is_stalled()
        if stalled == self._is_aside:
            return
        self._is_aside = stalled
        for number in self._ready:
            if stalled:
                self._scheduler.pause(number)
            else:
                self._scheduler.resume(number)

    def leave(self) -> None:
        """The connection is over: its responses no longer take part."""
        for stream_id in tuple(self._numbers):
            self.close(stream_id)
        self._reserved.clear()
        self._shared.shares.pop(self, None)

    def _own_choice(self) -> int | None:
        number = self._scheduler.pick()
        if number is None:
            return None
        share, stream_id = self._shared.owners[number]
        return stream_id if share is self else None

    def _as_if_present(self, ask: Callable[[], T]) -> T:
        """Ask the shared scheduler while the streams of this share, which was set aside, compete again."""
        for number in self._ready:
            self._scheduler.resume(number)
        try:
            return ask()
        finally:
            for number in self._ready:
                self._scheduler.pause(number)

    def _number_for(self, stream_id: int) -> int:
        """The number of a stream; those before it that have not appeared yet get theirs first."""
        if stream_id < self._next_stream_id:
            number = self._reserved.pop(stream_id, None)
            return self._shared.new_number() if number is None else number
        first = max(self._next_stream_id, stream_id - MAX_RESERVED * _NUMBERS_APART)
        for skipped in range(first, stream_id, _NUMBERS_APART):
            self._reserved[skipped] = self._shared.new_number()
        while len(self._reserved) > MAX_RESERVED:
            del self._reserved[next(iter(self._reserved))]
        self._next_stream_id = stream_id + _NUMBERS_APART
        return self._shared.new_number()
