"""The router VM at work: a real kernel's netem between two namespaces, and nothing left of it afterwards."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mixedsched.errors import MissingPartError, MixedschedError, UsageError
from mixedsched.model.profile import Direction, GilbertElliott, Profile, RandomLoss
from mixedsched.world.emulator.backend import open_backend
from mixedsched.world.emulator.kernel._network import run
from mixedsched.world.emulator.kernel.namespaces import claimed_namespaces, enter, network_of, sweep
from mixedsched.world.emulator.kernel.privilege import Privilege
from mixedsched.world.emulator.kernel.registry import mark_of, read_ownerships
from mixedsched.world.emulator.vm.image import init_script, ready_image
from mixedsched.world.emulator.vm.machine import Machine, open_tap, require_qemu, start_fastest
from tests.patience import wait_until
from tests.world.emulator.privileged import (
    ask,
    has_left_nothing,
    namespaces_of,
    needs_namespaces,
    owner_words,
    with_either_privilege,
)

HALF_LOST = Direction(delay_us=40_000, loss=RandomLoss(0.5))
NETWORK = Profile("half-lost", "", "", down=HALF_LOST, up=Direction(delay_us=20_000))
PACKETS = 400
LATE_MS = 30.0  # this machine may be busy; the delay that we look for is 40 ms

# Tells how many datagrams came and how long they were under way; ends with the last one, or after a moment of silence.
RECEIVER = """
import contextlib, json, socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    with contextlib.suppress(PermissionError):  # an ordinary user has room enough for what is sent here
        sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 22)  # SO_RCVBUFFORCE
    sock.bind((sys.argv[1], 4433))
    print("listening", flush=True)
    sock.settimeout(15)
    delays_ms = []
    try:
        while True:
            stamp = int(sock.recv(2000)[:20])
            delays_ms.append((time.monotonic_ns() - stamp) / 1e6)
            sock.settimeout(1)
    except TimeoutError:
        print(json.dumps(delays_ms))
"""
SENDER = """
import socket, sys, time
host, count, size, gap_s = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    for _ in range(count):
        sock.sendto(b"%020d" % time.monotonic_ns() + bytes(size - 20), (host, 4433))
        if gap_s:
            time.sleep(gap_s)
"""


@pytest.fixture(scope="module", autouse=True)
def _router() -> None:
    """These tests need QEMU and the distribution's packages."""
    try:
        require_qemu()
        ready_image(lambda _: None)
    except MissingPartError as error:
        pytest.skip(str(error))


