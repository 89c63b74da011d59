"""The connections of an endpoint: the open ones, by number and by connection ID, with their timers; those closed a moment ago;
and, where the server schedules across connections, those of each client, which share one scheduler.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from mixedsched.core.h3.session import Session
from mixedsched.core.h3.shared import Share, SharedScheduler
from mixedsched.model.scheduler import Scheduler

TICK_S = 0.001  # of uvloop's clock
_TIMER_SLACK_S = 0.0005  # uvloop counts in milliseconds, and may be half of one early
KEPT_S = 2.0  # for which a closed connection is remembered: beyond three probe timeouts of everyday networks
MAX_KEPT = 1000  # closed connections that are remembered
_MAX_GROWTH = 3  # of an answer over the packet it answers, as towards addresses that are not validated


class LazyTimer:
    """Calls `due` at a time that is put off again and again: a timer that is set for earlier stays, as most never need to fire.

    Time is the monotonic clock's. due: takes the time for which it was called, never earlier than what was asked for.
    """

    def __init__(self, due: Callable[[float], None]) -> None:
        self._due = due
        self._due_s: float | None = None
        self._set_for_s = 0.0
        self._handle: asyncio.TimerHandle | None = None

    def arm(self, due_s: float | None) -> None:
        """Replace the time of the call; None for no call."""
        self._due_s = due_s
        if due_s is None or (self._handle is not None and self._set_for_s <= due_s):
            return
        self.cancel()
        self._set_for_s = due_s
        delay_s = max(0.0, due_s - time.monotonic())
        if 0 < delay_s < TICK_S:  # uvloop would round it to no wait at all, again and again until then
            delay_s = TICK_S
        self._handle = asyncio.get_running_loop().call_later(delay_s, self._fire)

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _fire(self) -> None:
        self._handle = None
        now_s = time.monotonic()
        if self._due_s is None:
            return
        if self._due_s > now_s + _TIMER_SLACK_S:
            self.arm(self._due_s)
        else:
            self._due(max(now_s, self._due_s))  # aioquic would see nothing to do before


@dataclass(slots=True, eq=False)
class ServedConnection:
    """A session with what ties it to the event loop."""

    number: int
    session: Session
    client: str  # as counted by Admission
    proven: bool  # the client's address was proven before the handshake
    timer: LazyTimer
    handshake_timer: asyncio.TimerHandle | None  # None once the handshake has ended
    connection_ids: set[bytes] = field(default_factory=set)
    is_gone: bool = False


@dataclass(slots=True)
class Traffic:
    """What has happened to packets and response bytes."""

    lost_packets: int = 0  # that were declared lost
    again_bytes: int = 0  # of responses, sent again
    late_bytes: int = 0  # of responses, sent while a more urgent one of the connection had bytes to send

    def add(self, session: Session) -> None:
        """Add what has happened on one connection so far."""
        self.lost_packets += session.quic.lost_packets
        self.again_bytes += session.again_bytes
        self.late_bytes += session.quic.late_bytes


class ConnectionTable:
    """All connections, in the order in which they were opened."""

    def __init__(self) -> None:
        self._by_id: dict[bytes, ServedConnection] = {}
        self._by_number: dict[int, ServedConnection] = {}
        self._past = Traffic()  # of connections that are gone

    def __len__(self) -> int:
        return len(self._by_number)

    def __iter__(self) -> Iterator[ServedConnection]:
        return iter(tuple(self._by_number.values()))

    def __getitem__(self, number: int) -> ServedConnection:
        return self._by_number[number]

    def get(self, number: int) -> ServedConnection | None:
        return self._by_number.get(number)

    def find(self, connection_id: bytes) -> ServedConnection | None:
        return self._by_id.get(connection_id)

    def add(self, connection: ServedConnection) -> None:
        self._by_number[connection.number] = connection

    def add_id(self, number: int, connection_id: bytes) -> None:
        connection = self._by_number[number]
        connection.connection_ids.add(connection_id)
        self._by_id[connection_id] = connection

    def drop_id(self, number: int, connection_id: bytes) -> None:
        self._by_number[number].connection_ids.discard(connection_id)
        self._by_id.pop(connection_id, None)

    def remove(self, connection: ServedConnection) -> None:
        for connection_id in connection.connection_ids:
            self._by_id.pop(connection_id, None)
        del self._by_number[connection.number]
        self._past.add(connection.session)

    def traffic(self) -> Traffic:
        """Of all connections since the start."""
        total = replace(self._past)
        for connection in self._by_number.values():
            total.add(connection.session)
        return total


@dataclass(slots=True)
class _Closed:
    datagram: bytes
    until_s: float
    packets: int = 0  # that have come since


class ClosedConnections:
    """Answers the 1st, 2nd, 4th, 8th ... packet that still comes for a closed connection with its CONNECTION_CLOSE, which the
    client may have missed (RFC 9000 section 10.2.1).

    Each is remembered for KEPT_S, the latest MAX_KEPT of them. All times are seconds of the caller's clock.
    """

    def __init__(self) -> None:
        self._by_id: dict[bytes, _Closed] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def remember(self, connection_ids: Iterable[bytes], datagram: bytes, now_s: float) -> None:
        """Remember the CONNECTION_CLOSE of a closed connection. connection_ids: that lead to it."""
        self._drop_old(now_s)
        closed = _Closed(datagram, now_s + KEPT_S)
        for connection_id in connection_ids:
            self._by_id[connection_id] = closed
        while len(self._by_id) > MAX_KEPT:
            del self._by_id[next(iter(self._by_id))]

    def answer(self, connection_id: bytes, size_bytes: int, now_s: float) -> bytes | None:
        """The packet to answer one of this size with; None for none."""
        closed = self._by_id.get(connection_id)
        if closed is None or now_s >= closed.until_s:
            return None
        closed.packets += 1
        is_power_of_two = closed.packets & (closed.packets - 1) == 0
        fits = len(closed.datagram) <= _MAX_GROWTH * size_bytes
        return closed.datagram if is_power_of_two and fits else None

    def _drop_old(self, now_s: float) -> None:
        """They are in order of time, so the first that is still valid ends the search."""
        for connection_id, closed in tuple(self._by_id.items()):
            if closed.until_s > now_s:
                return
            del self._by_id[connection_id]


class WakeList:
    """Connections that a responder has something for, by number; `run` is called with each at the loop's next turn."""

    def __init__(self, run: Callable[[int], None]) -> None:
        self._run = run
        self._numbers: dict[int, None] = {}

    def wake(self, number: int) -> None:
        if not self._numbers:
            asyncio.get_running_loop().call_soon(self._run_all)
        self._numbers[number] = None

    def _run_all(self) -> None:
        numbers, self._numbers = self._numbers, {}
        for number in numbers:
            self._run(number)


