"""Child processes that never outlive us: they stop when their standard input ends, which even kill -9 of the parent does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from mixedsched.errors import MixedschedError

_START_LIMIT_S = 30.0
_STOP_LIMIT_S = 5.0
_LINE_LIMIT_BYTES = 1 << 20


class Child:
    """A running Python module of ours that talks JSON lines on standard output. first: its first line."""

    def __init__(
        self, process: asyncio.subprocess.Process, first: dict[str, Any], complaints: asyncio.Task[str]
    ) -> None:
        self.first = first
        self._process = process
        self._complaints = complaints
        self._lines: list[dict[str, Any]] = []
        self._news = asyncio.Event()  # there is a line, or the end
        self._reader = asyncio.create_task(self._read())

    def take_lines(self) -> list[dict[str, Any]]:
        """The lines that came since the last call."""
        lines, self._lines = self._lines, []
        return lines

    async def tell(self, message: Any) -> None:
        """Send it a line of JSON; to one that has ended, nothing, as its next line will show."""
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await self._process.stdin.drain()

    async def next_line(self, limit_s: float) -> dict[str, Any] | None:
        """The next line that nobody has taken, waited for; None if it ends, or says nothing for limit_s seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while not self._lines and not self._reader.done():
                    self._news.clear()
                    await self._news.wait()
        return self._lines.pop(0) if self._lines else None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    async def last_words(self) -> str:
        """What it wrote on standard error, once it has ended."""
        return await self._complaints

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                self._lines.append(json.loads(line))
                self._news.set()
        finally:
            self._news.set()

    async def stop(self) -> None:
        """End its input and wait until it has stopped; kill it if it takes too long."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _STOP_LIMIT_S)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        await self._reader


@asynccontextmanager
async def child(
    module: str,
    arguments: Sequence[str],
    fail: Callable[[str], MixedschedError],
    *,
    settings: Any = None,
    prefix: Sequence[str] = (),
) -> AsyncIterator[Child]:
    """Run `python -m module arguments`, wait for its first line, and stop it at the end.

    fail: makes the error for a child that does not start, from what it wrote on standard error. settings: told to it as its
    first line of input, where that is not None. prefix: words before the command, such as those that enter a namespace.
    """
    process = await asyncio.create_subprocess_exec(
        *prefix,
        sys.executable,
        "-m",
        module,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=_LINE_LIMIT_BYTES,
        process_group=0,  # Ctrl-C in a terminal is for us alone; we stop our children in order. No session: see precedence
    )
    running: Child | None = None
    complaints = asyncio.create_task(_last_words(process))
    try:
        if settings is not None:
            assert process.stdin is not None
            with contextlib.suppress(ConnectionError):  # it has ended; what it said tells why
                process.stdin.write(json.dumps(settings).encode() + b"\n")
                await process.stdin.drain()
        running = Child(process, await _first_line(process, complaints, fail), complaints)
        yield running
    finally:
        if running is not None:
            await asyncio.shield(running.stop())
        elif process.returncode is None:
            process.kill()
            await process.wait()
        await complaints


async def _first_line(
    process: asyncio.subprocess.Process, complaints: asyncio.Task[str], fail: Callable[[str], MixedschedError]
) -> dict[str, Any]:
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), _START_LIMIT_S)
    except TimeoutError:
        raise fail(f"it said nothing for {_START_LIMIT_S:.0f} s") from None
    if not line:
        raise fail(await complaints)
    first: dict[str, Any] = json.loads(line)
    return first


async def _last_words(process: asyncio.subprocess.Process) -> str:
    """Drain standard error, so that the child never blocks on it; returns its end."""
    assert process.stderr is not None
    kept = b""
    while piece := await process.stderr.read(4096):
        kept = (kept + piece)[-4096:]
    return kept.decode(errors="replace").strip()
