"""`serve`: an HTTP/3 server for one site under one scheme."""

from __future__ import annotations

from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TextIO

import typer

from mixedsched.cli._output import Json
from mixedsched.cli._sites import open_site
from mixedsched.core.h3.qlog import MAX_TRACE_BYTES
from mixedsched.core.schedulers import SCHEMES
from mixedsched.errors import UsageError
from mixedsched.model.scheme import configure
from mixedsched.sites.serving import served_site
from mixedsched.sites.site import Origins
from mixedsched.units import parse_duration_s
from mixedsched.world import catalog
from mixedsched.world.server.admission import RetryPolicy
from mixedsched.world.server.handover import MAX_WORKERS
from mixedsched.world.server.limits import Limits
from mixedsched.world.server.log import JsonLog, ServerLog, appending
from mixedsched.world.server.qlog_files import prepare_folder
from mixedsched.world.server.run import run_server
from mixedsched.world.server.settings import ServerSettings, WatchSettings

_NETWORK = "Network"
_LIMITS = "Limits"
_WATCH = "To watch it"
_DEFAULTS = Limits()


class Gso(StrEnum):
    """Whether flights of packets go out in one system call each."""

    AUTO = "auto"
    OFF = "off"


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched serve agency --scheme mixed:alpha=0.5 --port 4433")(serve)


