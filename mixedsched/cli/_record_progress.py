"""Progress of a recording on standard error: a bar with the time left on a terminal, and a line for each load."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console

from mixedsched.cli._bar import counted_bar, time_left
from mixedsched.cli._console import shown
from mixedsched.errors import MixedschedError
from mixedsched.units import format_bytes
from mixedsched.world.browser.observation import Observation
from mixedsched.world.browser.pageload import FormFactor

_OUTCOMES = {"quiet": "quiet", "limit": "stopped at its time limit", "interrupted": "interrupted"}


class RecordProgress:
    """Shows loads as they come. total: how many are planned."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
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

    def tell(self, number: int, form_factor: FormFactor, came: Observation | MixedschedError | None) -> None:
        """A load begins (None), or is over. number: from 0."""
        if came is None:
            self._bar.update(self._task, description=f"load {number + 1}, {form_factor}", completed=number)
            return
        left = self._time_left(number + 1)
        self._bar.update(self._task, completed=number + 1, left=left)
        result = _failure(came) if isinstance(came, MixedschedError) else _outcome(came)
        rest = "" if self._console.is_terminal or not left else f"  ({left})"
        self._console.print(f"load {number + 1} of {self._total}, {form_factor:7}  {result}{rest}", soft_wrap=True)

    def _time_left(self, done: int) -> str:
        return time_left(time.monotonic() - self._started_s, done, self._total - done)


def _outcome(observation: Observation) -> str:
    page = [request for request in observation.requests if not request.after_scroll]
    size_bytes = sum(request.sent_bytes for request in page)
    later = len(observation.requests) - len(page)
    scrolled = f", {later} more when it was scrolled" if later else ""
    return f"{len(page)} requests, {format_bytes(size_bytes)}, {_OUTCOMES[observation.ended]}{scrolled}"


def _failure(error: MixedschedError) -> str:
    return f"[bold yellow]failed[/]: {shown(error.why or error.what)}"
