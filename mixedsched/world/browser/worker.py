"""The Node process behind the runner: starting it, one question and one answer at a time, ending it with its browser."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from mixedsched.errors import MixedschedError
from mixedsched.world.browser.pageload import PageLoadFailed
from mixedsched.world.browser.sandbox import no_sandbox
from mixedsched.world.system.precedence import Courtesy, words_before

# One answer is one line, and holds up to 40 screenshots.
_LINE_BYTES_MAX = 64 * 1024 * 1024
_STDERR_LINES_KEPT = 20
_LEAVE_LIMIT_S = 5.0


class Worker:
    """A running lighthouse-runner. After a failed `ask` it is to be closed and replaced, unless it `needs_own_waits`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._ids = itertools.count(1)
        self._stderr_tail: deque[str] = deque(maxlen=_STDERR_LINES_KEPT)
        self._stderr_reader = asyncio.create_task(self._read_stderr())

    @classmethod
    async def start(
        cls,
        node: Path,
        package_dir: Path,
        chromium: Path,
        prefix: Sequence[str] = (),
        courtesy: Courtesy = Courtesy.NONE,
    ) -> Self:
        process = await asyncio.create_subprocess_exec(
            *prefix,
            *words_before(courtesy),
            node,
            package_dir / "worker.mjs",
            *words_before(),  # of the browser, which inherits the courtesy
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LINE_BYTES_MAX,
            env={**os.environ, "CHROME_PATH": str(chromium)},
            # An interrupt from the terminal is for us; the worker follows when its input ends. No session: see precedence.
            process_group=0,
        )
        return cls(process)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    async def ask(self, message: Mapping[str, Any], limit_s: float) -> dict[str, Any]:
        """Send a message, return the answer's fields.

        Raises PageLoadFailed: with the worker's own reason, or worker_died, or worker_silent after limit_s. Raises
        MissingPartError if Chromium needs a sandbox and cannot build one here: no further load would do better.
        """
        assert self._process.stdin is not None
        number = next(self._ids)
        try:
            self._process.stdin.write(json.dumps({"id": number, **message}).encode() + b"\n")
            await self._process.stdin.drain()
            answer = await asyncio.wait_for(self._read_answer(number), limit_s)
        except TimeoutError as error:
            raise PageLoadFailed("worker_silent", f"the worker gave no answer within {limit_s:.0f} s") from error
        except OSError as error:
            raise PageLoadFailed("worker_died", self._last_words()) from error
        if not answer.get("ok"):
            raise _failure(str(answer.get("reason", "internal")), str(answer.get("detail", "")))
        return answer

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send a message whose answer nobody waits for, also while another one is being answered."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(json.dumps({"id": next(self._ids), **message}).encode() + b"\n")

    async def _read_answer(self, number: int) -> dict[str, Any]:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            with contextlib.suppress(ValueError):
                answer = json.loads(line)
                if isinstance(answer, dict) and answer.get("id") == number:
                    return answer
        raise PageLoadFailed("worker_died", self._last_words())

    async def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            self._stderr_tail.append(line.decode(errors="replace").rstrip())

    def _last_words(self) -> str:
        return "the worker ended; it said: " + (" | ".join(self._stderr_tail) or "nothing")

    async def close(self) -> None:
        """End it, with its browser. It leaves as soon as its input ends; one that hangs is killed, and the kernel ends the
        browser. Safe to call on a worker that is gone already.
        """
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _LEAVE_LIMIT_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await self._stderr_reader


def _failure(reason: str, detail: str) -> MixedschedError:
    return no_sandbox() if reason == "no_sandbox" else PageLoadFailed(reason, detail)
