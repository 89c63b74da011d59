"""`compare`: the main job. Loads a page under several schemes in real Chromium, and says which is better and how surely."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from mixedsched.cli._conclusion import comparison_facts, say_comparison
from mixedsched.cli._console import err
from mixedsched.cli._interrupts import end_in_order
from mixedsched.cli._measuring import measure
from mixedsched.cli._options import FormFactorOption, LinkOption, OriginsOption, ResultsOption, Screen
from mixedsched.cli._output import Json, say_json
from mixedsched.cli._runs import REPORT_NAME, conclude, default_folder, owned
from mixedsched.cli._sites import open_site
from mixedsched.core.metrics import metric_named
from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import ExitCode, UsageError
from mixedsched.lab.lab import Scene
from mixedsched.lab.machine import machine_facts
from mixedsched.lab.model import Arm, Plan, Run, RunStatus
from mixedsched.lab.plan import make_plan
from mixedsched.lab.progress import missing_blocks
from mixedsched.model.profile import Profile
from mixedsched.model.scheme import configure, split_specs
from mixedsched.sites.analysis import expected_connections
from mixedsched.sites.serving import served_site
from mixedsched.sites.site import Origins, Site, site_digest
from mixedsched.units import format_duration
from mixedsched.world import catalog
from mixedsched.world.emulator.backends import BackendName

DEFAULT_SCHEMES = "sequential,mixed"
AA_SCHEME = "sequential"
AGAIN = " (again)"  # marks the second arm of a scheme that is compared with itself


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched compare agency --schemes sequential,mixed --link 4g --blocks 8")(compare)


def compare(
    site: Annotated[str, typer.Argument(help="A bundled site, or a folder with an index.html.", metavar="SITE")],
    schemes: Annotated[
        str | None,
        typer.Option(help="Schemes to compare, with parameters; sequential,mixed by default.", metavar="A,B"),
    ] = None,
    link: LinkOption = "4g",
    backend: Annotated[
        BackendName,
        typer.Option(
            help="Who emulates the network: relay needs no privilege and repeats exactly; netns and vm use the kernel's tbf "
            "and netem, in namespaces or inside a router VM.",
        ),
    ] = BackendName.RELAY,
    blocks: Annotated[
        int, typer.Option(help="Paired repeats; 6 decide on one metric of two schemes, 8 on all seven.", min=1)
    ] = 8,
    baseline: Annotated[
        str | None, typer.Option(help="The scheme that others are measured against; the first by default.", metavar="S")
    ] = None,
    mapping: Annotated[
        str | None, typer.Option(help="Mapping table for all schemes that use one.", metavar="M")
    ] = None,
    primary: Annotated[
        str, typer.Option(help="Metrics to decide on; the others are reported as exploratory.", metavar="M,M")
    ] = "lcp",
    form_factor: FormFactorOption = Screen.MOBILE,
    seed: Annotated[int, typer.Option(help="Seed of orders and of link losses.")] = 1,
    origins: OriginsOption = None,
    across_connections: Annotated[
        bool, typer.Option("--across-connections", help="Schedule across the connections of a client.")
    ] = False,
    packet_log: Annotated[
        bool, typer.Option("--packet-log", help="Keep the fate of every packet beside the results; relay only.")
    ] = False,
    aa: Annotated[bool, typer.Option("--aa", help="Self-test: compare one scheme with itself.")] = False,
    folder: ResultsOption = None,
    as_json: Json = False,
) -> None:
    """Compare delivery schemes on a page over a network, in real Chromium, scored by Lighthouse.

    Every run is stored at once, and after an interruption the same command goes on where it stopped.

    With more --blocks it adds to what is there.
    """
    profile = catalog.load_profile(link)
    arms = _arms(schemes, mapping, aa)
    metrics = dict.fromkeys(metric_named(name.strip()).key for name in primary.split(","))
    opened = open_site(site, origins)
    plan = make_plan(
        site=opened.name,
        site_digest=site_digest(opened),
        link=profile.name,
        link_facts=profile.facts(),
        form_factor=form_factor.value,
        arms=arms,
        baseline=baseline or arms[0].label,
        primary=tuple(metrics),
        seed=seed,
        blocks=blocks,
        backend=backend.value,
        across_connections=across_connections,
    )
    if packet_log and backend is not BackendName.RELAY:
        raise UsageError("only the relay logs the fate of packets", fix="leave --packet-log or --backend out")
    folder = folder or default_folder(plan)
    end_in_order()
    with owned(folder):
        try:
            asyncio.run(_carry_out(plan, profile, opened, site, folder, packet_log=packet_log))
        except KeyboardInterrupt:
            err.print(f"stopped; all finished runs are stored in {folder}, the same command goes on")
            raise
        comparison, runs = conclude(folder)
    report = folder / REPORT_NAME
    if as_json:
        say_json(comparison_facts(comparison, runs, report))
    else:
        say_comparison(comparison, runs, report)
    _say_cost(runs)
    if missing_blocks(comparison.plan, runs):
        err.print("[bold yellow]some blocks failed again and again and are missing; the report says why[/]")
        raise typer.Exit(ExitCode.INVALID_RUNS)


def _arms(schemes: str | None, mapping: str | None, aa: bool) -> list[Arm]:
    """The arms to compare, every scheme of them checked. --aa makes two of one."""
    arms = [_arm(spec, mapping) for spec in split_specs(schemes or (AA_SCHEME if aa else DEFAULT_SCHEMES))]
    if not aa:
        return arms
    if len(arms) > 1:
        raise UsageError("--aa compares one scheme with itself", fix="name one scheme only")
    return [arms[0], replace(arms[0], label=arms[0].label + AGAIN)]


def _arm(spec: str, mapping: str | None) -> Arm:
    configured = configure(spec, SCHEMES, catalog.load_mapping, mapping)
    if configured.scheme.default_mapping is None or configured.mapping is None:
        return Arm(spec, spec)
    return Arm(spec, spec, mapping, configured.mapping.digest)


async def _carry_out(
    plan: Plan, profile: Profile, site: Site, site_argument: str, folder: Path, *, packet_log: bool
) -> None:
    scene = Scene(
        served_site(site),
        profile,
        plan.form_factor,
        expected_connections(site),
        backend=plan.backend,
        across_connections=plan.across_connections,
        packet_logs=folder / "packets" if packet_log else None,
    )
    await measure(plan, scene, folder, lambda versions, notes: _facts(site, site_argument, versions, notes))


def _facts(site: Site, site_argument: str, versions: Mapping[str, str], notes: Sequence[str]) -> dict[str, Any]:
    return {
        "site_argument": site_argument,
        "title": site.title or site.name,
        "origins": (Origins.MERGE if site.merged_hosts else Origins.KEEP).value,
        "connections": str(expected_connections(site)),
        "network_notes": list(notes),
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
