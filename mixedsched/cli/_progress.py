"""Progress on standard error: a bar with the time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Self

from rich import progress as rich_progress
from rich.console import Console

from mixedsched.cli._console import err, shown
from mixedsched.lab import underway
from mixedsched.units import format_duration, format_ms

if TYPE_CHECKING:
    from mixedsched.advice.tuner.trials import SearchState
    from mixedsched.lab.model import Run

SILENT_S = 2.0  # work that is done by then needs no progress
LINE_EVERY_S = 10.0
_FORECAST_FROM_SHARE = 0.02  # less work done than that says little about the time left


class Progress:
    """Shows how much of some work is done and how long the rest will take, as a context.

    what: what is under way, such as "making files".
    total: how much there is to do, if that is known from the start.
    unit: what is counted, such as "loads"; without one the share is shown in per cent.
    silent_s: work that takes no longer than this shows nothing.
    lines: without a bar, print a line now and then; not needed where each step has a line of its own.
    quiet: show nothing at all.
    """

    def __init__(
        self,
        what: str,
        total: int | None = None,
        *,
        unit: str = "",
        silent_s: float = SILENT_S,
        lines: bool = True,
        quiet: bool = False,
        console: Console = err,
    ) -> None:
        self.what = what
        self._done = 0
        self.total = total
        self._unit = unit
        self._left_s: float | None = None
        self._silent_s = silent_s
        self._lines = lines and not quiet and not console.is_terminal
        self._console = console
        self._started_s = self._said_s = time.monotonic()
        self._bar = rich_progress.Progress(
            rich_progress.TextColumn("{task.description}"),
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn() if unit else rich_progress.TaskProgressColumn(),
            rich_progress.TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            redirect_stdout=False,  # results belong to standard output, whatever standard error is
            disable=quiet or not console.is_terminal,
        )
        self._task = self._bar.add_task(what, total=total, left="")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.hide()

    def hide(self) -> None:
        """Make room for results on the same terminal; the bar returns with the next call."""
        self._bar.stop()

    def advance(self) -> None:
        """One more is done."""
        self.tell(self._done + 1, self.total)

    def tell(self, done: int, total: int | None, *, what: str = "", left_s: float | None = None) -> None:
        """Report how much is done. what: what is under way, if changed. left_s: time left; by default from the pace so far."""
        self._done, self.total, self._left_s, self.what = done, total, left_s, what or self.what
        underway.tell(self.what, done, total, self._unit, self._seconds_left())  # for those who look from elsewhere
        now_s = time.monotonic()
        if now_s - self._started_s < self._silent_s:
            return
        self._bar.update(self._task, description=shown(self.what), completed=done, total=total, left=self._time_left())
        self._bar.start()
        is_over = done == total  # what follows says so
        if self._lines and not is_over and now_s - self._said_s >= LINE_EVERY_S:
            self.say_state()

    def say(self, text: str) -> None:
        """Print a line above the bar. Without a bar, the time left is put behind it. text: with the console's markup."""
        left = "" if self._console.is_terminal else self._time_left()
        self._console.print(f"{text}  ({left})" if left else text, soft_wrap=True)

    def say_state(self) -> None:
        """Print a line about how much is done."""
        self._said_s = time.monotonic()
        of_total = f" of {self.total}" if self.total else ""
        done = f"{self._done}{of_total} {self._unit}" if self._unit else f"{self._done / (self.total or 1):.0%}"
        self.say(f"{shown(self.what)}: {done}")

    def _time_left(self) -> str:
        """In words; empty if it cannot be said, or nothing is left."""
        left_s = self._seconds_left()
        return "" if left_s is None else f"{format_duration(left_s)} left"

    def _seconds_left(self) -> float | None:
        if self._left_s is not None:
            return max(0.0, self._left_s)
        left = (self.total or 0) - self._done
        if left <= 0 or self._done <= 0 or self._done < (self.total or 0) * _FORECAST_FROM_SHARE:
            return None
        return (time.monotonic() - self._started_s) / self._done * left


def watch_loads(total: int) -> Progress:
    """Shows simulated loads being played."""
    return Progress("playing pages", total, unit="loads")


class RunProgress(Progress):
    """Shows the runs of an experiment, with a line for each (an Observer of the engine).

    total: runs of the plan that are left at the start.
    """

    def __init__(self, total: int) -> None:
        super().__init__("starting", total, unit="runs", silent_s=0, lines=False)
        self._block = ""

    def before(self, arm: str, block: int, warm_up: bool, left: int) -> None:
        self._block = "warm-up" if warm_up else f"block {block}"
        self.tell(self._done, self._done + left, what=f"{self._block}, {arm}")

    def after(self, run: Run, left: int) -> None:
        from mixedsched.lab.model import RunStatus  # here, because work without runs has no use for what it loads

        self.tell(self._done + 1, self._done + 1 + left)
        if run.status is RunStatus.OK:
            result = f"FCP {format_ms(run.metric('fcp_ms'))}, LCP {format_ms(run.metric('lcp_ms'))}"
        else:
            result = f"[bold yellow]{run.status}[/]: {shown(run.reason)}; the block is run again"
        self.say(f"{self._block:9} {shown(f'{run.arm:24}')} {result}")


class SearchProgress(Progress):
    """Shows how a search for a better order goes, with a line at the end of each rung."""

    def __init__(self) -> None:
        super().__init__("searching", unit="candidates", silent_s=0)
        self._rung = ""

    def watch(self, state: SearchState) -> None:
        if state.rung != self._rung:
            self.end_rung()
        self._rung = state.rung
        best = (
            "none"
            if state.best is None
            else f"{state.best.candidate.scheme}, {math.expm1(state.best.score) * 100:+.1f} %"
        )
        left_s = None if state.limit_s is None else state.limit_s - state.seconds
        self.tell(state.tried, state.trials, what=f"rung {state.rung}, best so far {best}", left_s=left_s)

    def end_rung(self) -> None:
        """Say how the last rung ended, and make room for others."""
        self.hide()
        if self._rung:
            self.say_state()
        self._rung = ""
