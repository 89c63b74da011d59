"""Programs of the user's, which know nothing of us: run to their end, ended in order with all that they have started, and
ended with us if we are killed.
"""

import asyncio
import contextlib
import functools
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mixedsched.world.system.loops import first_of
from mixedsched.world.system.programs import find_program

SIGNALLED = 128  # what a shell adds to the number of the signal that ended a command
_GRACE_S = 2.0  # for a program that is told to end


class StopRequest:
    """Whether a signal has asked us to stop: Ctrl-C, SIGTERM, or a closed terminal. Make one in a running event loop."""

    def __init__(self) -> None:
        self.number = 0
        """The signal; 0 for none."""
        self.event = asyncio.Event()
        self._cancels: asyncio.Task[Any] | None = None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, self._note, number)

    @property
    def exit_code(self) -> int:
        """What a shell would say of a command which that signal has ended."""
        return SIGNALLED + self.number

    @contextlib.contextmanager
    def cancelling(self) -> Iterator[None]:
        """Meanwhile, a stop request cancels this task wherever it waits."""
        self._cancels = asyncio.current_task()
        try:
            yield
        finally:
            self._cancels = None

    def _note(self, number: int) -> None:
        self.number = self.number or number
        self.event.set()
        if self._cancels is not None:
            self._cancels.cancel()


@functools.cache
def ends_with_us() -> tuple[str, ...]:
    """Words before a command that end it if we are killed, where the system can (setpriv of util-linux 2.33)."""
    setpriv = find_program("setpriv")
    if setpriv is None:
        return ()
    usage = subprocess.run([setpriv, "--help"], capture_output=True, check=False).stdout
    return (setpriv, "--pdeathsig", "KILL") if b"--pdeathsig" in usage else ()


async def run_command(words: Sequence[str], environment: Mapping[str, str], stop: asyncio.Event) -> int:
    """The command's exit code; 128 and the signal's number if one ended it. stop: set when it is to end.

    Where there is no terminal it gets a process group of its own, and what is left of that ends with it. With a terminal it
    stays in ours, since only the foreground's group may read from it: then only the command itself is told to end. If we are
    killed, it goes with us where the system can see to that; what it has started does not.
    """
    is_apart = not _has_terminal()
    process = await asyncio.create_subprocess_exec(
        *ends_with_us(), *words, env={**os.environ, **environment}, process_group=0 if is_apart else None
    )
    try:
        await first_of(process.wait(), stop.wait())
    finally:
        await end_program(process, is_apart=is_apart)
        await process.wait()
    assert process.returncode is not None
    return process.returncode if process.returncode >= 0 else SIGNALLED - process.returncode


async def end_program(process: asyncio.subprocess.Process, *, is_apart: bool = True) -> None:
    """Ask it to end, kill it if it does not. is_apart: it leads a process group, which ends with it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is None:
            _signal(process.pid, number, is_apart)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _GRACE_S)
    for number in (signal.SIGTERM, signal.SIGKILL) if is_apart else ():
        _signal(process.pid, number, is_apart)
        deadline_s = time.monotonic() + _GRACE_S
        while (is_there := _is_there(process.pid)) and time.monotonic() < deadline_s:
            await asyncio.sleep(0.01)
        if not is_there:
            return


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


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True
