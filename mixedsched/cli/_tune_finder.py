"""`tune` over several sites or networks with `--schemes`: which scheme where, and the regret of one scheme everywhere.

Loads are simulated on all cores, and stored as soon as they are done; the same command goes on where an earlier one ended.
"""

from __future__ import annotations

import hashlib
import json
import random
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.finder import RESAMPLES, Finding, Loads, find
from mixedsched.advice.tuner.finder_facts import finding_facts
from mixedsched.advice.tuner.play import Rung, Task
from mixedsched.advice.tuner.result import Estimates
from mixedsched.advice.tuner.scene import SEEDS, Scene, is_random
from mixedsched.cli._console import err, out, shown
from mixedsched.cli._finder_loads import Job, played, scene_code
from mixedsched.cli._output import say_json
from mixedsched.cli._progress import Progress
from mixedsched.cli._runs import database_url, own_versions, owned
from mixedsched.cli._tune_workers import tune_workers
from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import ExitCode, MixedschedError, UsageError
from mixedsched.lab.machine import machine_facts
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.page import Page
from mixedsched.model.profile import Profile
from mixedsched.report.finder import render_finding, write_finding
from mixedsched.sites.pages import read_pages
from mixedsched.units import format_duration
from mixedsched.world.store import Store

REPORT_NAME, FACTS_NAME = "finder.html", "finder.json"


@dataclass(frozen=True, slots=True)
class FinderOptions:
    """budget_s: None for as long as it takes. seeds: of networks on which loads differ. seed: the first. folder: of results;
    None for one in runs/."""

    budget_s: float | None = None
    folder: Path | None = None
    rung: Rung = "stack"
    seeds: int = SEEDS
    seed: int = 1
    model: BrowserModel = IDEAL
    as_json: bool = False


def named_pages(names: Sequence[str]) -> dict[str, Page]:
    """The pages of sites, page files and folders of these, by the name that results have for them. Raises InputError."""
    pages: dict[str, Page] = {}
    for name in names:
        found = read_pages([name])
        for page in found:
            label = name if len(found) == 1 and not Path(name).exists() else page.name
            if label in pages and pages[label] == page:
                raise UsageError(f"the page '{label}' is named twice", fix="name it once")
            while label in pages:
                label += "'"
            pages[label] = page
    return pages


def find_schemes(
    sites: Sequence[str],
    networks: Sequence[Profile],
    schemes: Sequence[str],
    objective: Mapping[str, float],
    options: FinderOptions,
) -> ExitCode:
    """Play every site on every network under every scheme, and say who wins where and what one scheme everywhere costs.

    sites: as `read_pages` takes them. schemes: specs, already checked. objective: weights by metric key. Writes finder.html
    and finder.json to the folder. INVALID_RUNS if a load never ended, INTERRUPTED after Ctrl-C. Raises MixedschedError.
    """
    began_s = time.monotonic()
    job = _job(sites, networks, schemes, options)
    folder = options.folder or Path("runs") / f"finder-{_digest(job)}"
    with owned(folder):
        loads, stopped = _played(job, folder, options, began_s)
        finding = find(loads, objective, _random(networks, options.rung), random.Random(options.seed))
        if not finding.places:
            if stopped:
                raise KeyboardInterrupt
            raise MixedschedError(
                "the time was too little for a single place",
                why=f"{sum(len(results) for results in loads.values())} of {len(job.tasks)} loads are done, and stored",
                fix="the same command with a larger --budget goes on; or name fewer sites or schemes",
            )
        if not any(place.winner for place in finding.places):
            raise MixedschedError(
                "no load came to its end", why="the network never lets one end", fix="choose another --link"
            )
        notes = [*_notes(finding, job, options), *(["Stopped early; the same command goes on."] if stopped else [])]
        _tell(finding, notes, folder, options, began_s)
    if stopped:
        return ExitCode.INTERRUPTED
    return ExitCode.INVALID_RUNS if any(item.failed_loads for item in finding.regrets) else ExitCode.DONE


def _job(sites: Sequence[str], networks: Sequence[Profile], schemes: Sequence[str], options: FinderOptions) -> Job:
    """All loads, first seeds first, so that a short time costs seeds before it costs sites."""
    pages = named_pages(sites)
    if not pages:
        raise UsageError("no site is named", fix="name one or more")
    names = [(site, network.name) for site in pages for network in networks]
    scenes = tuple(Scene(page, network, model=options.model) for page in pages.values() for network in networks)
    candidates = [_candidate(spec) for spec in schemes]
    tasks = [
        Task(place, candidate, options.rung, options.seed + number)
        for number in range(options.seeds)
        for place, scene in enumerate(scenes)
        if number == 0 or scene.network.name in _random(networks, options.rung)
        for candidate in candidates
    ]
    return Job(tuple(names), scenes, tuple(tasks))


