"""`tune`: searches a better order of bytes for a page, races it in real Chromium, proves it, and writes what to ship."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mixedsched.advice.tuner.job import BROWSER, RUNGS, STACK, TABLES, Subject, TuneJob
from mixedsched.advice.tuner.objective import parse_objective
from mixedsched.advice.tuner.space import read_schemes
from mixedsched.cli._interrupts import end_in_order
from mixedsched.cli._live import LiveCaOption, LiveInsecureOption, LiveOption, live_options, open_live, require_live
from mixedsched.cli._options import (
    SITE_HELP,
    BudgetOption,
    FetchOption,
    FormFactorOption,
    FreshOption,
    OriginsOption,
    ResultsOption,
    Screen,
    networks_named,
)
from mixedsched.cli._output import Json
from mixedsched.cli._sites import located, open_site
from mixedsched.cli._tune_rival import rival
from mixedsched.cli._tune_server import ServerOption, is_of_pages, tuned_server
from mixedsched.errors import ExitCode, UsageError
from mixedsched.lab.machine import ADVICE_CODE, own_versions
from mixedsched.lab.play.scenario import JUDGE_MODEL
from mixedsched.lab.play.task import ALL_SCHEMES
from mixedsched.lab.results import folder_of
from mixedsched.model.browser_model import IDEAL, BrowserModel
from mixedsched.model.profile import Profile
from mixedsched.units import parse_duration_s
from mixedsched.world import catalog


def register(app: typer.Typer) -> None:
    app.command(
        epilog="Examples: mixedsched tune agency --link slow-4g --budget 10m --objective lcp\n\n"
        "mixedsched tune agency --server caddy --link slow-4g --budget 10m"
    )(tune)


def tune(
    sites: Annotated[
        list[str],
        typer.Argument(
            help=f"{SITE_HELP} Or a page description; several for the scheme finder.", metavar="SITE|PAGE..."
        ),
    ],
    link: Annotated[
        str, typer.Option(help="Network profiles to tune for, by name or file; one to four.", metavar="L,L")
    ] = "slow-4g",
    budget: BudgetOption = "10m",
    objective: Annotated[
        str | None,
        typer.Option(
            help="lcp (default), fcp, si, score (a Lighthouse-like one), or weights such as lcp=0.7,fcp=0.3.",
            metavar="O",
        ),
    ] = None,
    space: Annotated[
        str,
        typer.Option(
            help="tables: schemes and their priority tables. vgprio: the search of VGPrio (2025), a rival: image clusters and "
            "late scripts, by Speed Index and without a guard.",
            metavar="S",
        ),
    ] = TABLES,
    schemes: Annotated[
        str | None,
        typer.Option(
            help="Schemes to search, or all. With all and several sites or networks: the schemes to compare.",
            metavar="A,B",
        ),
    ] = None,
    rung: Annotated[
        str | None,
        typer.Option(
            help="How far to go: browser proves the result in Chromium, stack and pipe only simulate. By default browser, "
            "for several sites stack.",
            metavar="R",
        ),
    ] = None,
    form_factor: FormFactorOption = Screen.MOBILE,
    origins: OriginsOption = None,
    penalty: Annotated[
        float,
        typer.Option(
            help="Minimum gain, in per cent, that each departure from the browser's signals must bring.", min=0, max=100
        ),
    ] = 0.2,
    browser_model: Annotated[
        str | None,
        typer.Option(
            help="Constants of the simulated browser, by name or file. By default chromium where a browser proves the result, "
            "else ideal, as for simulate.",
            metavar="M",
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            help="Number of candidates on rung stack, the same on every machine; by default as many as the time allows.",
            min=1,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed for searches, the order of runs and link losses.", min=0)] = 1,
    live: LiveOption = False,
    origin_ca: LiveCaOption = None,
    origin_insecure: LiveInsecureOption = False,
    fresh: FreshOption = False,
    fetch: FetchOption = False,
    server: ServerOption = None,
    folder: ResultsOption = None,
    as_json: Json = False,
) -> None:
    """Find a better order of bytes for a page, prove it in the browser, and write what to ship.

    Searches schedulers, mapping tables and overrides in simulation, races the best against sequential, stock, eps and mixed
    delivery, and proves the winner with fresh loads over fresh seeds. A result that is not confirmed is reported as such, and
    not shipped. Every load is stored at once, and after an interruption the same command continues.
    """
    began_s = time.monotonic()
    if rung is not None and rung not in RUNGS:
        raise UsageError(f"there is no rung '{rung}'", fix=f"choose one of {', '.join(RUNGS)}")
    budget_s = parse_duration_s(budget)
    networks = networks_named(link)
    own = tuned_server(server, schemes, space, rung, sites)
    if space == TABLES:
        wanted = parse_objective(objective or "lcp", form_factor.value)
        specs = read_schemes(schemes if own is None else own.model)
    else:
        wanted, specs = rival(space, sites, networks, rung, objective, schemes)
    wants_all = schemes is not None and ALL_SCHEMES in [word.strip() for word in schemes.split(",")]
    end_in_order()
    live_as = live_options(live, None, origin_ca, insecure=origin_insecure, fetch=fetch)
    opener = open_site if live_as is None else open_live(live_as, fresh=fresh)
    if live_as is not None:
        require_live(sites)
        _refuse_with_live("--server", own is not None, "with --live an edge is in front")
        compares = wants_all and len(networks) > 1
        _refuse_with_live(
            "--schemes all for several networks", compares, "schemes are then compared in simulation alone"
        )
    else:
        sites = [located(site, fresh=fresh, fetch=fetch) for site in sites]
    if _is_for_finder(sites, networks, wants_all=wants_all):
        from mixedsched.cli._tune_finder import find_schemes, finder_job  # here, because one page has no use for them

        everything = specs if schemes is not None else read_schemes(ALL_SCHEMES)
        finding = finder_job(sites, networks, everything, wanted, rung, seed, _model(browser_model, STACK))
        code = find_schemes(finding, budget_s, folder, as_json=as_json)
    else:
        from mixedsched.cli._tune_one import tune_one  # here, because a finder has no use for what this loads

        rung = rung or BROWSER
        subject = Subject.named(sites[0], origins, opener)
        # Late updates of the browser are its model's affair.
        model = _model(browser_model, rung if own is None else BROWSER)
        job = TuneJob(
            subject, networks, wanted, specs, rung, form_factor.value, budget_s, seed, penalty / 100, model,
            folder or Path(), own_versions(ADVICE_CODE), candidates, space, own,
        )  # fmt: skip
        if folder is None:
            job = replace(job, folder=folder_of(f"tune-{job.subject.name}", job.digest, job.versions))
        code = tune_one(job, began_s, as_json=as_json)
    if code is not ExitCode.DONE:
        raise typer.Exit(code)


def _refuse_with_live(what: str, is_given: bool, why: str) -> None:
    if is_given:
        raise UsageError(f"--live and {what} contradict each other", why=why, fix="leave one out")


def _model(name: str | None, rung: str) -> BrowserModel:
    """The model that plays pages like Chromium where Chromium has the last word; else that of `simulate`."""
    return catalog.load_browser_model(name or (JUDGE_MODEL if rung == BROWSER else IDEAL.name))


def _is_for_finder(sites: list[str], networks: tuple[Profile, ...], *, wants_all: bool) -> bool:
    """Whether schemes are to be compared over several places, instead of one page be tuned."""
    return len(sites) > 1 or (wants_all and len(networks) > 1) or is_of_pages(sites[0])