def serve(
    site: Annotated[str, typer.Argument(help="A bundled site, or a folder with an index.html.", metavar="SITE")],
    origins: Annotated[
        Origins | None,
        typer.Option(
            help="Of a site of several hosts: keep them, or merge them into the first; what the site says by default."
        ),
    ] = None,
    scheme: Annotated[
        str, typer.Option(help="Delivery scheme, with parameters: mixed:alpha=0.5.", metavar="S")
    ] = "eps",
    mapping: Annotated[
        str | None, typer.Option(help="Mapping table, by name or file; the scheme's own by default.", metavar="M")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.", rich_help_panel=_NETWORK)] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="UDP port; 0 takes any free one.", min=0, max=65535, rich_help_panel=_NETWORK)
    ] = 4433,
    congestion_control: Annotated[
        str, typer.Option(help="cubic or reno.", metavar="NAME", rich_help_panel=_NETWORK)
    ] = "cubic",
    workers: Annotated[
        int, typer.Option(help="Processes that share the port.", min=1, max=MAX_WORKERS, rich_help_panel=_NETWORK)
    ] = 1,
    across_connections: Annotated[
        bool,
        typer.Option(
            "--across-connections",
            help="Schedule across all connections from one IP address, as if they were one.",
            rich_help_panel=_NETWORK,
        ),
    ] = False,
    gso: Annotated[
        Gso,
        typer.Option(
            help="Send flights of packets in one system call where the kernel can. "
            "Choose off if the kernel emulates the link (tc netem, tbf): it would lose or delay flights as a whole.",
            rich_help_panel=_NETWORK,
        ),
    ] = Gso.AUTO,
    retry: Annotated[
        RetryPolicy,
        typer.Option(
            help="When clients must prove their address first (QUIC Retry); auto: under load.", rich_help_panel=_LIMITS
        ),
    ] = RetryPolicy.AUTO,
    max_connections: Annotated[
        int, typer.Option(help="Connections in all.", min=1, metavar="N", rich_help_panel=_LIMITS)
    ] = _DEFAULTS.connections,
    max_connections_per_client: Annotated[
        int, typer.Option(help="Connections from one address.", min=1, metavar="N", rich_help_panel=_LIMITS)
    ] = _DEFAULTS.connections_per_client,
    max_streams: Annotated[
        int, typer.Option(help="Open requests of one connection.", min=1, metavar="N", rich_help_panel=_LIMITS)
    ] = _DEFAULTS.streams,
    max_memory_mb: Annotated[
        int,
        typer.Option(
            help="With more memory in use, in megabytes, new clients are refused.",
            min=1,
            metavar="N",
            rich_help_panel=_LIMITS,
        ),
    ] = _DEFAULTS.memory_bytes // 1_000_000,
    handshake_timeout: Annotated[
        str, typer.Option(help="Time for a handshake.", metavar="TIME", rich_help_panel=_LIMITS)
    ] = f"{_DEFAULTS.handshake_s:g}s",
    idle_timeout: Annotated[
        str, typer.Option(help="Time without a packet from the client.", metavar="TIME", rich_help_panel=_LIMITS)
    ] = f"{_DEFAULTS.idle_s:g}s",
    grace: Annotated[
        str,
        typer.Option(
            help="Time for responses under way when the server is to stop.", metavar="TIME", rich_help_panel=_LIMITS
        ),
    ] = "2s",
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Show live which response got the packets, ten times a second.", rich_help_panel=_WATCH
        ),
    ] = False,
    qlog: Annotated[
        Path | None,
        typer.Option(
            help="Write a qlog trace of each connection into a folder.", metavar="DIR", rich_help_panel=_WATCH
        ),
    ] = None,
    qlog_mb: Annotated[
        int, typer.Option(help="Size of a trace at most, in megabytes.", min=1, metavar="N", rich_help_panel=_WATCH)
    ] = MAX_TRACE_BYTES // 1_000_000,
    log_connections: Annotated[
        bool,
        typer.Option(
            "--log-connections",
            help="Print a line for each connection too, with the host name that its client asked for.",
            rich_help_panel=_WATCH,
        ),
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option(help="Append a JSON line for each request to a file.", metavar="FILE", rich_help_panel=_WATCH),
    ] = None,
    stop_with_stdin: Annotated[bool, typer.Option("--stop-with-stdin", help="Stop when standard input ends.")] = False,
    as_json: Json = False,
) -> None:
    """Serve a site over HTTP/3, deciding packet by packet whose bytes go next.

    Prints a line for each request: what was signalled, where it was placed, when its first and last byte left.
    When told to stop, it takes no more requests and finishes those under way; told again, it stops at once.
    """
    if congestion_control not in {"cubic", "reno"}:
        raise UsageError(f"there is no congestion control '{congestion_control}'", fix="choose cubic or reno")
    if across_connections and workers > 1:
        raise UsageError(
            "--across-connections is not possible with several --workers",
            why="the connections of one client may come to different processes",
            fix="leave out one of the two",
        )
    if qlog is not None:
        prepare_folder(qlog)
    settings = ServerSettings(
        host=host,
        port=port,
        congestion_control=congestion_control,
        workers=workers,
        gso=gso is Gso.AUTO,
        retry=retry,
        grace_s=parse_duration_s(grace),
        limits=Limits(
            connections=max_connections,
            connections_per_client=max_connections_per_client,
            streams=max_streams,
            memory_bytes=max_memory_mb * 1_000_000,
            handshake_s=_positive_duration_s(handshake_timeout, "--handshake-timeout"),
            idle_s=_positive_duration_s(idle_timeout, "--idle-timeout"),
        ),
        stop_with_stdin=stop_with_stdin,
        watch=WatchSettings(
            qlog_folder=qlog, qlog_bytes=qlog_mb * 1_000_000, explain=explain, connections=log_connections
        ),
        across_connections=across_connections,
    )
    configured = configure(scheme, SCHEMES, catalog.load_mapping, mapping)  # a wrong one is said before a site is built
    offered = served_site(open_site(site, origins))
    with appending(log) if log is not None else nullcontext() as kept:
        run_server(offered, configured, settings, _log(as_json, kept))


def _log(as_json: bool, kept: TextIO | None) -> ServerLog:
    if as_json:
        return JsonLog(kept)
    from mixedsched.cli._serve_log import TextLog  # here, because machines have no use for what it loads

    return TextLog(kept)


def _positive_duration_s(text: str, option: str) -> float:
    duration_s = parse_duration_s(text)
    if duration_s <= 0:
        raise UsageError(f"{option} must be longer than nothing")
    return duration_s
