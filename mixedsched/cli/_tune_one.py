"""`tune` for one page: the job is carried out with progress on standard error, then written and shown."""

import shlex
import sys
import time
from dataclasses import replace

from mixedsched.advice.tuner.job import BROWSER, TuneJob, TuneSurroundings, refuse_small_budget
from mixedsched.advice.tuner.outputs import facts_of, refuse_foreign_folder
from mixedsched.advice.tuner.result import Outcome, Tuning
from mixedsched.advice.tuner.session import carry_out
from mixedsched.cli._console import err, out, say_report, say_stopped, shown
from mixedsched.cli._live import live_facts, live_words_of, say_live
from mixedsched.cli._output import say_json
from mixedsched.cli._progress import Progress, RunProgress, SearchProgress
from mixedsched.cli._results import keep_result
from mixedsched.errors import ExitCode
from mixedsched.lab.machine import machine_facts
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.task import PaintReader
from mixedsched.lab.results import owned
from mixedsched.report.tune import render_tuning, write_tuning
from mixedsched.report.view import ResultKind
from mixedsched.units import format_duration


def tune_one(job: TuneJob, began_s: float, *, as_json: bool) -> ExitCode:
    """Tune one page. Raises MixedschedError for everything that is refused, or cannot be done."""
    refuse_small_budget(job)
    with owned(job.folder):
        refuse_foreign_folder(job.folder)
        if job.rung == BROWSER:
            with Progress("making files") as progress:
                job = replace(job, subject=job.subject.loadable(job.folder, progress.tell))
        tuning = _carried_out(job, began_s)
        report, live = job.folder / ResultKind.TUNE.report, live_words_of(job.subject.site, job.folder)
        facts = {**facts_of(tuning, job.folder), **live_facts(job.subject.site, job.folder), "report": str(report)}
        keep_result(job.folder, ResultKind.TUNE, facts, lambda file: write_tuning(tuning, file, live))
    if as_json:
        say_json(facts)
    else:
        out.print(render_tuning(tuning))
        say_live(job.subject.site, job.folder)
        say_report(report)
    if tuning.outcome is Outcome.INTERRUPTED:
        say_stopped(job.folder)
        return ExitCode.INTERRUPTED
    return ExitCode.INVALID_RUNS if tuning.facts["missing_blocks"] else ExitCode.DONE


def _carried_out(job: TuneJob, began_s: float) -> Tuning:
    """Raises KeyboardInterrupt if it was stopped before anything was known."""
    facts = {"command": shlex.join(["mixedsched", *sys.argv[1:]]), "machine": machine_facts()}
    with Pool(PaintReader) as workers, SearchProgress() as progress:

        def say(text: str) -> None:
            progress.end_rung()
            left_s = job.budget_s - (time.monotonic() - began_s)
            err.print(f"{shown(text)}  ({format_duration(max(0.0, left_s))} left)", style="dim", soft_wrap=True)

        world = TuneSurroundings(
            clock_s=time.monotonic, began_s=began_s, say=say, observe=RunProgress, watch=progress.watch, workers=workers
        )
        try:
            return carry_out(job, world, facts)
        finally:
            progress.end_rung()