@contextmanager
def vm_testbed(network: Profile, privilege: Privilege) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """The child process of the vm back end, and what it said when it was ready."""
    words = [*owner_words(privilege), sys.executable, "-m", "mixedsched.world.emulator.vm"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            settings = {"profile": network.facts(), "name": network.name, "privilege": privilege}
            yield process, ask(process, settings)["ready"]
        finally:
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(20) in {0, -9}


def delays_down_ms(ready: dict[str, Any], count: int, size: int, gap_s: float) -> list[float]:
    """Send datagrams from the server to the client; how long each of those that came was under way."""
    client = [*enter(ready["namespaces"]["client"]), sys.executable, "-c", RECEIVER, ready["client_host"]]
    with subprocess.Popen(client, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "listening\n"
        words = (ready["client_host"], str(count), str(size), str(gap_s))
        run(*enter(ready["namespaces"]["server"]), sys.executable, "-c", SENDER, *words)
        told: list[float] = json.loads(receiver.stdout.readline())
        return told


def machine_of(pid: int) -> int:
    """QEMU's process ID, as its owner has noted it."""
    return next(ownership for ownership in read_ownerships() if ownership.owner.pid == pid).helpers[-1].pid


@with_either_privilege
@pytest.mark.usefixtures("real_time")
def test_a_router_delays_loses_and_counts_and_goes_even_if_its_owner_is_killed(privilege: Privilege) -> None:
    with vm_testbed(NETWORK, privilege) as (process, ready):
        assert ready["ready_s"] > 0
        assert (ready["server_host"], ready["client_host"]) == ("198.18.0.1", "198.18.0.2")
        first = ask(process, {"op": "counters"})["counters"]["down"]
        delays = delays_down_ms(ready, PACKETS, 1200, 0.002)
        counters = ask(process, {"op": "counters"})["counters"]
        ask(process, {"op": "link", "seed": 2})
        fresh = ask(process, {"op": "counters"})["counters"]["down"]
        unknown = ask(process, {"op": "dance"})["error"]
        machine = machine_of(process.pid)
        assert (mark := mark_of(machine)) is not None
        process.kill()
        process.wait()
        assert wait_until(lambda: not mark.is_alive)
        left = namespaces_of(process.pid)
        sweep()
    assert first["packets"] == 0  # what was measured at the start does not count
    assert 39.5 < statistics.median(delays) < 40 + LATE_MS
    down = counters["down"]
    assert down["packets"] == PACKETS
    assert down["size_bytes"] == PACKETS * 1228
    assert len(delays) == PACKETS - down["lost"]
    assert 0.35 < down["lost"] / PACKETS < 0.65  # ten standard deviations would be 0.25
    assert (down["overflowed"], down["dropped_at_port"], counters["up"]["lost"]) == (0, 0, 0)
    assert (fresh["packets"], fresh["lost"]) == (0, 0)
    assert "link, counters" in unknown["fix"]
    assert len(left) == (2 if privilege is Privilege.ROOT else 0)  # nobody was there to take root's away; the sweep was
    assert has_left_nothing(process.pid)


@needs_namespaces
@pytest.mark.usefixtures("real_time")
def test_as_a_back_end_it_queues_by_the_byte_and_leaves_nothing() -> None:
    """2 Mbit/s with room for 26,215 bytes: of a burst of 200 packets of 1228 bytes 21 fit in, and the one that leaves."""
    queue = Direction(rate_bps=2_000_000, queue_bytes=26_215, burst_bytes=1514)
    network = replace(NETWORK, down=queue, up=Direction(loss=GilbertElliott(0.01, 0.5)))

    async def visit() -> tuple[int, dict[str, Any], int, tuple[str, ...]]:
        async with open_backend("vm", network) as backend:
            owner = int(backend.client_prefix[-1].split("-")[1])
            namespaces = {"server": backend.server_prefix[-1], "client": backend.client_prefix[-1]}
            async with backend.link((backend.server_host, 4433), 1) as link:
                assert link.address == ("198.18.0.1", 4433)
                ready = {"namespaces": namespaces, "client_host": "198.18.0.2"}
                delays = await asyncio.to_thread(delays_down_ms, ready, 200, 1200, 0.0)
            with pytest.raises(UsageError, match="vm keeps no log of packets"):
                async with backend.link((backend.server_host, 4433), 1, Path("log")):
                    pass
            return len(delays), dict(link.counters), owner, backend.notes

    arrived, counters, owner, notes = asyncio.run(visit())
    assert arrived == counters["down"]["packets"] == 200 - counters["down"]["overflowed"]
    assert 21 <= arrived < 60
    assert any("the router takes about" in note for note in notes)
    assert has_left_nothing(owner)


@needs_namespaces
def test_an_accelerator_that_does_not_work_is_followed_by_the_next_and_says_why_if_there_is_none() -> None:
    image = ready_image(lambda _: None)
    with claimed_namespaces(("server", "client")) as claim:
        taps = []
        for name in claim.namespaces.values():
            with network_of(name):
                taps.append(open_tap("toward-router"))

        def start(accelerator: str) -> Machine:
            return Machine.start(image, accelerator, taps, claim.folder)

        with pytest.raises(MixedschedError, match="no-such-thing"):
            start_fastest(start, [("no-such-thing", 5.0)])
        machine = start_fastest(start, [("no-such-thing", 5.0), ("tcg", 25.0)])
        try:
            assert machine.accelerator == "tcg"
            assert machine.run("echo hello; uname -s") == "hello\nLinux"
            with pytest.raises(MixedschedError, match="could not do this: cat /nowhere"):
                machine.run("cat /nowhere")
        finally:
            machine.stop()
            for tap in taps:
                os.close(tap)
        with pytest.raises(MixedschedError, match="has stopped"):
            machine.run("echo hello")
        assert mark_of(machine.pid) is None


@pytest.mark.slow
def test_the_image_is_built_anew_only_if_something_in_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the packages that are there already, so no network is needed."""
    packages = ready_image(lambda _: None).kernel.parent / "packages"
    (tmp_path / "packages").symlink_to(packages)
    said: list[str] = []
    image = ready_image(said.append, folder=tmp_path)
    assert said == ["building the router VM's image"]
    assert ready_image(said.append, folder=tmp_path) == image
    assert len(said) == 1
    assert image.initramfs.stat().st_size < 8_000_000
    script = tmp_path / "init"
    script.write_bytes(init_script().read_bytes() + b"# changed\n")
    monkeypatch.setattr("mixedsched.world.emulator.vm.image.init_script", lambda: script)
    before = image.initramfs.read_bytes()
    assert ready_image(said.append, folder=tmp_path).initramfs.read_bytes() != before
    assert not list(tmp_path.glob("unpacked-*"))


@needs_namespaces
def test_asked_to_end_while_it_starts_it_leaves_nothing() -> None:
    settings = json.dumps({"profile": NETWORK.facts(), "name": "early"}) + "\n"
    with subprocess.Popen(
        [sys.executable, "-m", "mixedsched.world.emulator.vm"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        process.stdin.write(settings)
        process.stdin.flush()
        assert wait_until(lambda: len(namespaces_of(process.pid)) == 2)
        process.send_signal(signal.SIGTERM)
        process.stdin.close()
        assert process.wait(40) == 0
    assert has_left_nothing(process.pid)
