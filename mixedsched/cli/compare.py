"""`compare`: the main job. Loads a page under several schemes in real Chromium, and says which is better and how surely."""

from __future__ import annotations

import asyncio
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mixedsched import catalog
from mixedsched.cli._output import Json, err, out, say_json
from mixedsched.cli._progress import RunProgress
from mixedsched.cli._runs import REPORT_NAME, conclude, database_url, own_command, own_versions, owned
from mixedsched.cli._sites import open_site, site_digest
from mixedsched.errors import ExitCode, MixedschedError, UsageError
from mixedsched.experiment.engine import carry_out, stored_runs
from mixedsched.experiment.lab import Lab, Scene, machine_facts
from mixedsched.experiment.model import Arm, Plan, Run, RunStatus
from mixedsched.experiment.plan import WARM_UP_INDEX, make_plan
from mixedsched.experiment.progress import block_state, runs_left
from mixedsched.metrics import metric_named
from mixedsched.profile import Profile
from mixedsched.report import render_table
from mixedsched.schedulers import SCHEMES
from mixedsched.scheme import configure, split_specs
from mixedsched.sites import Site
from mixedsched.store import Store, StoredExperiment
from mixedsched.units import format_duration

AGAIN = " (again)"  # marks the second arm of a scheme that is compared with itself


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched compare agency --schemes sequential,mixed --link 4g --blocks 8")(compare)


