"""Flights of datagrams: how they are put together, and what becomes of them when the kernel will not or cannot."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mixedsched.world.server._outbox import (
    MAX_FLIGHT_BYTES,
    MAX_FLIGHT_DATAGRAMS,
    MAX_WAITING_BYTES,
    Outbox,
    can_segment,
    flights,
)
from mixedsched.world.system.udp import open_udp_socket

A, B = ("127.0.0.1", 1001), ("127.0.0.1", 1002)

datagram_lists = st.lists(
    st.tuples(st.sampled_from([30, 1199, 1200, 1452]).map(bytes), st.sampled_from([A, B])), max_size=200
)


def sizes(datagrams: list[tuple[bytes, Any]], together: bool = True) -> list[list[int]]:
    return [[len(data) for data in flight.datagrams] for flight in flights(datagrams, together)]


def test_a_flight_ends_with_a_shorter_datagram_another_address_or_a_longer_one() -> None:
    assert sizes([(bytes(9), A), (bytes(9), A), (bytes(5), A), (bytes(9), A)]) == [[9, 9, 5], [9]]
    assert sizes([(bytes(9), A), (bytes(9), B), (bytes(9), B)]) == [[9], [9, 9]]
    assert sizes([(bytes(5), A), (bytes(9), A), (bytes(9), A)]) == [[5], [9, 9]]
    assert sizes([(bytes(9), A), (bytes(9), A)], together=False) == [[9], [9]]


@given(datagram_lists, st.booleans())
def test_flights_hold_all_datagrams_in_order_and_what_a_kernel_takes(
    datagrams: list[tuple[bytes, Any]], together: bool
) -> None:
    made = list(flights(datagrams, together))
    assert [(data, flight.address) for flight in made for data in flight.datagrams] == datagrams
    for flight in made:
        first, *middle = [len(data) for data in flight.datagrams]
        assert len(flight.datagrams) <= (MAX_FLIGHT_DATAGRAMS if together else 1)
        assert sum(map(len, flight.datagrams)) <= MAX_FLIGHT_BYTES
        assert all(size == first for size in middle[:-1])
        assert all(size <= first for size in middle[-1:])


class Kernel:
    """A socket whose answers the test decides, on a pair of real sockets so that the event loop can watch it."""

    def __init__(self) -> None:
        self.mine, self.other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sent: list[tuple[bytes, Any]] = []
        self.calls: list[str] = []
        self.room = 10**9  # datagrams that it still takes
        self.refuse: Callable[[str, Any], int | None] = lambda call, address: None

    def fileno(self) -> int:
        return self.mine.fileno()

    def getsockopt(self, *_: Any) -> int:
        return 0

    def sendmsg(self, datagrams: list[bytes], ancillary: list[Any], flags: int, address: Any) -> None:
        self._take("sendmsg", datagrams, address)

    def sendto(self, data: bytes, address: Any) -> None:
        self._take("sendto", [data], address)

    def _take(self, call: str, datagrams: list[bytes], address: Any) -> None:
        self.calls.append(call)
        number = self.refuse(call, address)
        if number is not None:
            raise OSError(number, "no")
        if self.room < len(datagrams):
            raise BlockingIOError
        self.room -= len(datagrams)
        self.sent += [(data, address) for data in datagrams]

    def close(self) -> None:
        self.mine.close()
        self.other.close()


def with_outbox(act: Callable[[Outbox, Kernel, list[str]], Any]) -> None:
    """Run `act` inside an event loop; it may be a coroutine function. The list gets a word for each time all was sent."""

    async def run() -> None:
        kernel = Kernel()
        drained: list[str] = []
        outbox = Outbox(kernel, gso=True, drained=lambda: drained.append("drained"))  # type: ignore[arg-type]
        try:
            result = act(outbox, kernel, drained)
            if result is not None:
                await result
        finally:
            outbox.close()
            kernel.close()

    asyncio.run(run())


FLIGHT = [(bytes([n]) * 1200, A) for n in range(10)]


def test_a_kernel_that_does_not_cut_flights_gets_plain_datagrams_from_then_on() -> None:
    def act(outbox: Outbox, kernel: Kernel, drained: list[str]) -> None:
        kernel.refuse = lambda call, _: errno.EIO if call == "sendmsg" else None
        outbox.send(FLIGHT)
        outbox.send(FLIGHT)
        assert kernel.sent == FLIGHT * 2
        assert kernel.calls == ["sendmsg"] + ["sendto"] * 20
        assert not outbox.uses_gso

    with_outbox(act)


def test_a_bad_address_does_not_spoil_it_for_the_others() -> None:
    def act(outbox: Outbox, kernel: Kernel, drained: list[str]) -> None:
        kernel.refuse = lambda _, address: errno.EINVAL if address == B else None
        outbox.send([(data, B) for data, _ in FLIGHT])
        outbox.send(FLIGHT)
        assert kernel.sent == FLIGHT
        assert outbox.uses_gso
        assert kernel.calls[-1] == "sendmsg"

    with_outbox(act)


def test_a_datagram_that_is_too_large_for_the_interface_is_told_and_costs_no_other() -> None:
    large, smaller = (bytes(9000), A), (bytes(8000), A)

    def act(outbox: Outbox, kernel: Kernel, drained: list[str]) -> None:
        kernel.refuse = lambda *_: errno.EMSGSIZE
        outbox.send([large] * 3 + [smaller] * 2)
        assert outbox.take_too_large_bytes() == 8000
        assert outbox.take_too_large_bytes() is None
        kernel.refuse = lambda *_: None
        outbox.send(FLIGHT)
        assert outbox.uses_gso
        assert kernel.sent[-10:] == FLIGHT

    with_outbox(act)


def test_what_the_kernel_has_no_room_for_goes_out_in_order_when_it_has() -> None:
    async def act(outbox: Outbox, kernel: Kernel, drained: list[str]) -> None:
        kernel.room = 25
        for _ in range(4):
            outbox.send(FLIGHT)
        assert kernel.sent == FLIGHT * 2
        assert outbox.is_blocked
        assert drained == []
        kernel.room = 100
        await asyncio.sleep(0.05)
        assert kernel.sent == FLIGHT * 4
        assert (outbox.is_blocked, drained) == (False, ["drained"])

    with_outbox(act)


def test_a_plain_flight_stopped_in_the_middle_goes_on_where_it_stopped() -> None:
    async def act(outbox: Outbox, kernel: Kernel, drained: list[str]) -> None:
        kernel.refuse = lambda call, _: errno.ENOPROTOOPT if call == "sendmsg" else None
        kernel.room = 4
        outbox.send(FLIGHT)
        assert kernel.sent == FLIGHT[:4]
        kernel.room = 100
        await asyncio.sleep(0.05)
        assert kernel.sent == FLIGHT

    with_outbox(act)


def test_no_more_waits_than_the_bound() -> None:
    def act(outbox: Outbox, kernel: Kernel, drained: list[str]) -> None:
        kernel.room = 0
        for _ in range(1000):
            outbox.send(FLIGHT)
        kernel.room = 10**9
        outbox._on_writable()
        waited_bytes = sum(len(data) for data, _ in kernel.sent)
        assert MAX_WAITING_BYTES - 12_000 <= waited_bytes <= MAX_WAITING_BYTES

    with_outbox(act)


def test_the_receiver_of_a_flight_gets_single_datagrams() -> None:
    async def run() -> list[bytes]:
        with open_udp_socket() as sender, open_udp_socket() as receiver:
            address = receiver.getsockname()
            outbox = Outbox(sender, gso=True, drained=lambda: None)
            outbox.send([(data, address) for data, _ in FLIGHT] + [(b"end", address)])
            assert outbox.uses_gso == can_segment(sender), "loopback can do what the kernel knows"
            loop = asyncio.get_running_loop()
            return [await asyncio.wait_for(loop.sock_recv(receiver, 65536), 5) for _ in range(11)]

    assert asyncio.run(run()) == [data for data, _ in FLIGHT] + [b"end"]
