"""Two connections joined by an emulated link, in virtual time: integer microseconds, no clock, no socket."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from mixedsched.core.link import Link, direction_rng
from mixedsched.model.profile import Profile

CLIENT = ("192.0.2.1", 50_000)
SERVER = ("192.0.2.2", 443)

MICROSECONDS_PER_SECOND = 1_000_000


class SansIoEndpoint(Protocol):
    """One end of a connection, without socket and clock, as `h3.session.Session` is one. Times are seconds."""

    def receive(self, datagram: bytes, address: Any, now_s: float) -> None: ...

    def send(self, now_s: float) -> list[tuple[bytes, Any]]: ...

    def next_timer_s(self) -> float | None: ...

    def handle_timer(self, now_s: float) -> None: ...


def _never(_now_s: float) -> bool:
    """An endpoint whose answers never wait."""
    return False


@dataclass(slots=True)
class _End:
    """An endpoint with what leads to it and away."""

    endpoint: SansIoEndpoint
    incoming: Link[bytes]
    outgoing: Link[bytes]
    overhead_bytes: int
    """What is added to each datagram on its way out."""
    peer: tuple[str, int]
    may_wait: Callable[[float], bool] = _never
    """Asked after arrivals, with the time in seconds: can the answer wait for the timer?"""
    is_awake: bool = False
    """Whether it may have something to send."""
    timer_us: int | None = None
    """When it wants to be woken."""


class VirtualNetwork:
    """Carries datagrams and wakes whom it must; asks an endpoint for nothing unless something has happened to it.

    The client speaks first; a server has neither timers nor anything to say before it was spoken to. client_may_wait: told
    the time after arrivals, says whether the client has nothing to send before its timer. down, up: the link, with counters.
    """

    def __init__(
        self,
        client: SansIoEndpoint,
        server: SansIoEndpoint,
        profile: Profile,
        seed: int,
        client_may_wait: Callable[[float], bool] = _never,
    ) -> None:
        self.now_us = 0
        self.down: Link[bytes] = Link(profile.down, direction_rng(seed, "down"))
        self.up: Link[bytes] = Link(profile.up, direction_rng(seed, "up"))
        self._client = _End(
            client, self.down, self.up, profile.up.overhead_bytes, SERVER, client_may_wait, is_awake=True
        )
        self._server = _End(server, self.up, self.down, profile.down.overhead_bytes, CLIENT)
        self._ends = (self._client, self._server)

    def wake_client(self) -> None:
        """The client has been given something to send."""
        self._client.is_awake = True

    def wake_all(self) -> None:
        """Both may have been given something to send."""
        self._client.is_awake = True
        self._server.is_awake = self._server.timer_us is not None

    def flush(self) -> None:
        """Have those who may send do so, now."""
        now_s = self.now_us / MICROSECONDS_PER_SECOND
        for end in self._ends:
            if not end.is_awake:
                continue
            end.is_awake = False
            for datagram, _ in end.endpoint.send(now_s):
                end.outgoing.push(datagram, len(datagram) + end.overhead_bytes, self.now_us)
            self._set_timer(end)

    def next_us(self) -> int | None:
        """When something arrives or a timer fires, if nothing is written before; None if never."""
        times = (self.down.next_due_us(), self.up.next_due_us(), self._client.timer_us, self._server.timer_us)
        return min((at_us for at_us in times if at_us is not None), default=None)

    def advance(self, now_us: int) -> None:
        """Move on to this time, at most next_us(): deliver what has arrived, fire the timers that are due."""
        self.now_us = now_us
        now_s = now_us / MICROSECONDS_PER_SECOND
        for end in self._ends:
            due = end.incoming.pop_due(now_us)
            if due:
                for datagram in due:
                    end.endpoint.receive(datagram, end.peer, now_s)
                end.is_awake |= not end.may_wait(now_s)
                if not end.is_awake:
                    self._set_timer(end)  # the old one may stand for what has just been settled
            elif end.timer_us is not None and end.timer_us <= now_us:
                end.endpoint.handle_timer(now_s)
                end.is_awake = True

    def _set_timer(self, end: _End) -> None:
        timer_s = end.endpoint.next_timer_s()
        end.timer_us = None if timer_s is None else max(self.now_us + 1, at_or_after_us(timer_s))


def at_or_after_us(time_s: float) -> int:
    """The first microsecond that, in seconds, is not before this time."""
    time_us = int(time_s * MICROSECONDS_PER_SECOND)
    while time_us / MICROSECONDS_PER_SECOND < time_s:
        time_us += 1
    return time_us
