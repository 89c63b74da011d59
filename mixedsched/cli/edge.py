"""`edge`: HTTP/3 in front of any web server."""

from pathlib import Path
from typing import Annotated

import typer

from mixedsched.cli._edge_options import check_origin, origin_limits, origin_option
from mixedsched.cli._memory import memory_settings
from mixedsched.cli._options import (
    AcrossConnectionsOption,
    BeaconOption,
    DatagramSizeOption,
    MemoryOption,
    limit_option,
    log_option,
    network_option,
    refuse_across_workers,
)
from mixedsched.cli._output import Json
from mixedsched.cli._server_log import server_log
from mixedsched.cli._stdout import end_with_reader
from mixedsched.core.schedulers import SCHEMES
from mixedsched.model.congestion import CongestionControl
from mixedsched.model.scheme import configure
from mixedsched.units import parse_duration_s
from mixedsched.world import catalog
from mixedsched.world.edge.run import run_edge
from mixedsched.world.edge.settings import (
    Buffers,
    EdgeInput,
    EdgeLogs,
    EdgeSettings,
    OriginLimits,
    certificate_pairs,
    served_name,
)
from mixedsched.world.server.handover import MAX_WORKERS
from mixedsched.world.server.settings import MAX_STREAMS, Limits, ServerSettings, parse_datagram_bytes, parse_limit_s

_LIMITS, _ORIGIN, _BUFFERS = Limits(), OriginLimits(), Buffers()


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched edge --origin http://127.0.0.1:8080 --cert chain.pem --key key.pem")(edge)


