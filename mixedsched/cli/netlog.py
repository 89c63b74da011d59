"""`netlog`: a page load over HTTP/3 according to the browser's own log."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from mixedsched.cli._console import out, shown
from mixedsched.cli._output import Json, say_json
from mixedsched.errors import InputError
from mixedsched.report.wide_table import WideTable
from mixedsched.units import counted, format_bytes, format_ms, printable
from mixedsched.world.browser.netlog import NetLog, QuicSession, StreamArrival, StreamRequest, read_netlog

_UNKNOWN = "–"
_STANDARD_INPUT = Path("/dev/stdin")


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched netlog net.json --json")(netlog)


def netlog(
    file: Annotated[
        Path, typer.Argument(help="A log that Chromium wrote with --log-net-log; - for standard input.", metavar="FILE")
    ],
    as_json: Json = False,
) -> None:
    """Read Chromium's NetLog: connections and why they were opened, head-of-line blocking, losses, the order of arrival.

    Logs that a killed browser left unfinished are read up to their end.
    """
    if str(file) == "-":
        file = _STANDARD_INPUT
    log = read_netlog(file)
    if not log.connections:
        raise _no_connection(file, log)
    if as_json:
        say_json({"file": str(file), **log.to_dict()})
        return
    _say_summary(file, log)
    out.print(_connection_table(log))
    for session in log.sessions:
        out.print(Text(f"#{session.source_id} {_reason(session)}: {printable(session.why)}", style="dim"))
    out.print()
    out.print(_stream_table(log))


def _no_connection(file: Path, log: NetLog) -> InputError:
    """The error for a log without any HTTP/3, whose figures would mean nothing."""
    if log.sessions:
        failed = log.sessions[-1]
        details = f" ({printable(failed.closing.details)})" if failed.closing else ""
        many = len(log.sessions)
        what = "one attempt failed," if many == 1 else f"{many} attempts failed, the last one"
        why = f"{what} to {printable(failed.host)}{details}"
    elif log.http2_hosts:
        why = f"the page came over HTTP/2, from {printable(', '.join(log.http2_hosts))}"
    else:
        why = "there is no QUIC session in it" + (", and its end is missing" if log.truncated else "")
    return InputError(
        f"{file} shows no HTTP/3 connection", why=why, fix="start Chromium with --origin-to-force-quic-on=HOST:443"
    )


def _say_summary(file: Path, log: NetLog) -> None:
    connections = counted(len(log.connections), "connection")
    version = f"Chromium {printable(log.chromium_version)}" if log.chromium_version else "unknown browser"
    out.print(f"[bold]{shown(str(file))}[/]: {shown(version)}, {connections}", soft_wrap=True)
    if log.truncated:
        out.print("[yellow]the end of the log is missing: figures cover only the part before it[/]")
    if log.unavailable:
        out.print(f"[yellow]this browser's log does not show: {', '.join(log.unavailable)}[/]")
    out.print(
        f"head-of-line blocking: {_bytes(log.hol_bytes)} within streams; an ordered transport would have held back "
        f"{_bytes(log.connection_hol_bytes)} (estimate)",
        soft_wrap=True,
    )
    out.print(
        f"packets from the server: {_number(log.packets_seen)} seen, {_lost(log.packets_seen, log.packets_lost)}\n"
    )


def _lost(seen: int | None, lost: int | None) -> str:
    if seen is None or lost is None or not seen:
        return f"{_number(lost)} lost"
    return f"{lost} lost ({lost / (seen + lost) * 100:.1f} %)"


def _table(title: str, columns: str, right: set[str]) -> WideTable:
    table = WideTable(Text(title))
    for name in columns.split(", "):
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return table


def _connection_table(log: NetLog) -> WideTable:
    table = _table(
        "connections, in order of opening",
        "id, host, opened, privacy mode, packets, lost, HOL, end",
        {"id", "opened", "packets", "lost", "HOL"},
    )
    for session in log.sessions:
        table.add_row(
            f"#{session.source_id}",
            Text(printable(session.host)),
            format_ms(session.opened_ms),
            Text(printable(session.privacy_mode or _UNKNOWN)),
            _number(session.packets_seen),
            _number(session.packets_lost),
            _bytes(session.hol_bytes),
            Text(_end(session)),
        )
    return table


def _reason(session: QuicSession) -> str:
    return session.reason.value.replace("_", " ")


def _end(session: QuicSession) -> str:
    if not session.established:
        prefix = "never established: "
    elif session.pooled_with is not None:
        return f"closed for #{session.pooled_with}"
    else:
        prefix = ""
    closing = session.closing
    return prefix + (
        f"{format_ms(closing.time_ms)}, {printable(closing.details or closing.error)}" if closing else "open"
    )


def _stream_table(log: NetLog) -> WideTable:
    several = len(log.connections) > 1
    table = _table(
        "streams, in order of arrival",
        ("connection, " if several else "") + "stream, first byte, last byte, bytes, HOL, header, updates, path",
        {"connection", "stream", "first byte", "last byte", "bytes", "HOL"},
    )
    requests = log.requests_by_stream
    for stream in log.streams:
        request = requests.get(stream.key)
        table.add_row(
            *([f"#{stream.session}"] if several else []),
            str(stream.stream_id),
            _time(stream.first_byte_ms),
            _time(stream.last_byte_ms),
            format_bytes(stream.received_bytes),
            _bytes(stream.hol_bytes),
            Text(printable(request.priority or _UNKNOWN) if request else ""),
            Text(printable(" → ".join(request.priority_updates) or _UNKNOWN) if request else ""),
            Text(_name(stream, request, log.connections[0].host)),
        )
    return table


def _name(stream: StreamArrival, request: StreamRequest | None, first_host: str) -> str:
    if request is None:
        return "(request not in the log)" if stream.is_request else "(control or QPACK)"
    host = "" if request.authority == first_host else request.authority
    return printable(f"{host}{request.path}")


def _bytes(size_bytes: int | None) -> str:
    return _UNKNOWN if size_bytes is None else format_bytes(size_bytes)


def _number(count: int | None) -> str:
    return _UNKNOWN if count is None else str(count)


def _time(time_ms: float | None) -> str:
    return _UNKNOWN if time_ms is None else format_ms(time_ms)
