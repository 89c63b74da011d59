"""`serve`: an HTTP/3 server for one site under one scheme."""

from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mixedsched.cli._memory import memory_settings
from mixedsched.cli._options import (
    SITE_HELP,
    AcrossConnectionsOption,
    BeaconOption,
    DatagramSizeOption,
    FetchOption,
    FreshOption,
    MemoryOption,
    OriginsOption,
    limit_option,
    log_option,
    network_option,
    refuse_across_workers,
)
from mixedsched.cli._output import Json
from mixedsched.cli._server_log import server_log
from mixedsched.cli._sites import located, open_site
from mixedsched.cli._stdout import end_with_reader
from mixedsched.core.h3 import MAX_TRACE_BYTES
from mixedsched.core.schedulers import SCHEMES
from mixedsched.model.congestion import CongestionControl
from mixedsched.model.scheme import configure
from mixedsched.sites.serving import served_site
from mixedsched.units import parse_duration_s
from mixedsched.world import catalog
from mixedsched.world.server.handover import MAX_WORKERS
from mixedsched.world.server.log import appending
from mixedsched.world.server.qlog_files import prepare_folder
from mixedsched.world.server.run import run_server
from mixedsched.world.server.running import ServerInput
from mixedsched.world.server.settings import (
    MAX_STREAMS,
    Limits,
    LogSettings,
    RetryPolicy,
    ServerSettings,
    parse_datagram_bytes,
    parse_limit_s,
)

_DEFAULTS = Limits()


class Gso(StrEnum):
    """Whether flights of packets go out in one system call each."""

    AUTO = "auto"
    OFF = "off"


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched serve agency --scheme mixed:alpha=0.5 --port 4433")(serve)


def serve(
    site: Annotated[str, typer.Argument(help=SITE_HELP, metavar="SITE")],
    origins: OriginsOption = None,
    scheme: Annotated[
        str, typer.Option(help="Delivery scheme, with parameters: mixed:alpha=0.5.", metavar="S")
    ] = "eps",
    mapping: Annotated[
        str | None, typer.Option(help="Mapping table, by name or file; the scheme's own by default.", metavar="M")
    ] = None,
    memory: MemoryOption = None,
    beacon: BeaconOption = False,
    host: Annotated[str, network_option("Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, network_option("UDP port; 0 takes any free one.", min=0, max=65535)] = 4433,
    congestion_control: Annotated[
        CongestionControl,
        network_option("Congestion control of all connections; cubic-2022 is RFC 8312 without HyStart and pacing."),
    ] = CongestionControl.CUBIC,
    workers: Annotated[int, network_option("Processes that share the port.", min=1, max=MAX_WORKERS)] = 1,
    across_connections: AcrossConnectionsOption = False,
    gso: Annotated[
        Gso,
        network_option(
            "Send flights of packets in one system call where the kernel can. "
            "Choose off if the kernel emulates the link (tc netem, tbf): it would lose or delay whole flights."
        ),
    ] = Gso.AUTO,
    max_datagram_size: DatagramSizeOption = "auto",
    retry: Annotated[
        RetryPolicy, limit_option("When clients must prove their address first (QUIC Retry); auto: under load.")
    ] = RetryPolicy.AUTO,
    max_connections: Annotated[
        int, limit_option("Limit of connections in all.", min=1, metavar="N")
    ] = _DEFAULTS.connections,
    max_connections_per_client: Annotated[
        int, limit_option("Limit of connections from one address.", min=1, metavar="N")
    ] = _DEFAULTS.connections_per_client,
    max_streams: Annotated[
        int, limit_option("Limit of open requests per connection.", min=1, max=MAX_STREAMS, metavar="N")
    ] = _DEFAULTS.streams,
    max_memory_mb: Annotated[
        int, limit_option("Refuse new clients while more memory than this is in use, in megabytes.", min=1, metavar="N")
    ] = _DEFAULTS.memory_bytes // 1_000_000,
    handshake_timeout: Annotated[
        str, limit_option("Longest time for a handshake.", metavar="TIME")
    ] = f"{_DEFAULTS.handshake_s:g}s",
    idle_timeout: Annotated[
        str, limit_option("Longest time without a packet from the client.", metavar="TIME")
    ] = f"{_DEFAULTS.idle_s:g}s",
    grace: Annotated[
        str, limit_option("Time for responses under way when the server is told to stop.", metavar="TIME")
    ] = "2s",
    explain: Annotated[
        bool, log_option("Show live which response got the packets, ten times a second.", "--explain")
    ] = False,
    qlog: Annotated[
        Path | None, log_option("Write a qlog trace of each connection into a folder.", metavar="DIR")
    ] = None,
    qlog_mb: Annotated[int, log_option("Largest size of a trace, in megabytes.", min=1, metavar="N")] = MAX_TRACE_BYTES
    // 1_000_000,
    log_connections: Annotated[
        bool,
        log_option(
            "Also print a line for each connection, with the host name that its client asked for.", "--log-connections"
        ),
    ] = False,
    log: Annotated[Path | None, log_option("Append a JSON line for each request to a file.", metavar="FILE")] = None,
    stop_with_stdin: Annotated[bool, typer.Option("--stop-with-stdin", help="Stop when standard input ends.")] = False,
    fresh: FreshOption = False,
    fetch: FetchOption = False,
    as_json: Json = False,
) -> None:
    """Serve a site over HTTP/3, deciding packet by packet whose bytes go next.

    Prints a line for each request: what was signalled, where it was placed, when its first and last byte left.
    When told to stop, it takes no more requests and finishes those under way; a second signal stops it at once.
    """
    end_with_reader()
    refuse_across_workers(workers, across_connections=across_connections)
    settings = ServerSettings(
        host=host,
        port=port,
        congestion_control=congestion_control,
        workers=workers,
        gso=gso is Gso.AUTO,
        retry=retry,
        max_datagram_bytes=parse_datagram_bytes(max_datagram_size),
        grace_s=parse_duration_s(grace),
        limits=Limits(
            connections=max_connections,
            connections_per_client=max_connections_per_client,
            streams=max_streams,
            memory_bytes=max_memory_mb * 1_000_000,
            handshake_s=parse_limit_s(handshake_timeout, "--handshake-timeout"),
            idle_s=parse_limit_s(idle_timeout, "--idle-timeout"),
        ),
        stop_with_stdin=stop_with_stdin,
        log=LogSettings(qlog, qlog_mb * 1_000_000, explain, log_connections),
        across_connections=across_connections,
    )
    if qlog is not None:
        prepare_folder(qlog)
    configure(scheme, SCHEMES, catalog.load_mapping, mapping)  # so that a wrong one is refused before a site is built
    given = ServerInput(
        served_site(open_site(located(site, fresh=fresh, fetch=fetch), origins)),
        scheme,
        mapping,
        settings,
        memory_settings(scheme, memory, across_connections=across_connections, beacons=beacon),
    )
    with appending(log) if log is not None else nullcontext() as kept:
        run_server(given, server_log(as_json, kept))
