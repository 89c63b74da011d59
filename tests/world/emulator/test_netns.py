"""The study's testbed in namespaces, with the qdiscs that this kernel has."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from mixedsched.errors import UsageError
from mixedsched.model.profile import Direction, Profile, Trace
from mixedsched.world.emulator.backend import open_backend
from mixedsched.world.emulator.kernel._network import run
from mixedsched.world.emulator.kernel.namespaces import enter
from mixedsched.world.emulator.kernel.privilege import Privilege
from mixedsched.world.emulator.netns.backend import netns_backend
from mixedsched.world.system.programs import with_path
from tests.patience import wait_until
from tests.world.emulator.privileged import (
    EITHER_PRIVILEGE,
    Testbed,
    ask,
    has_left_nothing,
    namespaces_of,
    needs_namespaces,
    netns_testbed,
    with_either_privilege,
)

FAST = Direction(overhead_bytes=42)
SLOW = Direction(rate_bps=2_000_000, queue_bytes=26_215, burst_bytes=1514, overhead_bytes=42)
NETWORK = Profile("test", "", "", down=SLOW, up=FAST)

# Waits for a first datagram, answers it with as many as asked for, all at once; then ends.
SENDER = """
import socket, sys
count, size, segments = map(int, sys.argv[1:])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    sock.bind(("198.18.0.1", 4433))
    print("listening", flush=True)
    _, client = sock.recvfrom(100)
    if segments > 1:
        sock.setsockopt(socket.SOL_UDP, 103, size)  # UDP_SEGMENT
    for _ in range(count):
        sock.sendto(bytes(size * segments), client)
"""
# Asks for datagrams and tells how many came, and when the first and the last did. Ends with the last that is expected, or, if
# their number is not known (-1), after a second of silence.
RECEIVER = """
import contextlib, json, socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    with contextlib.suppress(PermissionError):  # an ordinary user has room enough for what is sent here
        sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 22)  # SO_RCVBUFFORCE
    sock.sendto(b"go", ("198.18.0.1", 4433))
    expected = int(sys.argv[1])
    times, sizes = [], set()
    with contextlib.suppress(TimeoutError):
        while len(times) != expected:
            sock.settimeout(1 if times and expected < 0 else 10)
            sizes.add(len(sock.recv(9000)))
            times.append(time.monotonic())
    print(json.dumps({"count": len(times), "sizes": sorted(sizes), "span_s": times[-1] - times[0]}))
