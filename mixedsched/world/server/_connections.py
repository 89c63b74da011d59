"""The connections of an endpoint, by number and by connection ID, with their timers."""

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mixedsched.core.h3.session import Session

_TIMER_SLACK_S = 0.0005  # uvloop counts in milliseconds, and may be half of one early


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


class ConnectionTable:
    """All connections, in the order in which they were opened."""

    def __init__(self) -> None:
        self._by_id: dict[bytes, ServedConnection] = {}
        self._by_number: dict[int, ServedConnection] = {}

    def __len__(self) -> int:
        return len(self._by_number)

    def __iter__(self) -> Iterator[ServedConnection]:
        return iter(tuple(self._by_number.values()))

    def __getitem__(self, number: int) -> ServedConnection:
        return self._by_number[number]

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