def edge(
    origin: Annotated[
        str,
        origin_option(
            "The web server: http:// or https://HOST[:PORT], h2c://HOST[:PORT] or unix:/PATH.", metavar="URL"
        ),
    ],
    scheme: Annotated[
        str, typer.Option(help="Delivery scheme, with parameters: mixed:alpha=0.5.", metavar="S")
    ] = "eps",
    mapping: Annotated[
        str | None, typer.Option(help="Mapping table, by name or file; read again when it changes.", metavar="M")
    ] = None,
    memory: MemoryOption = None,
    beacon: BeaconOption = False,
    rules: Annotated[
        Path | None,
        typer.Option(
            help="Priorities by path, such as headers.txt of `tune`; read again when it changes.", metavar="FILE"
        ),
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(
            help="A host name that is served, such as shop.example or *.shop.example; may be given again. "
            "By default those of the certificates.",
            metavar="NAME",
        ),
    ] = None,
    cert: Annotated[
        list[Path] | None,
        typer.Option(
            help="Certificate in PEM, followed by its chain; several for several hosts. Without one, a certificate is made "
            "that no browser trusts by itself.",
            metavar="FILE",
        ),
    ] = None,
    key: Annotated[
        list[Path] | None, typer.Option(help="The certificate's key in PEM; as many as --cert.", metavar="FILE")
    ] = None,
    origin_host: Annotated[
        str | None,
        origin_option("Ask the origin for this host instead of the one that clients ask for.", metavar="NAME"),
    ] = None,
    origin_ca: Annotated[
        Path | None,
        origin_option("Certificate authority to trust for an https origin, instead of the system's.", metavar="FILE"),
    ] = None,
    origin_insecure: Annotated[
        bool, typer.Option("--origin-insecure", help="Trust any https origin.", rich_help_panel="Origin")
    ] = False,
    origin_connections: Annotated[
        int, origin_option("Limit of connections to the origin, or of requests on one over HTTP/2.", min=1, metavar="N")
    ] = _ORIGIN.connections,
    connect_timeout: Annotated[
        str, origin_option("Longest time to connect to the origin.", metavar="TIME")
    ] = f"{_ORIGIN.connect_s:g}s",
    answer_timeout: Annotated[
        str, origin_option("Longest time until the origin begins to answer.", metavar="TIME")
    ] = f"{_ORIGIN.answer_s:g}s",
    silence_timeout: Annotated[
        str, origin_option("Longest time without a byte of a response under way.", metavar="TIME")
    ] = f"{_ORIGIN.silence_s:g}s",
    health_path: Annotated[
        str | None,
        origin_option("Check the origin's health at this path, and answer with 503 while it fails.", metavar="PATH"),
    ] = None,
    listen: Annotated[str, network_option("Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, network_option("UDP port; 0 takes any free one.", min=0, max=65535)] = 4433,
    max_datagram_size: DatagramSizeOption = "auto",
    congestion_control: Annotated[
        CongestionControl, network_option("Congestion control of all connections.")
    ] = CongestionControl.CUBIC,
    workers: Annotated[int, network_option("Processes that share the port.", min=1, max=MAX_WORKERS)] = 1,
    across_connections: AcrossConnectionsOption = False,
    hand_over: Annotated[
        Path | None,
        network_option(
            "Take over from the edge that listens on this Unix socket, and hand over there to the next.", metavar="PATH"
        ),
    ] = None,
    buffer_mb: Annotated[
        int, limit_option("Limit of responses kept in memory, in megabytes.", min=1, metavar="N")
    ] = _BUFFERS.all_bytes // 1_000_000,
    spool: Annotated[
        Path | None,
        limit_option("Folder for files with what the origin sends faster than a client reads.", metavar="DIR"),
    ] = None,
    max_body_mb: Annotated[
        int, limit_option("Largest body of a request, in megabytes.", min=1, metavar="N")
    ] = _BUFFERS.request_bytes // 1_000_000,
    max_connections: Annotated[int, limit_option("Limit of connections.", min=1, metavar="N")] = _LIMITS.connections,
    max_streams: Annotated[
        int, limit_option("Limit of open requests per connection.", min=1, max=MAX_STREAMS, metavar="N")
    ] = _LIMITS.streams,
    idle_timeout: Annotated[
        str, limit_option("Longest time without a packet from the client.", metavar="TIME")
    ] = f"{_LIMITS.idle_s:g}s",
    grace: Annotated[str, limit_option("Time for responses under way when told to stop.", metavar="TIME")] = "10s",
    access_log: Annotated[
        Path | None, log_option("Append a line for each request, in the combined format.", metavar="FILE")
    ] = None,
    access_json: Annotated[Path | None, log_option("Append a JSON line for each request.", metavar="FILE")] = None,
    metrics_port: Annotated[
        int | None,
        log_option(
            "Counters in Prometheus' text format on this TCP port of 127.0.0.1; 0 takes any free one.", min=0, max=65535
        ),
    ] = None,
    stop_with_stdin: Annotated[bool, typer.Option("--stop-with-stdin", help="Stop when standard input ends.")] = False,
    as_json: Json = False,
) -> None:
    """Put HTTP/3 with any scheme in front of a web server, which keeps TCP and adds one `Alt-Svc` line.

    Prints a line for each request. SIGHUP reads certificates, mapping and rules again. When told to stop, it takes no more
    requests and finishes those under way; a second signal stops it at once.
    """
    end_with_reader()
    refuse_across_workers(workers, across_connections=across_connections)
    check_origin(spool, origin_host)
    settings = ServerSettings(
        host=listen,
        port=port,
        congestion_control=congestion_control,
        workers=workers,
        grace_s=parse_duration_s(grace),
        limits=Limits(
            connections=max_connections, streams=max_streams, idle_s=parse_limit_s(idle_timeout, "--idle-timeout")
        ),
        stop_with_stdin=stop_with_stdin,
        max_datagram_bytes=parse_datagram_bytes(max_datagram_size),
        across_connections=across_connections,
        hand_over=hand_over,
    )
    edge_settings = EdgeSettings(
        origin=origin,
        hosts=tuple(map(served_name, host or [])),
        certificates=certificate_pairs(cert or [], key or []),
        origin_host=origin_host,
        origin_ca=origin_ca,
        origin_verify=not origin_insecure,
        rules=rules,
        limits=origin_limits(origin_connections, connect_timeout, answer_timeout, silence_timeout, health_path),
        buffers=Buffers(all_bytes=buffer_mb * 1_000_000, spool=spool, request_bytes=max_body_mb * 1_000_000),
        log=EdgeLogs(access_log, access_json, metrics_port),
    )
    configure(scheme, SCHEMES, catalog.load_mapping, mapping)
    keeps = memory_settings(
        scheme, memory, across_connections=across_connections, hosts=len(host or []), beacons=beacon
    )
    run_edge(EdgeInput(edge_settings, scheme, mapping, settings, keeps), server_log(as_json))
