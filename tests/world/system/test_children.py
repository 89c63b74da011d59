"""Child processes: settings in, a ready line, JSON lines both ways, errors as errors, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mixedsched.errors import ExitCode, MissingPartError, MixedschedError
from mixedsched.world.system.children import Child, child

NEVER_HANGS_S = 30.0
ECHO = """
import os, sys
from mixedsched.errors import MissingPartError
from mixedsched.world.system.json_lines import Orders, say, say_error

orders = Orders()
settings = next(orders)
if "missing" in settings:
    sys.exit(say_error(MissingPartError(settings["missing"], why="so it is", fix="get one")))
if "crash" in settings:
    sys.exit("error: " + settings["crash"])
say({"ready": settings, "leads": os.getpgid(0) == os.getpid(), "session": os.getsid(0)})
for order in orders:
    print("not for you")
    print([1], flush=True)
    say({"echo": order})
say({"goodbye": True})
"""


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module that a child can run."""
    (tmp_path / "echoing_child.py").write_text(ECHO)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(Path.cwd())]))
    return "echoing_child"


def test_settings_go_in_and_lines_go_both_ways(echo: str) -> None:
    async def talk() -> None:
        settings = {"long": "x" * 200_000}
        async with child(echo, failure="it did not start", settings=settings) as running:
            assert running.first["ready"] == settings
            running.tell({"op": "a"})
            running.tell({"op": "b"})
            assert await running.next_line(NEVER_HANGS_S) == {"echo": {"op": "a"}}
            assert await running.next_line(NEVER_HANGS_S) == {"echo": {"op": "b"}}
        assert running.take_lines() == [{"goodbye": True}]
        assert running.has_ended
        assert not running.is_alive

    asyncio.run(talk())


def test_the_end_of_a_child_can_be_waited_for(echo: str) -> None:
    async def talk() -> None:
        async with child(echo, failure="it did not start", settings={}) as running:
            running.kill()
            await asyncio.wait_for(running.ended(), NEVER_HANGS_S)
            assert not running.is_alive

    asyncio.run(talk())


def test_lines_can_be_walked_until_the_child_has_ended(echo: str) -> None:
    async def talk() -> list[object]:
        async with child(echo, failure="it did not start", settings={}) as running:
            for number in range(3):
                running.tell(number)
            running.end_input()
            return [line async for line in running.lines()]

    assert asyncio.run(talk()) == [{"echo": 0}, {"echo": 1}, {"echo": 2}, {"goodbye": True}]


def test_a_child_inherits_the_files_it_is_given_and_no_others() -> None:
    async def inherit(passed: bool) -> list[object]:
        ours, theirs = os.pipe()
        code = f"import os; print(os.write({theirs}, b'x'))"
        started = await Child.start(sys.executable, "-c", code, pass_fds=(theirs,) if passed else ())
        await started.stop()
        os.close(theirs)
        with os.fdopen(ours, "rb") as pipe:
            return [pipe.read(), "Bad file descriptor" in await started.complaint()]

    assert asyncio.run(inherit(passed=True)) == [b"x", False]
    assert asyncio.run(inherit(passed=False)) == [b"", True]


def test_it_leads_a_process_group_in_our_session(echo: str) -> None:
    async def talk() -> None:
        async with child(echo, failure="it did not start", settings={}) as running:
            assert running.first["leads"]
            assert running.first["session"] == os.getsid(0)

    asyncio.run(talk())


def test_an_error_that_it_tells_of_is_raised_here(echo: str) -> None:
    async def talk() -> None:
        async with child(echo, failure="it did not start", settings={"missing": "there is no moon"}):
            raise AssertionError

    with pytest.raises(MissingPartError, match="there is no moon") as caught:
        asyncio.run(talk())
    assert (caught.value.why, caught.value.fix) == ("so it is", "get one")
    assert caught.value.exit_code is ExitCode.MISSING_PART


def test_if_it_ends_before_it_is_ready_its_complaint_is_the_reason(echo: str) -> None:
    async def talk() -> None:
        async with child(echo, failure="it did not start", settings={"crash": "no such page"}):
            raise AssertionError

    with pytest.raises(MixedschedError) as caught:
        asyncio.run(talk())
    assert str(caught.value) == "it did not start: no such page"


