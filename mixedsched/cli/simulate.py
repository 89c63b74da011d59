"""`simulate`: loads pages under delivery schemes in virtual time, without a browser."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from mixedsched.cli._console import say_step
from mixedsched.cli._interrupts import end_in_order
from mixedsched.cli._options import FetchOption, FreshOption
from mixedsched.cli._simulation_options import (
    DEFAULT_LINK,
    MAX_PACKET_BYTES,
    JitterName,
    check_plot,
    check_traces,
    choose_rung,
    microseconds,
    read_jitter,
    read_pipe,
    read_send_buffers,
    refuse_doubles,
)
from mixedsched.cli._simulation_show import show
from mixedsched.cli._sites import located
from mixedsched.core.sim.load import Rung
from mixedsched.core.sim.record import Weighting
from mixedsched.errors import ExitCode, UsageError
from mixedsched.lab.machine import processors
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.simulation import RecordReader, Simulation, with_visits
from mixedsched.lab.play.task import read_schemes
from mixedsched.model.browser_model import IDEAL
from mixedsched.model.congestion import CongestionControl
from mixedsched.sites.pages import read_pages
from mixedsched.world import catalog

_result = partial(typer.Option, rich_help_panel="Results")
_pipe = partial(typer.Option, rich_help_panel="Rung pipe: an ideal paced pipe (default)")
_stack = partial(typer.Option, rich_help_panel="Rung stack: two real QUIC connections over an emulated link")
EXAMPLE = "Example: mixedsched simulate davies-meenan --scheme rr,fifo,bucket-html --send-buffer-bytes 0,1000000"


def register(app: typer.Typer) -> None:
    app.command(epilog=EXAMPLE)(simulate)


def simulate(
    pages: Annotated[
        list[str],
        typer.Argument(
            help="Page files (mixedsched.page/1), folders of them, sites (also addresses and HARs); - is standard input.",
            metavar="PAGE...",
        ),
    ],
    schemes: Annotated[
        str, typer.Option("--scheme", "--schemes", help="Delivery schemes, with parameters, or all.", metavar="A,B")
    ],
    mapping: Annotated[
        str | None, typer.Option(help="Mapping table for all schemes that use one.", metavar="M")
    ] = None,
    rung: Annotated[
        Rung | None, typer.Option(help="pipe or stack; stack where --link is given, else pipe.", metavar="R")
    ] = None,
    browser_model: Annotated[
        str,
        typer.Option(
            help="Model of the browser: ideal (default), chromium or another of results/calibration, or a file.",
            metavar="B",
        ),
    ] = IDEAL.name,
    visits: Annotated[
        int,
        typer.Option(
            help="Visits from which scheme adaptive learns before the load that is reported.", min=0, max=1000
        ),
    ] = 0,
    churn: Annotated[
        float, typer.Option(help="Share of the URLs that are new at each visit, 0 to 1.", metavar="RATIO")
    ] = 0.0,
    beacons: Annotated[
        bool, typer.Option("--beacons", help="Report the paints of visits to adaptive, as the beacon of serve does.")
    ] = False,
    hol_blocking: Annotated[
        bool,
        typer.Option(
            "--hol-blocking",
            help="Responses share one ordered stream, as over TCP: all wait for a late (pipe) or lost (stack) packet.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed for losses (stack) and random jitter (pipe).")] = 1,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Number of processes; by default 1 for pipe, one per core for stack. Results do not depend on it.",
            min=1,
            max=1024,
        ),
    ] = None,
    weight: Annotated[
        Weighting, _result(help="Weight of a resource in the ByteIndex: its bytes, or one (count).")
    ] = "bytes",
    sample_ms: Annotated[float | None, _result(help="Sampling interval of the ByteIndex; 100 in the original.")] = None,
    plot: Annotated[Path | None, _result(help="Draw the loads, as .svg or .html.", metavar="FILE")] = None,
    resources: Annotated[
        bool, _result("--resources", help="Also print a table of completion times, for one page.")
    ] = False,
    fresh: FreshOption = False,
    fetch: FetchOption = False,
    as_json: Annotated[bool, _result("--json", help="Print one JSON object per load, one per line.")] = False,
    packet_bytes: Annotated[
        int | None, _pipe(help="Payload of a full packet; 1400 by default.", min=1, max=MAX_PACKET_BYTES)
    ] = None,
    pace_ms: Annotated[float | None, _pipe(help="Time between two packets; 10 by default.")] = None,
    send_buffer_bytes: Annotated[
        str | None,
        _pipe(help="Buffer between scheduler and wire, 0 by default; with commas, each is played.", metavar="N,N"),
    ] = None,
    request_slot_ms: Annotated[
        float | None, _pipe(help="Admit at most one request in this time; 0 by default, 10 in the original.")
    ] = None,
    jitter: Annotated[
        JitterName | None,
        _pipe(
            help="Late packets: none (default), every fourth, or each with p = 1/4 (random).",
            metavar="none|fourth|random",
        ),
    ] = None,
    jitter_packets: Annotated[
        str | None, _pipe(help="By how many packets a late one is overtaken; 1-3 by default.", metavar="LOW-HIGH")
    ] = None,
    link: Annotated[
        str | None, _stack(help=f"Network profile, by name or file; {DEFAULT_LINK} by default.", metavar="L")
    ] = None,
    congestion_control: Annotated[
        CongestionControl | None,
        _stack(help="cubic (default), reno, or cubic-2022: RFC 8312 without HyStart and pacing.", metavar="NAME"),
    ] = None,
    qlog: Annotated[Path | None, _stack(help="Write a qlog trace of each load into a folder.", metavar="DIR")] = None,
) -> None:
    """Simulate loads of pages under delivery schemes in virtual time: thousands a minute, with the same result every time.

    With several pages, a last table has the mean speed-ups.
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
        },
        {"--link": link, "--congestion-control": congestion_control, "--qlog": qlog},
    )
    on_pipe = chosen_rung == "pipe"
    pipe = read_pipe(
        packet_bytes, pace_ms, request_slot_ms, read_jitter(jitter, jitter_packets, hol_blocking and on_pipe, seed)
    )
    if sample_ms is not None:
        microseconds("--sample-ms", sample_ms, least_us=1)
    chosen = with_visits(read_schemes(schemes, mapping), visits, churn, beacons=beacons)
    refuse_doubles([scheme.spec for scheme in chosen], "scheme")
    simulation = Simulation(
        schemes=chosen,
        link=pipe if on_pipe else catalog.load_profile(link if link is not None else DEFAULT_LINK),
        send_buffers_bytes=read_send_buffers(send_buffer_bytes),
        seed=seed,
        congestion_control=congestion_control or CongestionControl.CUBIC,
        in_order=hol_blocking and not on_pipe,
        model=catalog.load_browser_model(browser_model),
        qlog_folder=qlog,
        pages=tuple(read_pages([located(page, fresh=fresh, fetch=fetch) for page in pages], say_step)),
    )
    if resources and len(simulation.pages) > 1:
        why = f"there are {len(simulation.pages)}"
        raise UsageError("--resources is for one page", why=why, fix="name one, or use --json")
    if plot is not None:
        check_plot(plot, is_sampled=sample_ms is not None)
    if qlog is not None:
        check_traces(qlog, simulation)
    reader = partial(
        RecordReader,
        weighting=weight,
        sample_ms=sample_ms,
        keep_lines=as_json,
        keep_resources=resources,
        keep_loads=plot is not None,
    )
    end_in_order()
    with Pool(reader, min(jobs or (1 if on_pipe else processors()), simulation.total)) as pool:
        played = pool.results(simulation.tasks())
        all_ended = show(simulation, played, as_json=as_json, resources=resources, plot=plot, weighting=weight)
    if not all_ended:
        raise typer.Exit(ExitCode.INVALID_RUNS)