def compare(
    site: Annotated[str, typer.Argument(help="A bundled site, or a folder with an index.html.", metavar="SITE")],
    schemes: Annotated[
        str, typer.Option(help="Schemes to compare, with parameters: sequential,mixed:alpha=0.5.", metavar="A,B")
    ] = "sequential,mixed",
    link: Annotated[str, typer.Option(help="Network profile, by name or file.", metavar="L")] = "4g",
    blocks: Annotated[int, typer.Option(help="Paired repeats; 6 can decide on one metric, 8 on all six.", min=1)] = 8,
    baseline: Annotated[
        str | None, typer.Option(help="The scheme that others are measured against; the first by default.", metavar="S")
    ] = None,
    mapping: Annotated[
        str | None, typer.Option(help="Mapping table for all schemes that use one.", metavar="M")
    ] = None,
    primary: Annotated[
        str, typer.Option(help="Metrics to decide on; the others are reported as exploratory.", metavar="M,M")
    ] = "lcp",
    form_factor: Annotated[str, typer.Option(help="mobile or desktop.", metavar="F")] = "mobile",
    seed: Annotated[int, typer.Option(help="Seed of orders and of link losses.")] = 1,
    aa: Annotated[bool, typer.Option("--aa", help="Self-test: compare one scheme with itself.")] = False,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Folder of results; by default one in runs/.", metavar="DIR")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare delivery schemes on a page over a network, in real Chromium, scored by Lighthouse.

    Every run is stored at once. After an interruption the same command goes on where it stopped; with more --blocks it
    adds to what is there.
    """
    profile = catalog.load_profile(link)
    arms = _arms(schemes, mapping, aa)
    if form_factor not in {"mobile", "desktop"}:
        raise UsageError(f"there is no form factor '{form_factor}'", fix="choose mobile or desktop")
    opened = open_site(site)
    plan = make_plan(
        site=opened.name,
        site_digest=site_digest(opened),
        link=profile.name,
        link_facts=profile.facts(),
        form_factor=form_factor,
        arms=arms,
        baseline=baseline or arms[0].label,
        primary=[metric_named(name).key for name in primary.split(",")],
        seed=seed,
        blocks=blocks,
    )
    folder = folder or Path("runs") / f"{opened.name}-{profile.name}-{plan.digest}"
    with owned(folder):
        try:
            runs = asyncio.run(_carry_out(plan, opened, site, profile, folder))
        except KeyboardInterrupt:
            err.print(f"stopped; all finished runs are stored in {folder}, the same command goes on")
            raise
        comparison = conclude(folder)
    report = folder / REPORT_NAME
    if as_json:
        say_json(comparison.to_dict(str(report)))
    else:
        out.print(render_table(comparison))
        out.print(f"report: {report}", soft_wrap=True)
    _say_cost(runs)
    if any(block_state(block, runs).given_up for block in plan.blocks):
        err.print("[bold yellow]some blocks failed again and again and are missing; the report says why[/]")
        raise typer.Exit(ExitCode.INVALID_RUNS)


def _arms(schemes: str, mapping: str | None, aa: bool) -> list[Arm]:
    """The arms to compare, every scheme of them checked. --aa makes two of one."""
    specs = split_specs(schemes)
    arms = []
    for spec in specs:
        configured = configure(spec, SCHEMES, catalog.load_mapping, mapping)
        uses_mapping = configured.scheme.default_mapping is not None
        arms.append(Arm(spec, spec, mapping if uses_mapping else None))
    if aa:
        return [arms[0], Arm(arms[0].label + AGAIN, arms[0].scheme, arms[0].mapping)]
    return arms


async def _carry_out(plan: Plan, site: Site, site_argument: str, profile: Profile, folder: Path) -> list[Run]:
    with Store(database_url(folder)) as store:
        stored = next((item for item in store.experiments()), None)
        plan = _continued(plan, stored, folder)
        if stored is not None and not runs_left(plan, stored_runs(store, plan.digest)):
            store.save_plan(plan.digest, plan.to_dict(), stored.facts)
            return stored_runs(store, plan.digest)
        scene = Scene(site_argument, site.url, site.hosts, profile, plan.form_factor)
        async with Lab(scene, plan.arms) as lab:
            versions = {**own_versions(), **await lab.versions()}
            _refuse_other_versions(stored, versions, folder)
            store.save_plan(plan.digest, plan.to_dict(), _facts(site, versions))
            with RunProgress(err, runs_left(plan, stored_runs(store, plan.digest))) as progress:
                await carry_out(plan, store, _Guarded(lab), progress)
        return stored_runs(store, plan.digest)


class _Guarded:
    """A lab that gives up early: a page that cannot be loaded at all needs no three tries of every block."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._warm_up_failures = 0

    async def run(self, *, arm: str, block: int, attempt: int, position: int, link_seed: int) -> Run:
        run = await self._lab.run(arm=arm, block=block, attempt=attempt, position=position, link_seed=link_seed)
        if block == WARM_UP_INDEX and run.status is not RunStatus.OK:
            self._warm_up_failures += 1
            if self._warm_up_failures == 2:
                raise MixedschedError(
                    "the page cannot be loaded", why=run.reason, fix="`mixedsched doctor` finds what is missing here"
                )
        return run


def _continued(plan: Plan, stored: StoredExperiment | None, folder: Path) -> Plan:
    """The plan to carry out: a longer one of the same experiment that is stored already stays as it is."""
    if stored is None:
        return plan
    if stored.digest != plan.digest:
        raise UsageError(f"{folder} holds another experiment", fix="choose another folder with --out")
    earlier = Plan.from_dict(stored.plan)
    return earlier if len(earlier.blocks) > len(plan.blocks) else plan


def _refuse_other_versions(stored: StoredExperiment | None, versions: Mapping[str, str], folder: Path) -> None:
    """Runs of different programs must not be mixed."""
    before = stored.facts["versions"] if stored is not None else versions
    changed = [f"{name} {before[name]} -> {now}" for name, now in versions.items() if before.get(name) != now]
    if changed:
        raise UsageError(
            f"{folder} was begun with other versions",
            why=", ".join(changed),
            fix="start anew with another --out, or bring the old versions back",
        )


def _facts(site: Site, versions: Mapping[str, str]) -> dict[str, Any]:
    return {
        "command": own_command(),
        "title": site.title or site.name,
        "licence": site.licence,
        "machine": machine_facts(),
        "versions": dict(versions),
    }


def _say_cost(runs: Sequence[Run]) -> None:
    """What a run costs beyond the page's own load time."""
    ok = [run for run in runs if run.status is RunStatus.OK]
    if not ok:
        return
    costs = [run.cost_s for run in ok]
    beyond = [run.cost_s - float(run.page_load.get("observed", {}).get("load_ms") or 0) / 1000 for run in ok]
    err.print(
        f"cost of a run: {statistics.median(costs):.1f} s, of which {statistics.median(beyond):.1f} s beyond the page's load; "
        f"all {len(runs)} runs: {format_duration(sum(run.cost_s for run in runs))}",
        style="dim",
        soft_wrap=True,
    )
    sys.stderr.flush()
