"""`tune` over several sites or networks with `--schemes`: which scheme where, and the regret of one scheme everywhere.

Loads are simulated on all cores, and stored as soon as they are done; the same command continues where an earlier one ended.
"""

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mixedsched.advice.finder.job import FinderJob, carry_out
from mixedsched.advice.finder.result import FinderResult
from mixedsched.advice.tuner.job import BROWSER, PIPE
from mixedsched.advice.tuner.objective import Objective
from mixedsched.cli._console import out, say_remark, say_report, say_step, say_stopped
from mixedsched.cli._output import say_json
from mixedsched.cli._results import keep_result
from mixedsched.cli._study import StudyProgress
from mixedsched.core.sim.load import Rung
from mixedsched.core.stats import RESAMPLES
from mixedsched.errors import ExitCode, UsageError
from mixedsched.lab.machine import ADVICE_CODE, machine_facts, own_versions
from mixedsched.lab.results import folder_of, owned
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.report.finder import render_finding, write_finding
from mixedsched.report.view import ResultKind
from mixedsched.sites.pages import read_pages
from mixedsched.units import format_duration


def named_pages(names: Sequence[str]) -> dict[str, Page]:
    """The pages of sites, page files and folders of these, by the name that results have for them. Raises InputError."""
    pages: dict[str, Page] = {}
    for name in names:
        found = read_pages([name], say_step)
        for page in found:
            label = name if len(found) == 1 and not Path(name).exists() else page.name
            if label in pages and pages[label] == page:
                raise UsageError(f"the page '{label}' is named twice", fix="name it once")
            while label in pages:
                label += "'"
            pages[label] = page
    if not pages:
        raise UsageError("no site is named", fix="name one or more")
    return pages


def finder_job(
    names: Sequence[str],
    networks: tuple[Profile, ...],
    schemes: tuple[str, ...],
    objective: Objective,
    rung: str | None,
    seed: int,
    model: BrowserModel,
) -> FinderJob:
    """Which scheme for these pages and networks. rung: of simulation; None for the stack. Raises UsageError, InputError."""
    if rung == BROWSER:
        raise UsageError(
            "several places are only simulated",
            why="to load every site under every scheme in a browser takes days",
            fix="leave --rung out, and prove the result for the sites that matter with `compare`",
        )
    played_on: Rung = "pipe" if rung == PIPE else "stack"
    pages = named_pages(names)
    return FinderJob(pages, networks, schemes, objective.weights, played_on, first_seed=seed, model=model)


def find_schemes(job: FinderJob, budget_s: float | None, folder: Path | None, *, as_json: bool) -> ExitCode:
    """Play the job, and write finder.html and finder.json to the folder, by default one in runs/.

    budget_s: None for as long as it takes. INVALID_RUNS if a load never ended, INTERRUPTED after Ctrl-C. Raises
    MixedschedError.
    """
    began_s = time.monotonic()
    folder = folder or folder_of("finder", job.digest, own_versions(ADVICE_CODE))
    with owned(folder):
        with StudyProgress(is_simulated=True) as progress:
            result, notes, stopped = carry_out(
                job, folder, lambda: not _is_over(budget_s, began_s), progress, say_remark
            )
        if stopped:
            say_stopped(folder)
        _tell(result, notes, job, folder, time.monotonic() - began_s, as_json=as_json)
    if stopped:
        return ExitCode.INTERRUPTED
    return ExitCode.INVALID_RUNS if any(item.failed_loads for item in result.regrets) else ExitCode.DONE


def _is_over(budget_s: float | None, began_s: float) -> bool:
    return budget_s is not None and time.monotonic() - began_s >= budget_s


def _tell(
    result: FinderResult, notes: Sequence[str], job: FinderJob, folder: Path, spent_s: float, *, as_json: bool
) -> None:
    report = folder / ResultKind.FINDER.report
    facts = {
        "command": shlex.join(["mixedsched", *sys.argv[1:]]),
        "played": {
            "rung": job.rung,
            "first_seed": job.first_seed,
            "seeds_of_random_networks": job.seeds if job.rung == "stack" else 1,
            "browser_model": job.model.name,
            "resamples_of_sites": RESAMPLES,
            "spent_s": round(spent_s, 1),
        },
        "versions": own_versions(ADVICE_CODE),
        "machine": machine_facts(),
    }
    for_machines = {**result.to_dict(notes), **facts, "report": str(report)}
    keep_result(folder, ResultKind.FINDER, for_machines, lambda file: write_finding(result, notes, facts, file))
    if as_json:
        say_json(for_machines)
        return
    out.print(render_finding(result, notes))
    say_report(report, f"{format_duration(spent_s)}; ")