"""


def flood(
    ready: dict[str, Any], count: int, size: int = 1200, segments: int = 1, *, all_come: bool = True
) -> dict[str, Any]:
    """Send datagrams from the server to the client as fast as the server's stack takes them."""
    client = enter(ready["namespaces"]["client"])
    expected = count * segments if all_come else -1
    sender = [*enter(ready["namespaces"]["server"]), sys.executable, "-c", SENDER, str(count), str(size), str(segments)]
    with subprocess.Popen(sender, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "listening\n"
        told: dict[str, Any] = json.loads(run(*client, sys.executable, "-c", RECEIVER, str(expected)))
        return told


def shaped(down: Direction = SLOW, up: Direction = FAST) -> Profile:
    return replace(NETWORK, down=down, up=up)


@pytest.fixture(scope="module", params=EITHER_PRIVILEGE)
def shared(request: pytest.FixtureRequest) -> Iterator[Testbed]:
    with netns_testbed(NETWORK, request.param) as testbed:
        yield testbed


@pytest.fixture
def testbed(shared: Testbed) -> Testbed:
    """The study's, which tests share that leave it as they find it; its link is fresh."""
    assert ask(shared[0], {"op": "link", "seed": 5}) == {"link": {}}
    return shared


@with_either_privilege
@pytest.mark.usefixtures("real_time")
def test_the_rate_holds(privilege: Privilege) -> None:
    """2 Mbit/s of frames of 1242 bytes; the queue is large enough for all."""
    with netns_testbed(shaped(replace(SLOW, queue_bytes=1_000_000)), privilege) as (_, ready):
        told = flood(ready, 150)
    assert told["count"] == 150
    assert 149 * 1242 * 8 / told["span_s"] == pytest.approx(2_000_000, rel=0.1)


@with_either_privilege
@pytest.mark.usefixtures("real_time")
def test_the_queue_holds_what_the_profile_says_and_the_counters_tell_the_rest(privilege: Privilege) -> None:
    with netns_testbed(NETWORK, privilege) as (process, ready):
        told = flood(ready, 200, all_come=False)
        counters = ask(process, {"op": "counters"})["counters"]
    assert told["count"] >= 26_215 // 1242
    assert told["count"] == counters["down"]["packets"] == 200 - counters["down"]["overflowed"]
    assert counters["down"]["size_bytes"] == 1242 * told["count"]
    assert counters["down"]["overflowed"] > 100
    assert (counters["up"]["packets"], counters["up"]["overflowed"]) == (1, 0)


@with_either_privilege
def test_sizes_count_as_the_profile_counts_them(privilege: Privilege) -> None:
    with netns_testbed(shaped(Direction(rate_bps=10_000_000, overhead_bytes=28)), privilege) as (process, ready):
        assert flood(ready, 10)["count"] == 10
        assert ask(process, {"op": "counters"})["counters"]["down"]["size_bytes"] == 10 * 1228


@with_either_privilege
def test_a_flight_that_is_sent_in_one_call_crosses_the_link_packet_by_packet(privilege: Privilege) -> None:
    """Else the queue would take it, and netem lose it, as one packet (UDP_SEGMENT)."""
    with netns_testbed(shaped(Direction(rate_bps=50_000_000, overhead_bytes=42)), privilege) as (process, ready):
        told = flood(ready, 3, segments=10)
        counters = ask(process, {"op": "counters"})["counters"]["down"]
    assert (told["count"], told["sizes"]) == (30, [1200])
    assert (counters["packets"], counters["size_bytes"]) == (30, 30 * 1242)


def test_full_packets_fit_through(testbed: Testbed) -> None:
    told = flood(testbed[1], 5, size=1472)
    assert (told["count"], told["sizes"]) == (5, [1472])


def test_nothing_but_what_programs_send_is_on_the_link_and_nothing_leaves_it(testbed: Testbed) -> None:
    process, ready = testbed
    flood(ready, 1)
    counters = ask(process, {"op": "counters"})["counters"]
    assert (counters["down"]["packets"], counters["up"]["packets"]) == (1, 1)
    for role in ("server", "client"):
        routes = run(*enter(ready["namespaces"][role]), "ip", "route").splitlines()
        assert [route.split()[0] for route in routes] == ["198.18.0.0/24"]


def test_a_fresh_link_has_counted_nothing(testbed: Testbed) -> None:
    process, ready = testbed
    flood(ready, 60, all_come=False)
    assert ask(process, {"op": "link", "seed": 5}) == {"link": {}}
    counters = ask(process, {"op": "counters"})["counters"]
    assert set(counters["down"].values()) | set(counters["up"].values()) == {0}
    assert flood(ready, 3)["count"] == 3


def test_an_order_that_it_does_not_know_is_refused_and_it_goes_on(testbed: Testbed) -> None:
    assert ask(testbed[0], {"op": "dance"})["error"]["exit_code"] == 2
    assert "counters" in ask(testbed[0], {"op": "counters"})


@with_either_privilege
def test_what_is_not_applied_is_said(privilege: Privilege) -> None:
    """Where the kernel has no netem; where it has, there is nothing to say."""
    delayed = replace(FAST, delay_us=5_000)
    with netns_testbed(shaped(SLOW, delayed), privilege) as (_, ready):
        tc = with_path(["tc", "qdisc", "show", "dev", "toward-server"])
        hop = run(*enter(ready["namespaces"]["netem-up"]), *tc)
        said = any("sch_netem" in note and "delay of 5 ms is not applied" in note for note in ready["notes"])
    assert said != ("netem" in hop)


@with_either_privilege
@pytest.mark.parametrize("number", [signal.SIGTERM, None], ids=["SIGTERM", "end of input"])
def test_it_takes_everything_down_when_told_or_left(number: int | None, privilege: Privilege) -> None:
    with netns_testbed(NETWORK, privilege) as (process, ready):
        inside = subprocess.Popen([*enter(ready["namespaces"]["client"]), "sleep", "600"])
        if number is None:
            process.stdin.close()  # type: ignore[union-attr]
        else:
            process.send_signal(number)
        assert process.wait(20) == 0
        assert has_left_nothing(process.pid)
        assert inside.wait(10) != 0


def test_ctrl_c_is_left_to_the_parent(testbed: Testbed) -> None:
    testbed[0].send_signal(signal.SIGINT)
    assert "counters" in ask(testbed[0], {"op": "counters"})


@needs_namespaces
def test_after_kill_9_the_next_start_cleans_up() -> None:
    with netns_testbed(NETWORK) as (process, _):
        process.kill()
        process.wait()
        assert namespaces_of(process.pid)
        with netns_testbed(NETWORK):
            assert has_left_nothing(process.pid)


PARENT = """
import asyncio, sys
from mixedsched.world.emulator.netns.backend import netns_backend
from mixedsched.model.profile import Profile, Direction
async def main():
    async with netns_backend(Profile("x", "", "", Direction(), Direction())) as backend:
        print(backend.client_prefix[-1], flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""


@needs_namespaces
def test_kill_9_of_the_parent_leaves_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        owner = int(parent.stdout.readline().split("-")[1])
        parent.kill()
        assert wait_until(lambda: has_left_nothing(owner))


@needs_namespaces
def test_as_a_back_end_it_says_where_programs_run_and_what_the_link_counted() -> None:
    async def try_out() -> tuple[Sequence[str], Any, int]:
        async with open_backend("netns", NETWORK) as backend:
            owner = int(backend.client_prefix[-1].split("-")[1])
            async with backend.link((backend.server_host, 4433), seed=1) as link:
                assert link.address == (backend.server_host, 4433)
                namespaces = {"server": backend.server_prefix[-1], "client": backend.client_prefix[-1]}
                await asyncio.to_thread(flood, {"namespaces": namespaces}, 7)
            with pytest.raises(UsageError, match="relay"):
                async with backend.link((backend.server_host, 4433), seed=1, packet_log=os.devnull):  # type: ignore[arg-type]
                    pass
            return backend.notes, link.counters, owner

    notes, counters, owner = asyncio.run(try_out())
    assert counters["down"]["packets"] == 7
    assert not any("netem" in note for note in notes)  # the profile asks for nothing of it
    assert has_left_nothing(owner)


def test_what_no_kernel_can_do_is_refused_before_anything_is_set_up() -> None:
    async def try_out() -> None:
        async with netns_backend(shaped(Direction(trace=Trace("t", (1, 2))))):
            pass

    with pytest.raises(UsageError, match="trace 't'"):
        asyncio.run(try_out())


def test_a_back_end_that_there_is_not() -> None:
    with pytest.raises(UsageError, match="did you mean 'netns'"):
        open_backend("netsn", NETWORK)
