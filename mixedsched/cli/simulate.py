"""`simulate`: plays pages under delivery schemes in virtual time, without a browser."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import RenderableType
from rich.markup import escape

from mixedsched.cli._console import err, out
from mixedsched.cli._interrupts import end_in_order
from mixedsched.cli._progress import Progress
from mixedsched.cli._simulation import Outcome, Simulation
from mixedsched.cli._simulation_options import (
    DEFAULT_LINK,
    check_plot,
    check_traces,
    choose_rung,
    one_of,
    read_jitter,
    read_pipe,
    read_sample_ms,
    read_schemes,
    read_send_buffers,
    read_stack,
)
from mixedsched.cli._simulation_table import Summary, caption, page_tables, resource_tables
from mixedsched.cli._workers import outcomes
from mixedsched.core.sim.load import PageLoad
from mixedsched.core.sim.record import Weighting
from mixedsched.errors import ExitCode, MixedschedError, UsageError
from mixedsched.lab.machine import processors
from mixedsched.model.browser_model import IDEAL
from mixedsched.sites.pages import read_pages
from mixedsched.world import catalog

RESULTS = "Results"
PIPE = "Rung pipe: an ideal paced pipe (default)"
STACK = "Rung stack: two real QUIC connections over an emulated link"
EXAMPLE = "Example: mixedsched simulate davies-meenan --scheme rr,fifo,bucket-html --send-buffer-bytes 0,1000000"


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLE)(simulate)


def simulate(
    pages: Annotated[
        list[str],
        typer.Argument(
            help="Page files (mixedsched.page/1), folders of them, bundled sites, a site's folder; - is standard input.",
            metavar="PAGE...",
        ),
    ],
    schemes: Annotated[
        str,
        typer.Option("--scheme", "--schemes", help="Delivery schemes, with parameters, or all.", metavar="A,B"),
    ],
    mapping: Annotated[
        str | None, typer.Option(help="Mapping table for all schemes that use one.", metavar="M")
    ] = None,
    rung: Annotated[
        str | None, typer.Option(help="pipe or stack; stack where --link is given, else pipe.", metavar="R")
    ] = None,
    browser_model: Annotated[
        str,
        typer.Option(
            help="What plays the page: ideal (default), chromium or another of results/calibration, or a file.",
            metavar="B",
        ),
    ] = IDEAL.name,
    seed: Annotated[int, typer.Option(help="Seed of losses (stack) and of random jitter (pipe).")] = 1,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Processes that play at once; by default 1 for pipe, one per core for stack. Results do not depend on it.",
            min=1,
            max=1024,
        ),
    ] = None,
    weight: Annotated[
        str, typer.Option(help="What a resource counts in the ByteIndex: bytes or count.", rich_help_panel=RESULTS)
    ] = "bytes",
    sample_ms: Annotated[
        float | None,
        typer.Option(help="Sample the ByteIndex so often; 100 in the original.", rich_help_panel=RESULTS),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the loads, as .svg or .html.", metavar="FILE", rich_help_panel=RESULTS),
    ] = None,
    resources: Annotated[
        bool,
        typer.Option("--resources", help="Also a table of completion times, of one page.", rich_help_panel=RESULTS),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a load, a line each.", rich_help_panel=RESULTS)
    ] = False,
    packet_bytes: Annotated[
        int | None, typer.Option(help="Payload of a full packet; 1400 by default.", rich_help_panel=PIPE)
    ] = None,
    pace_ms: Annotated[
        float | None, typer.Option(help="One packet in so much time; 10 by default.", rich_help_panel=PIPE)
    ] = None,
    send_buffer_bytes: Annotated[
        str | None,
        typer.Option(
            help="Buffer between scheduler and wire, 0 by default; with commas, each is played.",
            metavar="N,N",
            rich_help_panel=PIPE,
        ),
    ] = None,
    request_slot_ms: Annotated[
        float | None,
        typer.Option(
            help="At most one request is admitted in so much time; 0 by default, 10 in the original.",
            rich_help_panel=PIPE,
        ),
    ] = None,
    jitter: Annotated[
        str | None,
        typer.Option(
            help="Late packets: none (default), every fourth, or each with p = 1/4 (random).",
            metavar="none|fourth|random",
            rich_help_panel=PIPE,
        ),
    ] = None,
    jitter_packets: Annotated[
        str | None,
        typer.Option(
            help="By how many packets a late one is overtaken; 1-3 by default.",
            metavar="LOW-HIGH",
            rich_help_panel=PIPE,
        ),
    ] = None,
    hol_blocking: Annotated[
        bool,
        typer.Option("--hol-blocking", help="The receiver waits for a late packet, as over TCP.", rich_help_panel=PIPE),
    ] = False,
    link: Annotated[
        str | None,
        typer.Option(
            help=f"Network profile, by name or file; {DEFAULT_LINK} by default.", metavar="L", rich_help_panel=STACK
        ),
    ] = None,
    congestion_control: Annotated[
        str | None,
        typer.Option(help="cubic (default) or reno.", metavar="NAME", rich_help_panel=STACK),
    ] = None,
    qlog: Annotated[
        Path | None,
        typer.Option(help="Write a qlog trace of each load into a folder.", metavar="DIR", rich_help_panel=STACK),
    ] = None,
) -> None:
    """Play pages under delivery schemes in virtual time: thousands of loads a minute, the same again whenever asked.

    With several pages, a last table tells mean speed-ups.
    """
    chosen_rung = choose_rung(
        rung,
        {
            "--packet-bytes": packet_bytes,
            "--pace-ms": pace_ms,
            "--send-buffer-bytes": send_buffer_bytes,
            "--request-slot-ms": request_slot_ms,
            "--jitter": jitter,
            "--jitter-packets": jitter_packets,
            "--hol-blocking": hol_blocking or None,
        },
        {"--link": link, "--congestion-control": congestion_control, "--qlog": qlog},
    )
    pipe = read_pipe(packet_bytes, pace_ms, request_slot_ms, read_jitter(jitter, jitter_packets, hol_blocking, seed))
    send_buffers = read_send_buffers(send_buffer_bytes)
    weighting = cast(Weighting, one_of("--weight", weight, ("bytes", "count")))
    sampled = read_sample_ms(sample_ms)
    specs = read_schemes(schemes, mapping)
    played_on = pipe if chosen_rung == "pipe" else read_stack(link, seed, congestion_control, qlog)
    model = catalog.load_browser_model(browser_model)
    found = read_pages(pages)
    if resources and len(found) > 1:
        raise UsageError("--resources is for one page", why=f"there are {len(found)}", fix="name one, or use --json")
    if plot is not None:
        if weighting != "bytes" or sampled is not None:
            raise UsageError(
                "pictures show the ByteIndex by bytes and unsampled",
                fix="leave out --weight and --sample-ms, or --plot",
            )
        check_plot(plot)
    if qlog is not None:
        check_traces(qlog, found, specs)
    simulation = Simulation(
        pages=tuple(found),
        schemes=specs,
        mapping=mapping,
        rung=played_on,
        send_buffers_bytes=send_buffers,
        weighting=weighting,
        sample_ms=sampled,
        keep_lines=as_json,
        keep_resources=resources,
        keep_loads=plot is not None,
        model=model,
    )
    end_in_order()
    usual_jobs = 1 if chosen_rung == "pipe" else processors()
    loads: list[PageLoad] = []
    failures: list[Outcome] = []
    quiet = as_json and (sys.stdout.isatty() or not err.is_terminal)  # lines of results and a bar share no terminal
    with (
        closing(outcomes(simulation, jobs or usual_jobs)) as played,
        Progress("playing pages", simulation.total, unit="loads", quiet=quiet) as progress,
    ):
        for outcome in _say_lines(played) if as_json else _say_tables(simulation, played, progress):
            progress.advance()
            if outcome.load is not None:
                loads.append(outcome.load)
            if outcome.error:
                failures.append(outcome)
    if plot is not None and loads:
        _draw(loads, plot)
    if failures:
        _say_failures(simulation, failures)
        raise typer.Exit(ExitCode.INVALID_RUNS)


def _say_lines(played: Iterator[Outcome]) -> Iterator[Outcome]:
    for outcome in played:
        sys.stdout.write(outcome.line + "\n")
        sys.stdout.flush()
        yield outcome


def _say_tables(simulation: Simulation, played: Iterator[Outcome], progress: Progress) -> Iterator[Outcome]:
    """Tables of each page as soon as it is complete, then one of all pages."""

    def say(tables: Iterable[RenderableType]) -> None:
        progress.hide()
        for table in tables:
            out.print(table)

    summary = Summary(simulation)
    of_page: list[Outcome] = []
    for outcome in played:
        of_page.append(outcome)
        yield outcome
        if len(of_page) == simulation.loads_per_page:
            say(page_tables(simulation, of_page, out.width))
            if simulation.keep_resources:
                say(resource_tables(simulation, of_page, out.width))
            summary.add(of_page)
            of_page = []
    if len(simulation.pages) > 1:
        say(summary.tables(out.width))
    out.print(caption(simulation), style="dim", markup=False)


def _draw(loads: Sequence[PageLoad], path: Path) -> None:
    from mixedsched.report.simulation import write_plot  # here, because most runs draw nothing

    try:
        write_plot(loads, path)
    except OSError as error:
        raise MixedschedError(f"cannot write the picture {path}", why=error.strerror or "") from error
    err.print(f"picture: {path}", soft_wrap=True, markup=False)


def _say_failures(simulation: Simulation, failures: Sequence[Outcome]) -> None:
    for outcome in failures:
        page, scheme, _ = outcome.task
        where = f"{simulation.pages[page].name}, {simulation.schemes[scheme]}"
        err.print(f"[bold yellow]failed[/] {escape(where)}: {escape(outcome.error)}", soft_wrap=True)
    err.print(f"[bold yellow]{len(failures)} of {simulation.total} loads could not be finished[/]", soft_wrap=True)