def test_silence_and_the_end_are_told_apart(echo: str) -> None:
    async def talk() -> None:
        async with child(echo, failure="it did not start", settings={}) as running:
            assert await running.next_line(0.01) is None
            assert not running.has_ended
            os.kill(running.pid, signal.SIGKILL)
            assert await running.next_line(NEVER_HANGS_S) is None
            assert running.has_ended
            running.tell({"op": "too late"})

    asyncio.run(talk())


def test_a_line_that_is_too_long_ends_it_instead_of_waiting_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixedsched.world.system.children._LINE_BYTES_MAX", 1000)

    async def talk() -> str:
        endless = "print('x' * 100_000, flush=True)\nimport time; time.sleep(1000)"
        running = await Child.start(sys.executable, "-c", endless)
        assert await running.next_line(NEVER_HANGS_S) is None
        complaint = await asyncio.wait_for(running.complaint(), NEVER_HANGS_S)
        await running.stop()
        return complaint

    assert "a line of more than 1000 bytes" in asyncio.run(talk())


def test_sigterm_ends_its_waiting_in_order(echo: str) -> None:
    async def talk() -> None:
        async with child(echo, failure="it did not start", settings={}) as running:
            os.kill(running.pid, signal.SIGTERM)
            assert await running.next_line(NEVER_HANGS_S) == {"goodbye": True}

    asyncio.run(talk())


def test_sigterm_while_it_reads_its_orders_spoils_none() -> None:
    code = """
import json, os, signal
from mixedsched.world.system.json_lines import Orders, say

def interrupted(line):
    os.kill(os.getpid(), signal.SIGTERM)
    return plain(line)

orders = Orders()
plain, json.loads = json.loads, interrupted
say({"orders": orders.read(), "has_ended": orders.has_ended})
"""

    async def talk() -> None:
        running = await Child.start(sys.executable, "-c", code)
        running.tell({"op": "a"})
        running.tell({"op": "b"})
        assert await running.next_line(NEVER_HANGS_S) == {"orders": [{"op": "a"}, {"op": "b"}], "has_ended": True}
        await running.stop()

    asyncio.run(talk())


def test_it_ends_when_its_parent_is_killed(echo: str) -> None:
    parent = (
        "import asyncio, sys\n"
        "from mixedsched.world.system.children import child\n"
        "async def main():\n"
        f"    async with child({echo!r}, failure='x', settings={{}}) as running:\n"
        "        print(running.pid, flush=True)\n"
        "        await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        descriptor = os.pidfd_open(pid)
        process.kill()
    try:
        assert select.select([descriptor], [], [], NEVER_HANGS_S)[0]
    finally:
        os.close(descriptor)


def test_if_it_does_not_stop_it_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mixedsched.world.system.children._STOP_LIMIT_S", 0.01)

    async def talk() -> None:
        running = await Child.start(sys.executable, "-c", "print('{}', flush=True)\nimport time; time.sleep(1000)")
        assert await running.next_line(NEVER_HANGS_S) == {}
        await running.stop()
        await running.stop()
        assert not running.is_alive

    asyncio.run(talk())


def test_what_it_has_started_is_killed_with_it_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grandchild has its pipes open, too."""
    monkeypatch.setattr("mixedsched.world.system.children._STOP_LIMIT_S", 0.01)
    code = (
        "import json, subprocess, time\n"
        "print(json.dumps({'pid': subprocess.Popen(['sleep', '1000']).pid}), flush=True)\n"
        "time.sleep(1000)"
    )

    async def talk() -> int:
        running = await Child.start(sys.executable, "-c", code)
        first = await running.next_line(NEVER_HANGS_S)
        assert first is not None
        grandchild = os.pidfd_open(first["pid"])
        try:
            await asyncio.wait_for(running.stop(), NEVER_HANGS_S)
            assert select.select([grandchild], [], [], NEVER_HANGS_S)[0]
        finally:
            os.close(grandchild)
        return 0

    assert asyncio.run(talk()) == 0
