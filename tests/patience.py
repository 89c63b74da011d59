"""What tests wait for, and machines that test, which are noisy.

A load whose packets left the link late is void, and the same command goes on: that is what people are told to do. Nothing else
is forgiven here, and what is void stays void. Tests whose subject is not time ask for `unhurried` instead.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from mixedsched.errors import MixedschedError
from mixedsched.lab.model import Run, RunStatus

_TRIES = 6
_LATE = "late_link:"
_PAUSE_S = 0.05

Found = TypeVar("Found")


def patiently(once: Callable[[], Found], is_whole: Callable[[Found], bool]) -> Found:
    """What `once` finds when it is whole. It is called again where late packets left something missing."""
    for _ in range(_TRIES - 1):
        try:
            found = once()
        except MixedschedError as error:
            if _LATE not in str(error):
                raise
            continue
        if is_whole(found):
            return found
    return once()


def run_patiently(command: Sequence[str], folder: Path, limit_s: float) -> subprocess.CompletedProcess[str]:
    """The command that has ended, given again where all it complains of is late packets."""
    for _ in range(_TRIES):
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit_s, check=False)
        if ended.returncode == 0 or _LATE not in ended.stderr:
            break
    return ended


def is_late(reason: str) -> bool:
    """Whether a run is void because packets were late."""
    return reason.startswith(_LATE)


def why_void(runs: Sequence[Run]) -> list[str]:
    """The reasons of runs that do not count, but for late packets."""
    return [run.reason for run in runs if run.status is not RunStatus.OK and not is_late(run.reason)]


def wait_until(condition: Callable[[], object], limit_s: float = 30.0) -> bool:
    """Whether it becomes true in the end; the limit is only for what never does."""
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        if condition():
            return True
        time.sleep(_PAUSE_S)
    return bool(condition())


async def until(condition: Callable[[], object], limit_s: float = 30.0) -> None:
    """The same on an event loop, where other tasks go on meanwhile. Raises TimeoutError if it never becomes true."""
    async with asyncio.timeout(limit_s):
        while not condition():
            await asyncio.sleep(_PAUSE_S / 5)
