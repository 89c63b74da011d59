"""`compare`, the main job: loads a page under several schemes in a real browser, and says which is better and how surely."""

from typing import Annotated

import typer

from mixedsched.cli._comparison import questions_of, say_cost, say_experiment
from mixedsched.cli._console import err, say_remark
from mixedsched.cli._gates import (
    FailIfOption,
    JunitOption,
    MarkdownOption,
    MaxBlocksOption,
    UntilOption,
    say_gates,
    write_for_ci,
)
from mixedsched.cli._interrupts import end_in_order
from mixedsched.cli._live import LiveCaOption, LiveInsecureOption, LiveOption, LiveRulesOption, live_options
from mixedsched.cli._options import (
    SITE_HELP,
    BrowserOption,
    FetchOption,
    FormFactorOption,
    FreshOption,
    LinkOption,
    MetricsOption,
    OriginsOption,
    ResultsOption,
    Screen,
)
from mixedsched.cli._output import Json, refuse_unwritable
from mixedsched.cli._progress import RunProgress
from mixedsched.cli._sites import located
from mixedsched.lab import experiment
from mixedsched.model.congestion import CongestionControl
from mixedsched.model.scheme import split_specs
from mixedsched.world.browser.kinds import Browser
from mixedsched.world.browser.pageload import Throttling
from mixedsched.world.emulator.backend import BackendName

AA_SCHEME = "sequential"
_EXAMPLES = (
    "Examples: mixedsched compare agency --schemes sequential,mixed --link 4g --blocks 8\n\n"
    "mixedsched compare agency --schemes sequential,mixed --until decided --max-blocks 24 --fail-if 'lcp > +2%'\n\n"
    "mixedsched compare http://localhost:3000 --live --schemes sequential,eps --link slow-4g"
)


def register(app: typer.Typer) -> None:
    app.command(epilog=_EXAMPLES)(compare)


def compare(
    site: Annotated[str, typer.Argument(help=SITE_HELP, metavar="SITE")],
    schemes: Annotated[
        str | None,
        typer.Option(
            help="Schemes to compare, with parameters, and third-party servers (@caddy; `mixedsched servers` lists them); "
            "sequential,mixed by default.",
            metavar="A,B",
        ),
    ] = None,
    link: LinkOption = "4g",
    backend: Annotated[
        BackendName,
        typer.Option(
            help="What emulates the network: relay needs no privilege and repeats exactly; netns and vm use the kernel's tbf "
            "and netem, in namespaces or inside a router VM."
        ),
    ] = BackendName.RELAY,
    blocks: Annotated[
        int, typer.Option(help="Paired repeats; two schemes need 6 to decide on one metric, 8 for all seven.", min=1)
    ] = 8,
    until: UntilOption = None,
    max_blocks: MaxBlocksOption = None,
    fail_if: FailIfOption = None,
    baseline: Annotated[
        str | None, typer.Option(help="The scheme that others are measured against; the first by default.", metavar="S")
    ] = None,
    mapping: Annotated[
        str | None, typer.Option(help="Mapping table for all schemes that use one.", metavar="M")
    ] = None,
    primary: Annotated[
        str | None,
        typer.Option(
            help="Metrics to decide on, by default lcp or those of gates; the others are exploratory.", metavar="M,M"
        ),
    ] = None,
    metrics: MetricsOption = None,
    browser: BrowserOption = Browser.CHROMIUM,
    form_factor: FormFactorOption = Screen.MOBILE,
    seed: Annotated[int, typer.Option(help="Seed for the order of runs and for link losses.")] = 1,
    origins: OriginsOption = None,
    across_connections: Annotated[
        bool, typer.Option("--across-connections", help="Schedule across the connections of a client.")
    ] = False,
    congestion_control: Annotated[
        CongestionControl,
        typer.Option(help="The server's; cubic-2022 is RFC 8312 without HyStart and pacing, as in Sander et al. 2022."),
    ] = CongestionControl.CUBIC,
    cpu_slowdown: Annotated[
        float, typer.Option(help="Multiplier for the time that the page's own work takes, as in DevTools.", metavar="N")
    ] = 1.0,
    throttling: Annotated[
        Throttling,
        typer.Option(
            help="provided: metrics as observed over --link. simulate: metrics that Lighthouse's model of a slow phone or "
            "desktop computes from the load, to repeat studies that used it; marked, and never mixed with observed ones."
        ),
    ] = "provided",
    packet_log: Annotated[
        bool, typer.Option("--packet-log", help="Keep the fate of every packet beside the results; relay only.")
    ] = False,
    live: LiveOption = False,
    rules: LiveRulesOption = None,
    origin_ca: LiveCaOption = None,
    origin_insecure: LiveInsecureOption = False,
    aa: Annotated[bool, typer.Option("--aa", help="Self-test: compare one scheme with itself.")] = False,
    fresh: FreshOption = False,
    fetch: FetchOption = False,
    folder: ResultsOption = None,
    junit: JunitOption = None,
    markdown: MarkdownOption = None,
    as_json: Json = False,
) -> None:
    """Compare delivery schemes on a page over a network, in real Chromium scored by Lighthouse, or in Firefox.

    Every run is stored at once, and after an interruption the same command continues where it stopped.

    A larger --blocks adds to the stored runs; --until decided makes as many blocks as that takes.
    """
    default = (AA_SCHEME,) if aa else experiment.DEFAULT_SCHEMES
    refuse_unwritable(junit, markdown)
    end_in_order()
    found = experiment.compare(
        site if live else located(site, fresh=fresh, fetch=fetch),
        split_specs(schemes) if schemes else default,
        link=link,
        blocks=blocks,
        until=until.value if until else None,
        max_blocks=max_blocks,
        fail_if=fail_if or (),
        baseline=baseline or "",
        mapping=mapping,
        primary=primary.split(",") if primary else (),
        metrics=None if metrics is None else metrics.split(","),
        form_factor=form_factor.value,
        seed=seed,
        origins=origins,
        backend=backend.value,
        across_connections=across_connections,
        congestion_control=congestion_control.value,
        cpu_slowdown=cpu_slowdown,
        throttling=throttling,
        browser=browser.value,
        against_itself=aa,
        packet_log=packet_log,
        live=live_options(live, rules, origin_ca, insecure=origin_insecure, fresh=fresh, fetch=fetch),
        folder=folder,
        observe=RunProgress,
        say=say_remark,
    )
    say_experiment(found, as_json=as_json)
    say_cost(found)
    write_for_ci(questions_of(found), junit, markdown)
    say_gates(found.gates)
    if found.plan.looks is None and found.missing_blocks:
        err.print("[bold yellow]some blocks failed again and again and are missing; the report says why[/]")
    elif found.plan.looks is not None and not found.is_decided:
        err.print("[bold yellow]not decided within these blocks; --max-blocks allows more, in a new experiment[/]")
    raise typer.Exit(found.exit_code)
