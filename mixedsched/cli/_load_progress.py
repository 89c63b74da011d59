"""Progress of a simulation on standard error, once it takes a few seconds: a bar on a terminal, elsewhere a line at times."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from mixedsched.cli._bar import time_left

SILENT_S = 2.0  # what is done by then needs no progress
LINE_EVERY_S = 10.0


class LoadProgress:
    """Counts loads. total: loads altogether. bar, lines: which of the two forms is wanted, if any."""

    def __init__(self, console: Console, total: int, *, bar: bool, lines: bool) -> None:
        self._console = console
        self._total = total
        self._done = 0
        self._lines = lines and not bar
        self._started_s = self._said_s = time.monotonic()
        self._bar: Progress | None = None
        if bar:
            self._bar = Progress(
                TextColumn("playing pages"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[left]}"),
                console=console,
                transient=True,
                redirect_stdout=False,  # results belong to standard output, whatever standard error is
            )
            self._task = self._bar.add_task("", total=total, left="")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hide()

    def hide(self) -> None:
        """Make room for results on the same terminal; the bar comes back with the next load."""
        if self._bar is not None:
            self._bar.stop()

    def advance(self) -> None:
        """One load more is done."""
        self._done += 1
        now_s = time.monotonic()
        if now_s - self._started_s < SILENT_S or self._done == self._total:
            return
        left = time_left(now_s - self._started_s, self._done, self._total - self._done)
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, left=left)
            self._bar.start()
        elif self._lines and now_s - self._said_s >= LINE_EVERY_S:
            self._said_s = now_s
            self._console.print(f"{self._done} of {self._total} loads  ({left})", soft_wrap=True)
