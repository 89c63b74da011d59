"""`audit`: tells the owner of a small site whether its delivery is good, what arrives too late, and what would surely help."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mixedsched.advice.audit.result import Audit, audit_facts
from mixedsched.advice.audit.session import (
    FOLLOWS_PRIORITIES,
    AuditJob,
    AuditSurroundings,
    refuse_small_budget,
    run_audit,
)
from mixedsched.advice.changes.servers import web_server
from mixedsched.cli._audit_server import baseline_named, server_of
from mixedsched.cli._console import out, say_report, say_step, say_stopped
from mixedsched.cli._interrupts import end_in_order
from mixedsched.cli._live import (
    LiveCaOption,
    LiveInsecureOption,
    LiveOption,
    live_facts,
    live_options,
    live_words_of,
    open_live,
    say_live,
)
from mixedsched.cli._options import (
    SITE_HELP,
    BrowserOption,
    BudgetOption,
    FetchOption,
    FormFactorOption,
    FreshOption,
    OriginsOption,
    ResultsOption,
    Screen,
    networks_named,
)
from mixedsched.cli._output import Json, say_json
from mixedsched.cli._progress import RunProgress, watch_loads
from mixedsched.cli._results import keep_result
from mixedsched.cli._sites import located, open_site
from mixedsched.lab.machine import ADVICE_CODE, own_versions
from mixedsched.lab.model import Arm
from mixedsched.lab.plan import refuse_servers
from mixedsched.lab.play.scenario import JUDGE_MODEL
from mixedsched.lab.play.stored import PlayedLoads
from mixedsched.lab.play.task import PaintReader
from mixedsched.lab.results import folder_of, owned
from mixedsched.report.audit import render_audit, write_audit
from mixedsched.report.view import ResultKind
from mixedsched.sites.site import site_digest
from mixedsched.units import parse_duration_s
from mixedsched.world import catalog
from mixedsched.world.browser.kinds import Browser

DEFAULT_NETWORKS = "4g,slow-4g"


def register(app: typer.Typer) -> None:
    app.command(
        epilog="Examples: mixedsched audit https://example.org --networks 4g,slow-4g --budget 10m --baseline stock\n\n"
        "mixedsched audit agency --server caddy"
    )(audit)


def audit(
    site: Annotated[str, typer.Argument(help=SITE_HELP, metavar="SITE")],
    networks: Annotated[
        str, typer.Option(help="Network profiles, by name or file; one to four.", metavar="L,L")
    ] = DEFAULT_NETWORKS,
    budget: BudgetOption = "10m",
    baseline: Annotated[
        str | None,
        typer.Option(
            help="What your server does today: eps follows the priorities that browsers signal (RFC 9218), stock sends all "
            "responses in turns, sequential one after the other; none is the same as eps. @NAME is a real server, such as "
            "@caddy (`mixedsched servers` lists them). By default eps, or the model of --server.",
            metavar="S",
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            help="Your web server, which stays as it is: nginx, caddy, apache, h2o, litespeed, cloudflare or other. Only what "
            "takes effect there is searched and measured, with lines to paste. Without it, lines are for the server that a "
            "recorded site names.",
            metavar="NAME",
        ),
    ] = None,
    form_factor: FormFactorOption = Screen.MOBILE,
    browser: BrowserOption = Browser.CHROMIUM,
    origins: OriginsOption = None,
    seed: Annotated[int, typer.Option(help="Seed for the order of runs, link losses and simulations.")] = 1,
    live: LiveOption = False,
    origin_ca: LiveCaOption = None,
    origin_insecure: LiveInsecureOption = False,
    fresh: FreshOption = False,
    fetch: FetchOption = False,
    folder: ResultsOption = None,
    as_json: Json = False,
) -> None:
    """Say whether a page's delivery is good, which resources arrive too late and why, and what to change.

    Loads the page as it is today in a real browser, looks for changes that help in simulation, and measures the best of them
    against today's page in paired loads. Every load is stored at once, and after an interruption the same command continues.
    """
    began_s = time.monotonic()
    budget_s = parse_duration_s(budget)
    profiles = networks_named(networks)
    live_as = live_options(live, None, origin_ca, insecure=origin_insecure, fetch=fetch)
    # The edge in front of a live page does the sending: its server only decides which lines to paste, and is not played.
    own = None if server is None or live_as is not None else server_of(server, baseline)
    scheme = baseline_named(baseline or FOLLOWS_PRIORITIES) if own is None else own.on
    if live_as is not None:
        refuse_servers([Arm(scheme, scheme)])
        opened = open_live(live_as, fresh=fresh)(site, origins)
    else:
        opened = open_site(located(site, fresh=fresh, fetch=fetch), origins)
    job = AuditJob(
        site=opened,
        site_digest=site_digest(opened),
        networks=profiles,
        baseline=scheme,
        form_factor=form_factor.value,
        budget_s=budget_s,
        seed=seed,
        folder=folder or Path(),
        versions=own_versions(ADVICE_CODE),
        model=catalog.load_browser_model(JUDGE_MODEL),
        server=None if server is None else web_server(server),
        own=own,
        browser=browser,
    )
    if folder is None:
        job = replace(job, folder=folder_of(f"audit-{job.site.name}", job.digest, job.versions))
    folder = job.folder
    refuse_small_budget(job)
    end_in_order()
    with owned(folder):
        try:
            found = _carry_out(job, began_s)
        except KeyboardInterrupt:
            say_stopped(folder)
            raise
        report, told = folder / ResultKind.AUDIT.report, live_words_of(opened, folder)
        facts = {**audit_facts(found), **live_facts(opened, folder), "report": str(report)}
        keep_result(folder, ResultKind.AUDIT, facts, lambda file: write_audit(found, file, told))
    if as_json:
        say_json(facts)
    else:
        out.print(render_audit(found))
        say_live(opened, folder)
        say_report(report)


def _carry_out(job: AuditJob, began_s: float) -> Audit:
    with PlayedLoads(PaintReader, job.folder, watch_loads) as simulator:
        world = AuditSurroundings(
            clock_s=time.monotonic, began_s=began_s, say=say_step, observe=RunProgress, simulator=simulator
        )
        return asyncio.run(run_audit(job, world))