def _candidate(spec: str) -> Candidate:
    """The scheme as it is registered, with its own published table."""
    return Candidate(spec, published=SCHEMES[spec.partition(":")[0]].default_mapping)


def _digest(job: Job) -> str:
    """Names the job, for its folder."""
    facts = [job.names, [scene_code(scene) for scene in job.scenes], [str(task) for task in job.tasks], own_versions()]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:8]


def _random(networks: Sequence[Profile], rung: Rung) -> list[str]:
    """Those on which loads differ by seed; on rung pipe nothing does."""
    return [network.name for network in networks if rung == "stack" and is_random(network)]


def _played(job: Job, folder: Path, options: FinderOptions, began_s: float) -> tuple[Loads, bool]:
    """What the loads came to, as far as the time allowed, and whether someone stopped it."""
    ends_s = began_s + options.budget_s if options.budget_s is not None else None
    results: dict[Task, Estimates | None] = {}
    stopped = False
    facts = {**own_versions(), "model": options.model.name}
    with Store(database_url(folder)) as store, tune_workers() as workers:
        found = played(job, store, facts, workers, lambda: _is_over(ends_s))
        try:
            with Progress("playing pages", len(job.tasks), unit="loads") as progress:
                for task, result in found:
                    results[task] = result
                    progress.advance()
        except KeyboardInterrupt:
            stopped = True
            err.print(f"stopped; all finished loads are stored in {shown(str(folder))}, the same command goes on")
    return _by_place(job, results), stopped


def _is_over(ends_s: float | None) -> bool:
    return ends_s is not None and time.monotonic() >= ends_s


def _by_place(job: Job, results: Mapping[Task, Estimates | None]) -> Loads:
    """By (site, network, scheme), in the order of the job; the seeds of each without a gap."""
    loads: dict[tuple[str, str, str], list[Estimates | None]] = {}
    broken = set()  # only asked whether something is in it
    for task in job.tasks:
        key = (*job.names[task.scene], task.candidate.scheme)
        own = loads.setdefault(key, [])
        if task not in results:
            broken.add(key)
        elif key not in broken:
            own.append(results[task])
    return loads


def _notes(finding: Finding, job: Job, options: FinderOptions) -> Iterator[str]:
    """What the time did not allow, and how it was played if not as usual."""
    planned: dict[tuple[str, str], dict[int, None]] = {}
    for task in job.tasks:
        planned.setdefault(job.names[task.scene], {})[task.seed] = None
    short = [place for place in finding.places if place.seeds < len(planned[place.site, place.network])]
    if short:
        fewest = min(place.seeds for place in short)
        yield (
            f"Time was short: {len(short)} of {len(job.names)} places have fewer seeds than the {options.seeds} planned, "
            f"{fewest} at least. The same command with a larger --budget goes on."
        )
    if finding.left_out:
        named = ", ".join(f"{site} over {network}" for site, network in finding.left_out[:5])
        more = f" and {len(finding.left_out) - 5} more" if len(finding.left_out) > 5 else ""
        yield f"Left out, as the time did not allow even one load under every scheme: {named}{more}."
    if any(not place.is_sure for place in finding.places):
        yield "Places marked with ? have a single seed of a random network: what ties there is not known."
    if options.rung == "pipe":
        yield "Played on rung pipe: an ideal link without loss, so networks differ in rate and round trip alone."
    if finding.best_mean is not None and finding.best_mean.share is None and len(finding.places) > 1:
        yield f"{len(finding.sites)} sites are too few to say how far the answer would hold for others."


def _tell(finding: Finding, notes: Sequence[str], folder: Path, options: FinderOptions, began_s: float) -> None:
    report = folder / REPORT_NAME
    spent_s = time.monotonic() - began_s
    played_as = {
        "rung": options.rung,
        "first_seed": options.seed,
        "seeds_of_random_networks": options.seeds if options.rung == "stack" else 1,
        "browser_model": options.model.name,
        "resamples_of_sites": RESAMPLES,
        "spent_s": round(spent_s, 1),
    }
    facts = {
        "command": shlex.join(["mixedsched", *sys.argv[1:]]),
        "played": played_as,
        "versions": own_versions(),
        "machine": machine_facts(),
    }
    for_machines = {**finding_facts(finding, notes), **facts, "report": str(report)}
    try:
        (folder / FACTS_NAME).write_text(json.dumps(for_machines, indent=1, allow_nan=False), encoding="utf-8")
        write_finding(finding, notes, facts, report)
    except OSError as error:
        raise MixedschedError(f"cannot write to {folder}", why=error.strerror or "") from error
    if options.as_json:
        say_json(for_machines)
        return
    out.print(render_finding(finding, notes))
    out.print(f"{format_duration(spent_s)}; report: {shown(str(report))}", soft_wrap=True)
