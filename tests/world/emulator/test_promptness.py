"""Real-time priority is had in every way that needs no root, and never at the price of a hanging machine."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mixedsched.world.emulator.relay import _promptness as promptness
from mixedsched.world.emulator.relay._promptness import RealTime
from tests.world.emulator.relaying import profile

# Tells how it got on, and what the kernel says of that.
ASKER = """
import json, os, resource
from mixedsched.world.emulator.relay._promptness import ask_for_real_time
how, limits = ask_for_real_time(), resource.getrlimit(resource.RLIMIT_RTTIME)
print(json.dumps({"how": how, "pid": os.getpid(), "policy": os.sched_getscheduler(0), "rttime": limits}))
"""
# Never sleeps until it has its priority no more. The kernel kills it at the hard limit if it keeps that.
RUNAWAY = """
import os
from mixedsched.world.emulator.relay._promptness import ask_for_real_time
print(ask_for_real_time())
while os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK == os.SCHED_RR:
    pass
"""
BUS = """
<busconfig>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
  </policy>
</busconfig>
"""
RESET = os.SCHED_RESET_ON_FORK


def _goes(*words: str) -> bool:
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


needs_priority = pytest.mark.skipif(
    os.geteuid() != 0 or not _goes("chrt", "--rr", "1", "true"), reason="this process may not make others real time"
)
needs_limits = pytest.mark.skipif(
    not _goes("prlimit", "--rtprio=0:1", "true"), reason="this process may not raise the limit RLIMIT_RTPRIO"
)
needs_bus = pytest.mark.skipif(
    shutil.which("dbus-daemon") is None or shutil.which("busctl") is None, reason="there is no dbus-daemon or no busctl"
)
unprivileged = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()


def limited(*limits: str) -> tuple[str, ...]:
    """Words before a command that shall run without privilege and within these limits."""
    return ("prlimit", *limits, *unprivileged)


def run(prefix: Sequence[str], script: str, bus: str | None = None) -> subprocess.CompletedProcess[str]:
    """A script without privilege; nobody but the given bus can be asked."""
    address = bus or "unix:path=/nonexistent"
    command = [*prefix, sys.executable, "-c", script]
    environment = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": address}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)


def told(prefix: Sequence[str], bus: str | None = None) -> dict[str, Any]:
    done = run(prefix, ASKER, bus)
    assert (done.returncode, done.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(done.stdout)  # and nothing else is on standard output
    return answer


@contextmanager
def bus(folder: Path) -> Iterator[str]:
    """The address of a bus of this test's own."""
    socket, config = folder / "bus", folder / "bus.conf"
    config.write_text(BUS.format(socket=socket))
    command = ["dbus-daemon", f"--config-file={config}", "--nofork", "--print-address"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdout is not None
        try:
            yield daemon.stdout.readline().strip()
        finally:
            daemon.terminate()


@contextmanager
def rtkit(address: str, mood: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.world.emulator.rtkit_stand_in", address, mood]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        assert service.stdout.readline() == "ready\n"
        try:
            yield service
        finally:
            service.terminate()


def test_without_any_of_it_the_priority_is_an_ordinary_one() -> None:
    answer = told(limited("--rtprio=0:0"))
    assert (answer["how"], answer["policy"]) == (RealTime.NONE, os.SCHED_OTHER)
    assert answer["rttime"] == list(resource.getrlimit(resource.RLIMIT_RTTIME))


@needs_limits
@pytest.mark.parametrize("limits", ["1:1", "0:1", "0:unlimited"])
def test_the_limit_of_an_administrator_is_used_also_where_it_is_only_the_hard_one(limits: str) -> None:
    answer = told(limited(f"--rtprio={limits}"))
    assert (answer["how"], answer["policy"]) == (RealTime.GRANTED, os.SCHED_RR)


@pytest.mark.parametrize(
    ("soft", "hard", "how"),
    [(0, 1, "granted"), (0, resource.RLIM_INFINITY, "granted"), (95, 95, "granted"), (0, 0, "none")],
)
def test_of_a_limit_no_more_is_taken_than_is_needed(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, how: str
) -> None:
    """As sched(7) and getrlimit(2) tell it of the kernel, for a process that may not raise its own limits."""
    limits, given = [soft, hard], list[int]()

    def set_limit(_: int, wanted: tuple[int, int]) -> None:
        assert wanted == (1, hard)
        limits[:] = wanted

    def schedule(_: int, policy: int, wanted: os.sched_param) -> None:
        if wanted.sched_priority > limits[0]:
            raise PermissionError
        given.append(policy)

    monkeypatch.setattr(promptness.resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(promptness.resource, "setrlimit", set_limit)
    monkeypatch.setattr(promptness.os, "sched_setscheduler", schedule)
    monkeypatch.setattr(promptness.signal, "signal", lambda *_: None)
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent")
    assert promptness.ask_for_real_time() == how
    assert given == ([os.SCHED_RR] if how == "granted" else [])


@needs_priority
def test_with_the_privilege_no_limit_is_needed() -> None:
    answer = told(())
    assert (answer["how"], answer["policy"]) == (RealTime.GRANTED, os.SCHED_RR)


@needs_bus
@needs_priority
def test_rtkit_gives_it_to_who_limits_how_long_it_never_sleeps(tmp_path: Path) -> None:
    with bus(tmp_path) as address, rtkit(address, "kind"):
        answer = told(limited("--rtprio=0:0"), address)
    assert (answer["how"], answer["policy"]) == (RealTime.RTKIT, os.SCHED_RR | RESET)
    assert answer["rttime"] == [100_000, 200_000]


@needs_bus
def test_rtkit_is_asked_as_its_interface_says(tmp_path: Path) -> None:
    with bus(tmp_path) as address, rtkit(address, "stern") as service:
        answer = told(limited("--rtprio=0:0"), address)
        assert service.stdout is not None
        calls = [json.loads(service.stdout.readline()) for _ in range(2)]
    path, asks = "/org/freedesktop/RealtimeKit1", "MakeThreadRealtimeWithPID"
    pid = answer["pid"]
    assert calls == [
        {"path": path, "member": "Get", "signature": "ss", "body": [path.replace("/", ".")[1:], "RTTimeUSecMax"]},
        {"path": path, "member": asks, "signature": "ttu", "body": [pid, pid, 1]},
    ]
    assert (answer["how"], answer["policy"]) == (RealTime.NONE, os.SCHED_OTHER)


@needs_bus
@pytest.mark.parametrize("mood", ["silent", None])
def test_a_bus_where_nobody_answers_is_left_alone(tmp_path: Path, mood: str | None) -> None:
    with bus(tmp_path) as address:
        if mood is None:
            assert told(limited("--rtprio=0:0"), address)["how"] == RealTime.NONE
            return
        with rtkit(address, mood):
            assert told(limited("--rtprio=0:0"), address)["how"] == RealTime.NONE


@pytest.mark.parametrize("answer", ["echo x", "echo y 5", "exit 3", r"printf 'x \377'", "echo x -5", "sleep 600"])
def test_whatever_busctl_does_nothing_is_said_and_nothing_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    busctl = tmp_path / "busctl"
    busctl.write_text(f"#!/bin/sh\necho complaint >&2\n{answer}\n")
    busctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert told(limited("--rtprio=0:0"))["how"] == RealTime.NONE


@needs_priority
def test_who_never_sleeps_gives_its_priority_back_before_the_kernel_kills_it() -> None:
    done = run(("prlimit", "--rttime=100000:200000"), RUNAWAY)
    assert (done.returncode, done.stdout) == (0, "granted\n")


@needs_bus
@needs_priority
def test_so_it_does_where_rtkit_has_marked_it(tmp_path: Path) -> None:
    with bus(tmp_path) as address, rtkit(address, "kind"):
        done = run(limited("--rtprio=0:0"), RUNAWAY, address)
    assert (done.returncode, done.stdout) == (0, "rtkit\n")


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        pytest.param((), {"real-time"}, marks=needs_priority),
        (limited("--rtprio=0:0"), {"short-slices", "ordinary"}),  # which of them is up to the kernel
    ],
)
def test_the_relay_tells_in_its_first_line_how_it_got_on(prefix: Sequence[str], expected: set[str]) -> None:
    command = [*prefix, sys.executable, "-m", "mixedsched.world.emulator.relay"]
    settings = {"profile": profile().facts(), "seed": 1, "server": ["127.0.0.1", 9], "listen": ["127.0.0.1", 0]}
    environment = {**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"}
    done = subprocess.run(
        command, input=json.dumps(settings) + "\n", capture_output=True, text=True, check=True, env=environment
    )
    assert json.loads(done.stdout.splitlines()[0])["promptness"] in expected
