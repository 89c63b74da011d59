"""Progress on standard error: nothing of short work, a bar on a terminal, a line now and then elsewhere, the time left."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.console import Console

from mixedsched.advice.tuner.trials import SearchState
from mixedsched.cli import _progress
from mixedsched.cli._progress import Progress, RunProgress, SearchProgress
from mixedsched.lab.model import Run, RunStatus
from tests.report.made_up_runs import BASE_METRICS, MadeUp, made_up_plan
from tests.report.made_up_tuning import TUNED, scored


class Clock:
    """A clock that goes on by hand."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(_progress.time, "monotonic", made)
    return made


def shown(clock: Clock, terminal: bool, *, quiet: bool = False, step_s: float) -> str:
    """The progress of ten loads of so many seconds each."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=terminal, width=100)
    with Progress("playing pages", 10, unit="loads", quiet=quiet, console=console) as progress:
        for _ in range(10):
            clock.now_s += step_s
            progress.advance()
    return screen.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_short_work_shows_no_progress(clock: Clock, terminal: bool) -> None:
    assert shown(clock, terminal, step_s=0.1) == ""


def test_long_work_tells_the_time_left(clock: Clock) -> None:
    assert shown(clock, False, step_s=6).splitlines() == [
        f"playing pages: {done} of 10 loads  ({(10 - done) * 6} s left)" for done in (2, 4, 6, 8)
    ]
    assert "54 s left" in shown(clock, True, step_s=6)


@pytest.mark.parametrize("terminal", [True, False])
def test_machines_are_shown_no_progress(clock: Clock, terminal: bool) -> None:
    assert shown(clock, terminal, quiet=True, step_s=6) == ""


def test_work_without_a_unit_is_shown_in_per_cent(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("making files") as progress:
        clock.now_s += 12
        progress.tell(300, 1200)
    assert capsys.readouterr().err == "making files: 25%  (36 s left)\n"


def run_of(arm: str, **metrics: float) -> Run:
    return MadeUp(made_up_plan(1)).run(arm, {**BASE_METRICS, **metrics})


def test_every_run_has_a_line_with_its_result_or_why_it_is_repeated(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    good = run_of("mixed", fcp_ms=900.0, lcp_ms=2400.0)
    with RunProgress(2) as progress:
        progress.before("mixed", 0, True, 2)
        clock.now_s += 10
        progress.after(good, 1)
        progress.before("[eps]", 1, False, 1)
        clock.now_s += 10
        progress.after(replace(good, arm="[eps]", status=RunStatus.INVALID, reason="[odd]\x1b[2J"), 1)
    assert capsys.readouterr().err.splitlines() == [
        "warm-up   mixed                    FCP 900 ms, LCP 2.40 s  (10 s left)",
        "block 1   [eps]                    invalid: [odd]\\x1b[2J; the block is run again  (10 s left)",
    ]


def test_a_search_tells_how_each_rung_ended(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    best = scored(TUNED, 1950.0, -0.125)
    with SearchProgress() as progress:
        progress.watch(SearchState("pipe", 10, 400, 1.0, 5.0, None))
        clock.now_s += 1
        progress.watch(SearchState("pipe", 400, 400, 2.0, None, best))
        progress.watch(SearchState("stack", 3, 40, 1.0, 31.0, best))
        progress.end_rung()
    assert capsys.readouterr().err.splitlines() == [
        "rung pipe, best so far mixed:alpha=0.3, -11.8 %: 400 of 400 candidates",
        "rung stack, best so far mixed:alpha=0.3, -11.8 %: 3 of 40 candidates  (30 s left)",
    ]
