"""Asynchronous work: the first of several to be done, and from code that is not asynchronous."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading

import pytest

from mixedsched.world.system import loops
from mixedsched.world.system.loops import first_of, run_to_end

# As in a notebook: a loop runs, which leaves Ctrl-C to whatever runs in it.
NOTEBOOK = """
import asyncio
from mixedsched.world.system.loops import run_to_end

async def work():
    print("at work", flush=True)
    try:
        await asyncio.sleep(1000)
    finally:
        await asyncio.sleep(0)
        print("in order", flush=True)

async def cell():
    try:
        run_to_end(work())
    except KeyboardInterrupt:
        print("interrupted", flush=True)

asyncio.new_event_loop().run_until_complete(cell())
"""


async def answer() -> int:
    await asyncio.sleep(0)
    return 42


def test_the_first_of_several_works_to_be_done_ends_the_others() -> None:
    said: list[str] = []

    async def wait_for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            said.append("in order")

    assert asyncio.run(first_of(wait_for_ever(), answer())) == [None, 42]
    assert said == ["in order"]


def test_an_error_of_the_first_one_is_raised_when_the_others_have_ended() -> None:
    said: list[str] = []

    async def fail() -> None:
        raise LookupError

    async def wait_for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            said.append("in order")

    with pytest.raises(LookupError):
        asyncio.run(first_of(wait_for_ever(), fail()))
    assert said == ["in order"]


def test_it_gives_the_result_with_a_loop_or_without() -> None:
    async def within() -> int:
        return run_to_end(answer())

    assert run_to_end(answer()) == 42
    assert asyncio.run(within()) == 42


def test_ctrl_c_ends_it_in_a_notebook() -> None:
    with subprocess.Popen([sys.executable, "-c", NOTEBOOK], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "at work\n"
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    assert said == "in order\ninterrupted\n"
    assert process.returncode == 0


def test_so_does_one_that_comes_while_the_work_is_about_to_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    at_work, said = threading.Event(), []

    async def work() -> None:
        at_work.set()
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            said.append("cancelled")
            raise

    class Interrupted(threading.Thread):
        def start(self) -> None:
            super().start()
            at_work.wait()
            raise KeyboardInterrupt

    async def cell() -> None:
        with pytest.raises(KeyboardInterrupt):
            run_to_end(work())

    monkeypatch.setattr(loops, "Thread", Interrupted)
    asyncio.run(cell())
    assert said == ["cancelled"]
