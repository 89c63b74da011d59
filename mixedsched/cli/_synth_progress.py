"""Progress of a synthesis on standard error, once it takes a few seconds: a bar on a terminal, elsewhere a line at times."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from mixedsched.units import format_bytes, format_duration

_SILENT_S = 2.0  # what is done by then needs no progress
_LINE_EVERY_S = 10.0


class SynthProgress:
    """Shows how much of the bodies is made."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started_s = self._said_s = time.monotonic()
        self._bar = Progress(
            TextColumn("making files"),
            BarColumn(),
            DownloadColumn(),
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

    def tell(self, made_bytes: int, total_bytes: int) -> None:
        now_s = time.monotonic()
        if not made_bytes or now_s - self._started_s < _SILENT_S:
            return
        left = f"{format_duration((now_s - self._started_s) / made_bytes * (total_bytes - made_bytes))} left"
        self._bar.update(self._task, completed=made_bytes, total=total_bytes, left=left)
        self._bar.start()
        if not self._console.is_terminal and now_s - self._said_s >= _LINE_EVERY_S:
            self._said_s = now_s
            self._console.print(f"{format_bytes(made_bytes)} of {format_bytes(total_bytes)}  ({left})", soft_wrap=True)
