"""`tune` for one page: what is refused before any work, the session, and what is written and said at its end."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mixedsched.advice.tuner.budget import least_budget_s
from mixedsched.advice.tuner.decisions import DECISIONS_NAME
from mixedsched.advice.tuner.job import BROWSER, TuneJob, TuneSurroundings
from mixedsched.advice.tuner.objective import Objective
from mixedsched.advice.tuner.result import Outcome, Role, Tuning
from mixedsched.advice.tuner.scoring import BASELINES
from mixedsched.advice.tuner.session import Session
from mixedsched.advice.tuner.ship.files import MAPPING_NAME, Shipment, write_ship
from mixedsched.advice.tuner.ship.headers import HeaderPlan
from mixedsched.cli._console import err, out, shown
from mixedsched.cli._output import say_json
from mixedsched.cli._progress import RunProgress, SearchProgress
from mixedsched.cli._tune_page import Subject, as_site, subject_of
from mixedsched.errors import ExitCode, MixedschedError, UsageError
from mixedsched.lab.machine import ADVICE_CODE, machine_facts, own_versions
from mixedsched.lab.play.pool import Pool, playing_costs
from mixedsched.lab.play.scenario import SEEDS, Scenario
from mixedsched.lab.play.task import NamedScheme, PaintReader
from mixedsched.lab.results import folder_of, owned
from mixedsched.model.browser_model import BrowserModel
from mixedsched.model.profile import Profile
from mixedsched.report.tune import render_tuning, write_tuning
from mixedsched.sites.site import Origins
from mixedsched.units import format_duration

REPORT_NAME, FACTS_NAME, SHIP_NAME = "tune.html", "tune.json", "ship"
LOAD_OVERHEAD_S = 8.0  # of a load in the browser beyond the load itself; see docs/measuring.md
PLAYED_LEAST = 16  # candidates on rung stack, below which a search is none
SIMULATED_LEAST_S = 10.0  # what starting, processes and the report take by themselves where no browser is asked


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command, read and checked one by one."""

    site: str
    networks: tuple[Profile, ...]
    objective: Objective
    schemes: tuple[str, ...]
    rung: str
    form_factor: str
    origins: Origins | None
    budget_s: float
    seed: int
    penalty: float
    model: BrowserModel
    candidates: int | None
    folder: Path | None
    as_json: bool


def tune_one(request: Request, began_s: float) -> ExitCode:
    """Tune one page. Raises MixedschedError for everything that is refused, or cannot be done."""
    subject = subject_of(request.site, request.origins)
    _refuse_small_budget(request, subject)
    job = _job(request, subject)
    with owned(job.folder):
        _refuse_foreign(job.folder)
        if job.rung == BROWSER:
            site, digest = as_site(subject, job.folder)
            job = replace(job, site=site, page=site.page, digest_of_contents=digest)
        tuning, session = _carried_out(job, began_s)
        tuning = _shipped(tuning, session, job)
        facts = _told(tuning, job.folder)
        _write(tuning, facts, job.folder)
    if request.as_json:
        say_json(facts)
    else:
        out.print(render_tuning(tuning))
        out.print(f"report: {shown(str(job.folder / REPORT_NAME))}", soft_wrap=True)
    if tuning.outcome is Outcome.INTERRUPTED:
        err.print(f"stopped; all finished loads are stored in {shown(str(job.folder))}, the same command goes on")
        return ExitCode.INTERRUPTED
    return ExitCode.INVALID_RUNS if tuning.facts["missing_blocks"] else ExitCode.DONE


def _job(request: Request, subject: Subject) -> TuneJob:
    job = TuneJob(
        name=subject.name,
        title=subject.title,
        page=subject.page,
        site=subject.site,
        digest_of_contents=subject.digest,
        networks=request.networks,
        objective=request.objective,
        schemes=request.schemes,
        rung=request.rung,
        form_factor=request.form_factor,
        budget_s=request.budget_s,
        seed=request.seed,
        penalty=request.penalty,
        model=request.model,
        folder=request.folder or Path(),
        versions=own_versions(ADVICE_CODE),
        candidates=request.candidates,
    )
    if request.folder is not None:
        return job
    return replace(job, folder=folder_of(f"tune-{job.name}", job.digest, job.versions))


def _refuse_small_budget(request: Request, subject: Subject) -> None:
    """Raises UsageError before any work, if there is no time for one block, or a search. How long a load takes is simulated.

    Raises PageLoadError where a network never lets one end.
    """
    load_s, screening_s = playing_costs(
        [Scenario(subject.page, network, is_varied=request.rung == BROWSER) for network in request.networks],
        NamedScheme("eps"),
        request.seed,
        lambda scenario: PLAYED_LEAST * len(scenario.seeds_of(range(SEEDS))),
    )
    least_s = (
        least_budget_s(load_s, LOAD_OVERHEAD_S, screening_s)
        if request.rung == BROWSER
        else max(SIMULATED_LEAST_S, screening_s)
    )
    if request.budget_s < least_s:
        what = (
            "to look at the page, search, and measure a single block"
            if request.rung == BROWSER
            else "a search of any use"
        )
        raise UsageError(
            f"{format_duration(request.budget_s)} are too little for {subject.name} on {', '.join(load_s)}",
            why=f"{what} takes about {format_duration(least_s)}",
            fix=f"give --budget {int(least_s // 60) + 1}m at least"
            + ("; a sure answer takes five to ten times as long" if request.rung == BROWSER else ""),
        )