class ClientGroups:
    """Groups connections, named by number, by the address of their client, and lets those of a group take turns.

    create_scheduler: makes the scheduler of a group. flush: lets one connection send what it may.
    """

    def __init__(self, create_scheduler: Callable[[], Scheduler[Any]], flush: Callable[[int], None]) -> None:
        self._create_scheduler = create_scheduler
        self._flush = flush
        self._groups: dict[str, SharedScheduler] = {}
        self._members: dict[int, tuple[str, Share]] = {}
        self._numbers: dict[Share, int] = {}

    def join(self, number: int, client: str) -> Share:
        """A new connection's part in the scheduler of its client. client: its IP address."""
        if client not in self._groups:
            self._groups[client] = SharedScheduler(self._create_scheduler())
        share = self._groups[client].join()
        self._members[number] = client, share
        self._numbers[share] = number
        return share

    def set_stall_test(self, number: int, is_stalled: Callable[[], bool]) -> None:
        """is_stalled: whether the connection cannot use its turn, see Share."""
        self._members[number][1].is_stalled = is_stalled

    def flush(self, number: int) -> None:
        """Something has happened to a connection: let it send what it may, then those whose turn comes by that."""
        client, share = self._members[number]
        self._groups[client].take_turns(share, self._flush_share)

    def leave(self, number: int) -> Callable[[], None]:
        """A connection is gone. Returns a function to call soon, which lets the others of its client go on."""
        client, share = self._members.pop(number)
        group = self._groups[client]
        share.leave()
        del self._numbers[share]
        if not len(group):
            del self._groups[client]
        return lambda: group.take_turns(share, self._flush_share)

    def _flush_share(self, share: Share) -> None:
        self._flush(self._numbers[share])
