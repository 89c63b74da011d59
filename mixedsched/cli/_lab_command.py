"""The command of `lab run`: run to its end, or until we are told to end, with what it has started itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence

from mixedsched.cli._lab_server import ends_with_us

SIGNALLED = 128  # what a shell adds to the number of the signal that ended a command
_GRACE_S = 2.0  # for a command that is told to end


async def run_command(words: Sequence[str], environment: Mapping[str, str], told: asyncio.Event) -> int:
    """The command's exit code; 128 and the signal's number if one ended it. told: set when it shall end.

    Where there is no terminal it gets a process group of its own, and what is left of that ends with it. With a terminal it
    stays in ours, since only the foreground's group may read from it: then only the command itself is told to end. If we are
    killed, it goes with us where the system can see to that; what it has started does not.
    """
    is_apart = not _has_terminal()
    process = await asyncio.create_subprocess_exec(
        *ends_with_us(), *words, env={**os.environ, **environment}, process_group=0 if is_apart else None
    )
    ended, signalled = asyncio.create_task(process.wait()), asyncio.create_task(told.wait())
    try:
        await asyncio.wait((ended, signalled), return_when=asyncio.FIRST_COMPLETED)
    finally:
        signalled.cancel()
        if process.returncode is None:
            _signal(process.pid, signal.SIGTERM, is_apart)
            await asyncio.wait((ended,), timeout=_GRACE_S)
            if process.returncode is None:
                _signal(process.pid, signal.SIGKILL, is_apart)
        await ended
        if is_apart:
            await _end_rest(process.pid)
    assert process.returncode is not None
    return process.returncode if process.returncode >= 0 else SIGNALLED - process.returncode


def _has_terminal() -> bool:
    """Whether this process has a terminal that could stop a group in the background."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _signal(pid: int, number: int, is_apart: bool) -> None:
    with contextlib.suppress(ProcessLookupError):
        (os.killpg if is_apart else os.kill)(pid, number)


async def _end_rest(group: int) -> None:
    """End what the command has left behind in its process group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal(group, number, is_apart=True)
        deadline_s = time.monotonic() + _GRACE_S
        while _is_there(group) and time.monotonic() < deadline_s:
            await asyncio.sleep(0.01)
        if not _is_there(group):
            return


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True
