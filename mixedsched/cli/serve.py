"""`serve`: an HTTP/3 server for one site under one scheme."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from mixedsched.cli._offer import Offer, prepare_offer
from mixedsched.cli._output import Json, LineWriter, printable, say_json
from mixedsched.core.h3.certificate import Certificate, make_certificate
from mixedsched.core.h3.qlog import MAX_TRACE_BYTES
from mixedsched.core.h3.session import Served
from mixedsched.errors import UsageError
from mixedsched.units import format_bytes, parse_duration_s
from mixedsched.world.server.admission import RetryPolicy
from mixedsched.world.server.connected import Connected
from mixedsched.world.server.explain import Stretch
from mixedsched.world.server.handover import MAX_WORKERS
from mixedsched.world.server.limits import Limits
from mixedsched.world.server.qlog_files import prepare_folder
from mixedsched.world.server.run import open_server
from mixedsched.world.server.settings import Listening, ServerSettings, WatchSettings
from mixedsched.world.system.udp import BUFFER_BYTES, host_and_port

_NETWORK = "Network"
_LIMITS = "Limits"
_WATCH = "To watch it"
_DEFAULTS = Limits()


class Gso(StrEnum):
    """Whether flights of packets go out in one system call each."""

    AUTO = "auto"
    OFF = "off"


class OriginsChoice(StrEnum):
    """As sites.Origins, without the libraries that come with it."""

    KEEP = "keep"
    MERGE = "merge"


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched serve agency --scheme mixed:alpha=0.5 --port 4433")(serve)


def serve(
    site: Annotated[str, typer.Argument(help="A bundled site, or a folder with an index.html.", metavar="SITE")],
    origins: Annotated[
        OriginsChoice | None,
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
    opened = prepare_offer(site, scheme, mapping, origins)
    configured = opened.scheme
    certificate = make_certificate([*opened.hosts, "localhost", "127.0.0.1", "::1"], dt.datetime.now(dt.UTC))

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

    def listening(facts: Listening) -> None:
        where = host_and_port(facts.host, facts.port)
        if as_json:
            say_json(
                {
                    "listening": where,
                    "spki_sha256": certificate.spki_sha256,
                    "site": opened.name,
                    "url": opened.url,
                    "hosts": list(opened.hosts),
                    "connections": opened.connections,
                    "across_connections": across_connections,
                    "scheme": configured.label,
                    "mapping": configured.mapping.name if configured.mapping else None,
                    "workers": facts.workers,
                    "gso": facts.gso,
                    "receive_buffer_bytes": facts.receive_buffer_bytes,
                    "send_buffer_bytes": facts.send_buffer_bytes,
                }
            )
            return
        _say_how_to_visit(opened, certificate, where)
        if facts.has_short_buffers:
            _warn_of_short_buffers(facts)

    with ExitStack() as stack:
        log_file = stack.enter_context(_appending(log)) if log is not None else None
        server = open_server(settings, certificate, configured, opened.files)
        lines = stack.enter_context(LineWriter())
        log_lines = stack.enter_context(LineWriter(log_file)) if log_file is not None else None

        def served(request: Served, worker: int | None) -> None:
            lines.write(_line(request, worker, as_json))
            if log_lines is not None:
                log_lines.write(_log_line(request, worker, dt.datetime.now(dt.UTC)))

        def explained(stretch: Stretch, worker: int | None) -> None:
            lines.write_minor(lambda: _explanation(stretch, worker, as_json))

        def connected(connection: Connected, worker: int | None) -> None:
            lines.write(_connection_line(connection, worker, as_json))

        server.run(listening, served, explained, connected)


def _say_how_to_visit(offer: Offer, certificate: Certificate, where: str) -> None:
    from rich.markup import escape  # here and below: a server that talks to machines has no use for a console

    from mixedsched.cli._console import err, out

    out.print(f"serving [bold]{escape(offer.name)}[/] with [bold]{escape(offer.scheme.label)}[/] on UDP {where}")
    out.print(f"open {offer.url} in Chromium with")
    rules = ", ".join(f"MAP {name} {where}" for name in offer.hosts)
    out.print(
        "  --user-data-dir=$(mktemp -d) --origin-to-force-quic-on=* "
        f"--ignore-certificate-errors-spki-list={certificate.spki_sha256} "
        f'--host-resolver-rules="{rules}"',
        soft_wrap=True,
        markup=False,
    )
    err.print("Ctrl-C stops the server", style="dim")


@contextmanager
def _appending(path: Path) -> Iterator[TextIO]:
    """A log to append to. Raises UsageError if it cannot be opened."""
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot write the log {path}", why=error.strerror or str(error), fix="name a file that you may write to"
        ) from error
    try:
        yield file
    finally:
        with suppress(OSError):  # a full disk was told of when it was met
            file.close()


def _positive_duration_s(text: str, option: str) -> float:
    duration_s = parse_duration_s(text)
    if duration_s <= 0:
        raise UsageError(f"{option} must be longer than nothing")
    return duration_s


def _warn_of_short_buffers(facts: Listening) -> None:
    from mixedsched.cli._console import err

    err.print(
        f"the system limits socket buffers: {format_bytes(facts.receive_buffer_bytes)} to receive and "
        f"{format_bytes(facts.send_buffer_bytes)} to send; packets that do not fit are lost",
        style="yellow",
        soft_wrap=True,
    )
    err.print(f"  fix: sysctl -w net.core.rmem_max={BUFFER_BYTES} net.core.wmem_max={BUFFER_BYTES}", soft_wrap=True)


def _line(served: Served, worker: int | None, as_json: bool) -> str:
    """A request as a line of the log. worker: the process that served it, where there are several."""
    if not as_json:
        return _text(served) if worker is None else f"[{worker}] {_text(served)}"
    return json.dumps({"request": _with_worker(served.to_dict(), worker)})


def _log_line(served: Served, worker: int | None, at: dt.datetime) -> str:
    """The same for a log that is kept, which says when the request was over."""
    time = at.isoformat(timespec="milliseconds")
    return json.dumps({"time": time, "request": _with_worker(served.to_dict(), worker)})


def _explanation(stretch: Stretch, worker: int | None, as_json: bool) -> str:
    if as_json:
        return json.dumps({"schedule": _with_worker(stretch.to_dict(), worker)})
    from mixedsched.cli._console import out
    from mixedsched.cli._explain import explain_text

    with out.capture() as captured:
        out.print(explain_text(stretch, worker), soft_wrap=True, end="")
    return captured.get()


def _connection_line(connection: Connected, worker: int | None, as_json: bool) -> str:
    if as_json:
        return json.dumps({"connection": _with_worker(connection.to_dict(), worker)})
    name = printable(connection.server_name) if connection.server_name is not None else "no host"
    prefix = "" if worker is None else f"[{worker}] "
    return f"{prefix}connection {connection.connection} from {connection.client}, which asked for {name}"


def _with_worker(facts: dict[str, Any], worker: int | None) -> dict[str, Any]:
    return facts if worker is None else {**facts, "worker": worker}


def _text(served: Served) -> str:
    """A request as a line for people."""
    first = f"{served.first_byte_ms:.0f}" if served.first_byte_ms is not None else "-"
    last = f"{served.last_byte_ms:.0f}" if served.last_byte_ms is not None else "cancelled"
    return (
        f"{served.status} {printable(served.path)}  {served.kind}, {format_bytes(served.body_bytes)}"
        f"  signalled {served.signal} ({served.signalled_by})  placed {served.placement}  bytes from {first} to {last} ms"
    )
