"""The relay at work: its time, and datagrams in, through an emulated link, and out again at their time."""

import select
import selectors
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from mixedsched.core.link import Link, direction_rng
from mixedsched.model.profile import Direction, Profile
from mixedsched.world.emulator._timestamps import (
    ANCILLARY_BYTES,
    Ancillary,
    arrived_ns,
    ask_for_timestamps,
    missed_before,
)
from mixedsched.world.emulator.relay._clients import MAX_CLIENTS, Address, Client, Clients
from mixedsched.world.emulator.relay._punctuality import LATE_US, Lateness, Stalls, punctuality
from mixedsched.world.emulator.relay.log import PacketLog
from mixedsched.world.system.udp import open_udp_socket

Ready = Callable[[], None]

_NANOSECONDS_PER_MICROSECOND = 1000
_RECEIVE_BYTES = 65_536  # no datagram is larger
_MTU_BYTES = 1500  # of Ethernet, as on the links of the other back ends
_IPV4_HEADER_BYTES, _IPV6_HEADER_BYTES = 28, 48  # with that of UDP
_BATCH = 32  # datagrams that come in, or go out, before the other way has its turn
_REST_US = 100_000  # the longest wait, after which the relay checks whether it is to end


class RelayClock:
    """Microseconds since begin_at(); before that, since it was made.

    A link begins with its first packet, not with the process: a browser takes a while to start, and the phases of a varying
    rate must not depend on that.
    """

    def __init__(self) -> None:
        self._zero_ns = time.monotonic_ns()

    def now_us(self) -> int:
        return (time.monotonic_ns() - self._zero_ns) // _NANOSECONDS_PER_MICROSECOND

    def begin_at(self, at_us: int) -> None:
        """Make at_us the new zero."""
        self._zero_ns += at_us * _NANOSECONDS_PER_MICROSECOND

    def arrival_us(self, ancillary: Ancillary) -> int:
        """When a datagram that was read just now came in: the time that it waited for us is not the link's."""
        return (arrived_ns(ancillary) - self._zero_ns) // _NANOSECONDS_PER_MICROSECOND


