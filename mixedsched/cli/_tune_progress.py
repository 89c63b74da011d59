"""Progress of a search on standard error: what is tried, the best so far, the time left."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape

from mixedsched.advice.tuner.objective import Objective
from mixedsched.advice.tuner.search import Progress
from mixedsched.cli._bar import counted_bar
from mixedsched.units import format_duration

LINE_EVERY_S = 10.0


class SearchProgress:
    """Shows how a search goes: a bar on a terminal, elsewhere a line at times, and one at the end of each rung."""

    def __init__(self, console: Console, objective: Objective) -> None:
        self._console = console
        self._objective = objective
        self._bar = counted_bar(console)
        self._task = self._bar.add_task("searching", total=None, left="")
        self._said_s = time.monotonic()
        self._last: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Say where the last rung ended, and make room for others."""
        self._bar.stop()
        if self._last is not None:
            self._say(self._last)
        self._last = None

    def tell(self, progress: Progress) -> None:
        """How it goes now."""
        if self._last is not None and self._last.rung != progress.rung:
            self._say(self._last)
        self._last = progress
        self._bar.start()
        self._bar.update(
            self._task,
            description=f"rung {progress.rung}, best {self._best(progress)}",
            completed=progress.tried,
            total=progress.trials,
            left=_left(progress),
        )
        if not self._console.is_terminal and time.monotonic() - self._said_s >= LINE_EVERY_S:
            self._say(progress)

    def _say(self, progress: Progress) -> None:
        self._said_s = time.monotonic()
        left = _left(progress)
        self._console.print(
            f"rung {progress.rung}: {progress.tried} candidates tried, best so far {self._best(progress)}"
            + (f"  ({left})" if left else ""),
            soft_wrap=True,
        )

    def _best(self, progress: Progress) -> str:
        if progress.best is None:
            return "none"
        return f"{escape(progress.best.candidate.scheme)}, {progress.best.score * 100:+.1f} %"


def _left(progress: Progress) -> str:
    if progress.limit_s is None:
        return ""
    return f"{format_duration(max(0.0, progress.limit_s - progress.seconds))} left"
