"""Child processes that talk JSON lines and never outlive us: they stop when their standard input ends, as it does even when
we are killed by kill -9.

Settings go in as the first line; the first line that comes out says that the child is ready. Lines may follow in both
directions. json_lines.py is the child's side. Each child leads a process group of its own, as Ctrl-C in a terminal is for us
alone and we stop our children in order; but it stays in our session (precedence.py says why).
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

from mixedsched.errors import MixedschedError
from mixedsched.world.system.json_lines import raise_error_in

_START_LIMIT_S = 30.0
_STOP_LIMIT_S = 5.0
_LINE_BYTES_MAX = 64 * 1024 * 1024  # a page load is one line, and holds up to 100 screenshots
_COMPLAINT_BYTES_KEPT = 4096


class Child:
    """A running child process."""

    first: dict[str, Any]
    """Its first line, once `until_ready` has seen it; empty before."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.first = {}
        self._process = process
        self._lines: list[dict[str, Any]] = []
        self._complaint = b""
        self._news = asyncio.Event()  # there is a line, or the end
        self._reader = asyncio.create_task(self._read())
        self._reader.add_done_callback(lambda _: self._news.set())
        self._complaint_reader = asyncio.create_task(self._read_complaint())

    @classmethod
    async def start(
        cls,
        *words: Any,
        settings: Any = None,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
        own_stderr: bool = True,
    ) -> Self:
        """Run a command. settings: its first line of input, where not None. environment: None for ours.

        pass_fds: file descriptors that it inherits. own_stderr: False to share our standard error, and keep no complaint.
        Raises OSError if there is no such program.
        """
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE if own_stderr else None,
            limit=_LINE_BYTES_MAX,
            env=environment,
            process_group=0,
            pass_fds=pass_fds,
        )
        started = cls(process)
        if settings is not None:
            started.tell(settings)
        return started

    async def until_ready(self, failure: str) -> None:
        """Wait for its first line. Raises the error which that tells of; MixedschedError, saying `failure`, if none comes."""
        first = await self.next_line(_START_LIMIT_S)
        if first is None:
            silence = f"it said nothing for {_START_LIMIT_S:.0f} s"
            raise MixedschedError(failure, why=await self.complaint() if self.has_ended else silence)
        self.first = first
        raise_error_in(first)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    @property
    def has_ended(self) -> bool:
        """Whether no more lines will come."""
        return self._reader.done()

    def tell(self, message: Any) -> None:
        """Send it a line of JSON. If it has ended, nothing happens, and its next line does not come."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    def take_lines(self) -> list[dict[str, Any]]:
        """The lines that came since the last call."""
        lines, self._lines = self._lines, []
        return lines

    async def next_line(self, limit_s: float) -> dict[str, Any] | None:
        """Wait for the next line that was not taken yet; None if it ends first (`has_ended`), or says nothing for limit_s."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while not self._lines and not self.has_ended:
                    self._news.clear()
                    await self._news.wait()
        return self._lines.pop(0) if self._lines else None

    async def lines(self) -> AsyncIterator[dict[str, Any]]:
        """The lines that were not taken yet, as they come, until the child has ended."""
        while True:
            for line in self.take_lines():
                yield line
            if self.has_ended and not self._lines:
                return
            self._news.clear()
            if not self._lines and not self.has_ended:
                await self._news.wait()

    async def ended(self) -> None:
        """Wait until it has ended."""
        await self._process.wait()

    async def complaint(self) -> str:
        """The end of what it wrote on standard error, once it has ended."""
        await self._complaint_reader
        return self._complaint.decode(errors="replace").strip().removeprefix("error: ")

    def end_input(self) -> None:
        """Close its standard input, which asks it to stop."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    async def stop(self) -> None:
        """End its input and wait until it has stopped; kill it if it takes too long. May be called again."""
        self.end_input()
        try:
            await asyncio.wait_for(self._process.wait(), _STOP_LIMIT_S)
        except TimeoutError:
            self.kill()
            await self._process.wait()
        await self._reader
        await self._complaint_reader

    def kill(self) -> None:
        """With what it has started in its process group, which would hold its pipes open, and so keep `stop` waiting."""
        if self.is_alive:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def terminate(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    async def _read(self) -> None:
        """Collect lines; what is not an object of JSON is not for us."""
        while line := await self._next_line():
            with contextlib.suppress(ValueError):
                message = json.loads(line)
                if isinstance(message, dict):
                    self._lines.append(message)
                    self._news.set()

    async def _next_line(self) -> bytes:
        """The next line, empty at the end. A child with a line that is too long is killed: it would wait for us for ever."""
        assert self._process.stdout is not None
        try:
            return await self._process.stdout.readline()
        except ValueError:
            self._complaint = f"it said a line of more than {_LINE_BYTES_MAX} bytes, and was ended\n".encode()
            self.kill()
            while await self._process.stdout.read(1 << 16):  # its pipe is done with only when it is empty
                pass
            return b""

    async def _read_complaint(self) -> None:
        """Drain standard error, so that the child never blocks on it."""
        if self._process.stderr is None:
            return
        while piece := await self._process.stderr.read(4096):
            self._complaint = (self._complaint + piece)[-_COMPLAINT_BYTES_KEPT:]


@asynccontextmanager
async def child(
    module: str, *arguments: str, failure: str, settings: Any = None, prefix: Sequence[str] = ()
) -> AsyncIterator[Child]:
    """Run `python -m module arguments` until the end of the `async with`, which begins when the child is ready.

    failure: what to say of a child that does not start, such as "the relay did not start". prefix: words before the command,
    such as those that enter a namespace.
    """
    running = await Child.start(*prefix, sys.executable, "-m", module, *arguments, settings=settings)
    try:
        await running.until_ready(failure)
        yield running
    finally:
        if not running.first:  # it may be busy starting, and has nothing to put in order
            running.kill()
        await asyncio.shield(running.stop())