class PreciseSelector:
    """Callbacks for files that can be read, with time-outs in microseconds and for any number of files.

    epoll counts its time-outs in milliseconds, and a packet at 9 Mbit/s takes one; select() ends at file number 1023. So
    select() does the waiting, for one file, which is epoll itself. (kqueue is a file too.)
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._file: int = self._selector.fileno()  # opened early, so its number is a low one

    def add(self, file: int, ready: Ready) -> None:
        self._selector.register(file, selectors.EVENT_READ, ready)

    def remove(self, file: int) -> None:
        self._selector.unregister(file)

    def wait(self, limit_us: int) -> list[Ready]:
        """The callbacks of the files that can be read now; waits up to limit_us for one."""
        if limit_us > 0:
            select.select((self._file,), (), (), limit_us / 1_000_000)
        return [key.data for key, _ in self._selector.select(0)]

    def close(self) -> None:
        self._selector.close()


class Relay:
    """Connects clients to one server through a link with two directions; all clients share the link."""

    def __init__(
        self,
        profile: Profile,
        seed: int,
        server: Address,
        listen: Address,
        *,
        log: PacketLog | None = None,
        max_clients: int = MAX_CLIENTS,
    ) -> None:
        self.selector = PreciseSelector()
        self._clock = RelayClock()
        self._has_begun = False
        self._log = log
        self._late_timers = 0
        self._stalls = Stalls()
        self._clients = Clients(
            server,
            came=lambda client: self.selector.add(client.upstream.fileno(), lambda: self._take_from_server(client)),
            goes=lambda client: self.selector.remove(client.upstream.fileno()),
            limit=max_clients,
        )
        self._front = open_udp_socket(*listen)
        ask_for_timestamps(self._front)
        self.selector.add(self._front.fileno(), self._take_from_clients)
        most_bytes = _MTU_BYTES - (_IPV6_HEADER_BYTES if ":" in str(listen[0]) else _IPV4_HEADER_BYTES)
        self._down = _Way("down", profile.down, seed, log, self._stalls, self._send_to_client, most_bytes)
        self._up = _Way("up", profile.up, seed, log, self._stalls, _send_to_server, most_bytes)

    @property
    def address(self) -> tuple[str, int]:
        """Where clients reach it."""
        host, port = self._front.getsockname()[:2]
        return host, port

    def run(self, stopped: Callable[[], bool]) -> None:
        """Relay until `stopped` returns True; it is called at least ten times a second."""
        while not stopped():
            due_us = self._next_due_us()
            for take in self._wait_until(due_us):
                take()
                self._deliver()
            self._deliver()

    def counters(self) -> dict[str, Any]:
        """Packets, bytes, drops, clients and punctuality so far."""
        return {
            "down": self._down.facts(),
            "up": self._up.facts(),
            "clients": self._clients.total,
            "refused_clients": self._clients.refused,
            "refused_datagrams": self._clients.refused_datagrams,
            "punctuality": punctuality(self._down.lateness, self._up.lateness, self._late_timers, self._stalls),
        }

    def decide_all(self) -> None:
        """Let both links run dry, so that the log has the fate of packets still in a queue."""
        for link in (self._down.link, self._up.link):
            while (due_us := link.next_due_us()) is not None:
                link.pop_due(due_us)

    def close(self) -> None:
        self.selector.close()
        self._front.close()
        self._clients.close()

    def _next_due_us(self) -> int | None:
        down_us, up_us = self._down.link.next_due_us(), self._up.link.next_due_us()
        if down_us is None or up_us is None:
            return up_us if down_us is None else down_us
        return min(down_us, up_us)

    def _wait_until(self, due_us: int | None) -> list[Callable[[], None]]:
        """Wait until then, or for a datagram; returns the callbacks that receive those that have come."""
        wait_us = _REST_US if due_us is None else min(due_us - self._clock.now_us(), _REST_US)
        ready = self.selector.wait(wait_us)
        if due_us is not None and wait_us > 0 and not ready and self._clock.now_us() - due_us > LATE_US:
            self._late_timers += 1
        if self._log is not None:
            self._log.pump(is_idle=not ready and wait_us > 0)
        return ready

    def _deliver(self) -> None:
        self._up.deliver(self._clock.now_us)
        self._down.deliver(self._clock.now_us)

    def _take_from_clients(self) -> None:
        for _ in range(_BATCH):
            try:
                data, ancillary, _, address = self._front.recvmsg(_RECEIVE_BYTES, ANCILLARY_BYTES)
            except OSError:  # nothing left
                return
            at_us = self._clock.arrival_us(ancillary)
            if len(ancillary) > 1:
                self._up.missed = missed_before(ancillary)
            if not self._has_begun:
                self._has_begun = True
                self._clock.begin_at(at_us)
                at_us = 0
            client = self._clients.of(address, at_us)
            if client is not None:
                self._up.push(client, data, at_us)

    def _take_from_server(self, client: Client) -> None:
        for _ in range(_BATCH):
            try:
                data, ancillary, _, _ = client.upstream.recvmsg(_RECEIVE_BYTES, ANCILLARY_BYTES)
            except ConnectionRefusedError:  # about an earlier packet of ours; datagrams behind this report still count
                continue
            except OSError:
                return
            at_us = self._clock.arrival_us(ancillary)
            client.seen_us = at_us
            if len(ancillary) > 1:
                missed = missed_before(ancillary)
                self._down.missed += missed - client.missed
                client.missed = missed
            self._down.push(client, data, at_us)

    def _send_to_client(self, client: Client, data: bytes) -> None:
        self._front.sendto(data, client.address)


def _send_to_server(client: Client, data: bytes) -> None:
    try:
        client.upstream.send(data)
    except ConnectionRefusedError:  # about an earlier packet: this one has not been sent yet
        client.upstream.send(data)


class _Way:
    """One direction: the link, and what sends its packets on.

    most_bytes: the largest datagram that the link carries. QUIC forbids fragmentation (RFC 9000 section 14), so larger ones are
    dropped, as on a real path. The loopback interface takes 64 kB, which senders that search for the largest size would find.
    """

    def __init__(
        self,
        side: str,
        direction: Direction,
        seed: int,
        log: PacketLog | None,
        stalls: Stalls,
        send: Callable[[Client, bytes], object],
        most_bytes: int,
    ) -> None:
        self.link: Link[tuple[Client, bytes]] = Link(
            direction, direction_rng(seed, side), None if log is None else log.observer(side)
        )
        self.lateness = Lateness()
        self._stalls = stalls
        self.missed = 0
        self._undeliverable = 0
        self._too_large = 0
        self._most_bytes = most_bytes
        self._overhead_bytes = direction.overhead_bytes
        self._send = send
        self._latest_us = 0

    def push(self, client: Client, data: bytes, at_us: int) -> None:
        """Hand a datagram to the link. Several sockets are read in turns, so times may be slightly out of order."""
        if len(data) > self._most_bytes:
            self._too_large += 1
            return
        self._latest_us = at_us = max(at_us, self._latest_us)
        self.link.push((client, data), len(data) + self._overhead_bytes, at_us)

    def deliver(self, now_us: Callable[[], int]) -> None:
        """Send what is due, but no more than a batch: incoming datagrams must not wait too long in their sockets."""
        next_due_us = self.link.next_due_us
        for _ in range(_BATCH):
            due_us = next_due_us()
            if due_us is None or (late_us := now_us() - due_us) < 0:
                return
            self._latest_us = max(self._latest_us, due_us)
            arrived = self.link.pop_due(due_us)
            if arrived:  # under CoDel a packet may only have left the queue, at its time, however late that is noticed
                self._stalls.note(due_us, due_us + late_us)
            for client, data in arrived:
                self.lateness.note(late_us)
                try:
                    self._send(client, data)
                except OSError:  # a receiver that is gone or has no room loses the packet, as on any network
                    self._undeliverable += 1

    def facts(self) -> dict[str, Any]:
        """As JSON: the link's counters; missed: datagrams that came faster than we read them, and never met the link;
        too_large: those that the link does not carry; undeliverable: packets that the system refused to send on.
        """
        return {
            **asdict(self.link.counters),
            "missed": self.missed,
            "too_large": self._too_large,
            "undeliverable": self._undeliverable,
        }