def _refuse_foreign(folder: Path) -> None:
    """Raises UsageError where a folder of results would be written that we did not make: old files in it are taken away."""
    if (folder / SHIP_NAME).exists() and not (folder / DECISIONS_NAME).exists():
        raise UsageError(
            f"{folder} holds a '{SHIP_NAME}' that is of no tuning",
            why="what is found would be written in its place",
            fix="choose another folder with --out",
        )


def _carried_out(job: TuneJob, began_s: float) -> tuple[Tuning, Session]:
    """The session to its end, or as far as it was let. Raises KeyboardInterrupt if nothing is known by then."""
    with Pool(PaintReader) as workers, SearchProgress() as progress:

        def say(text: str) -> None:
            progress.end_rung()
            left_s = job.budget_s - (time.monotonic() - began_s)
            err.print(f"{shown(text)}  ({format_duration(max(0.0, left_s))} left)", style="dim", soft_wrap=True)

        world = TuneSurroundings(
            clock_s=time.monotonic,
            began_s=began_s,
            say=say,
            observe=RunProgress,
            watch=progress.watch,
            workers=workers,
        )
        with Session(job, world) as session:
            interrupted = False
            try:
                asyncio.run(session.run())
            except KeyboardInterrupt:
                interrupted = True
            progress.end_rung()
            return session.result(_facts(job), interrupted=interrupted), session


def _facts(job: TuneJob) -> dict[str, Any]:
    return {
        "command": shlex.join(["mixedsched", *sys.argv[1:]]),
        "machine": machine_facts(),
        "versions": dict(job.versions),
        "browser_model": {"name": job.model.name, "source": job.model.source},
        "schemes": list(job.schemes),
        "penalty": job.penalty,
        "seeds": {phase: job.seed_of(phase) for phase in ("look", "race", "proof")},
    }


def _shipped(tuning: Tuning, session: Session, job: TuneJob) -> Tuning:
    """Write what is to be shipped, if it is; or the best so far, if the session was stopped. Whatever is not confirmed is not
    shipped, and what an earlier start has left is taken away."""
    folder = job.folder / SHIP_NAME
    known = session.known
    is_kept = tuning.shipped or tuning.outcome is Outcome.INTERRUPTED
    if tuning.winner is None or not is_kept:
        _take_away(folder)
        return tuning
    shipment = Shipment(
        page=known.page,
        candidate=tuning.winner.candidate,
        plan=_plan_to_ship(tuning, known.header_plan),
        html=tuning.html,
        hosts=job.site.hosts if job.site is not None else (),
        document=known.view.document if known.view is not None else None,
        evidence=_evidence(tuning),
    )
    return replace(tuning, files=tuple(f"{SHIP_NAME}/{name}" for name in write_ship(folder, shipment)))


def _plan_to_ship(tuning: Tuning, plan: HeaderPlan) -> HeaderPlan:
    """Without its rules if loads spoke against them, and with the reason."""
    why = tuning.withheld.get(Role.HEADERS)
    return plan if why is None else HeaderPlan((), (), (*plan.lost, why))


def _told(tuning: Tuning, folder: Path) -> dict[str, Any]:
    """For machines: the tuning, where its files are, and under `use` the scheme and mapping that are recommended, as options
    of `simulate` and `serve` take them (no mapping: the scheme's own)."""
    told = tuning.to_dict()
    file = next((name for name in tuning.files if name == f"{SHIP_NAME}/{MAPPING_NAME}"), None)
    if told["tuned"] is not None:
        told["tuned"]["mapping_file"] = str(folder / file) if file is not None else None
    if tuning.shipped and tuning.winner is not None:
        scheme, published = tuning.winner.candidate.scheme, tuning.winner.candidate.published
        mapping = str(folder / file) if file is not None else published
    else:
        kept = BASELINES[tuning.best_baseline]
        scheme, mapping = kept.scheme, kept.published
    return {**told, "use": {"scheme": scheme, "mapping": mapping}, "report": str(folder / REPORT_NAME)}


def _take_away(folder: Path) -> None:
    """Files that an earlier start has written; they were made by us."""
    if folder.is_dir():
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()


def _evidence(tuning: Tuning) -> Mapping[str, Any]:
    """What the mapping's file says of where it comes from."""
    effects = [
        {
            "link": item.name,
            "metric": effect.metric.key,
            "against": effect.baseline,
            "change_pct": round(effect.change, 2),
            "low_pct": round(effect.low, 2),
            "high_pct": round(effect.high, 2),
            "blocks": effect.blocks,
            "verdict": effect.verdict.value,
        }
        for item in tuning.networks
        for effect in item.effects[:1]
        if effect.change is not None and effect.low is not None and effect.high is not None
    ]
    assert tuning.winner is not None, "a mapping is the winner's"
    return {
        "site": tuning.site,
        "links": [item.name for item in tuning.networks],
        "scheme": tuning.winner.candidate.scheme,
        "objective": dict(tuning.objective),
        "form_factor": tuning.form_factor,
        "outcome": tuning.outcome.value,
        "reason": tuning.reason,
        "seed": tuning.seed,
        "versions": dict(tuning.facts["versions"]),
        **({"effects": effects} if effects else {}),
    }


def _write(tuning: Tuning, facts: Mapping[str, Any], folder: Path) -> None:
    try:
        (folder / FACTS_NAME).write_text(json.dumps(facts, indent=1, allow_nan=False), encoding="utf-8")
        write_tuning(tuning, folder / REPORT_NAME)
    except OSError as error:
        raise MixedschedError(f"cannot write to {folder}", why=error.strerror or "") from error
