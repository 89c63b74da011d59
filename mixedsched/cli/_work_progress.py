"""Progress of work on standard error, once it takes a few seconds: a bar on a terminal, elsewhere a line at times."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from mixedsched.cli._bar import time_left

_SILENT_S = 2.0  # what is done by then needs no progress
_LINE_EVERY_S = 10.0
_TOLD_FROM_SHARE = 0.02  # what is done before tells nothing of the time left


class WorkProgress:
    """Shows how much is done. what: in a word or two, such as "making files"."""

    def __init__(self, console: Console, what: str) -> None:
        self._what = what
        self._console = console
        self._started_s = self._said_s = time.monotonic()
        self._bar = Progress(
            TextColumn(what),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            redirect_stdout=False,  # results belong to standard output, whatever standard error is
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, left="")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def tell(self, done: int, total: int) -> None:
        """done, total: in bytes, or whatever else the work is counted in."""
        now_s = time.monotonic()
        if not done or done < total * _TOLD_FROM_SHARE or now_s - self._started_s < _SILENT_S:
            return
        left = time_left(now_s - self._started_s, done, total - done)
        self._bar.update(self._task, completed=done, total=total, left=left)
        self._bar.start()
        if not self._console.is_terminal and now_s - self._said_s >= _LINE_EVERY_S:
            self._said_s = now_s
            rest = f"  ({left})" if left else ""
            self._console.print(f"{self._what}: {done / total:.0%}{rest}", soft_wrap=True)
