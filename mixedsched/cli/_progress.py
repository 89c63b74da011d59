"""Progress of an experiment on standard error: a bar with the time left on a terminal, a line per run elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape

from mixedsched.cli._bar import counted_bar, time_left
from mixedsched.lab.model import Run, RunStatus
from mixedsched.lab.plan import WARM_UP_INDEX
from mixedsched.units import format_ms


class RunProgress:
    """Shows an experiment's runs as they come. total: runs of the plan that are left at the start."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._done = 0
        self._started_s = time.monotonic()
        self._bar = counted_bar(console)
        self._task = self._bar.add_task("starting", total=total, left="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def before(self, arm: str, block: int, warm_up: bool, left: int) -> None:
        name = "warm-up" if warm_up else f"block {block}"
        self._bar.update(
            self._task, description=f"{name}, {escape(arm)}", total=self._done + left, left=self._time_left(left)
        )

    def after(self, run: Run, left: int) -> None:
        self._done += 1
        self._bar.update(self._task, completed=self._done, total=self._done + left, left=self._time_left(left))
        name = "warm-up" if run.block == WARM_UP_INDEX else f"block {run.block}"
        if run.status is RunStatus.OK:
            result = f"FCP {format_ms(run.metric('fcp_ms'))}, LCP {format_ms(run.metric('lcp_ms'))}"
        else:
            result = f"[bold yellow]{run.status}[/]: {escape(run.reason)}; the block is run again"
        rest = "" if self._console.is_terminal or not left else f"  ({self._time_left(left)})"
        self._console.print(f"{name:9} {escape(run.arm):24} {result}{rest}", soft_wrap=True)

    def _time_left(self, left: int) -> str:
        return time_left(time.monotonic() - self._started_s, self._done, left)
