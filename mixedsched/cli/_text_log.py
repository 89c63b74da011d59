"""The log of `serve` and `edge` for people: how to visit the site, a line for each request, and `--explain`."""

from collections import Counter

from rich.text import Text

from mixedsched.cli._console import err, out, shown
from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.report.simulation import strip_text
from mixedsched.units import format_bytes, printable
from mixedsched.world.server.log import LoggedEvent, ServerLog
from mixedsched.world.server.running import ConnectionRecord, ServerFacts
from mixedsched.world.server.schedule import ScheduleInterval, StreamProgress
from mixedsched.world.system.udp import BUFFER_BYTES

STRIP_WIDTH = 48
MAX_NAMED = 6  # streams in the legend, those with most packets
MAX_PATH_WIDTH = 32
_NAMES = tuple(str(place) for place in range(52))  # as many as there are letters


class TextLog(ServerLog):
    """Lines for people."""

    def listening(self, facts: ServerFacts) -> None:
        where = facts.listening
        what = f"[bold]{shown(facts.site)}[/] with [bold]{shown(facts.scheme)}[/]"
        out.print(f"serving {what} on UDP {shown(where)}", soft_wrap=True)
        out.print(f"open {shown(facts.url)} in Chromium with", soft_wrap=True)
        rules = ", ".join(f"MAP {name} {where}" for name in facts.hosts)
        out.print(
            "  --user-data-dir=$(mktemp -d) --origin-to-force-quic-on=* "
            f"--ignore-certificate-errors-spki-list={facts.spki_sha256} "
            f'--host-resolver-rules="{rules}"',
            soft_wrap=True,
            markup=False,
        )
        err.print("Ctrl-C stops the server", style="dim")
        if facts.has_short_buffers:
            _warn_of_short_buffers(facts)

    def _line(self, event: LoggedEvent, worker: int | None) -> str:
        match event:
            case ServedRequest():
                return _prefix(worker) + _request_text(event)
            case ConnectionRecord():
                return _prefix(worker) + _connection_text(event)
            case ScheduleInterval():
                with out.capture() as captured:
                    out.print(explain_text(event, worker), soft_wrap=True, end="")
                return captured.get()


def _request_text(request: ServedRequest) -> str:
    first = f"{request.first_byte_ms:.0f}" if request.first_byte_ms is not None else "-"
    last = f"{request.last_byte_ms:.0f}" if request.last_byte_ms is not None else "cancelled"
    return (
        f"{request.status} {printable(request.path)}  {request.kind}, {format_bytes(request.body_bytes)}"
        f"  signalled {request.signal} ({request.signalled_by})  placed {request.placement}"
        f"  bytes from {first} to {last} ms"
    )


def _connection_text(connection: ConnectionRecord) -> str:
    name = printable(connection.server_name) if connection.server_name is not None else "no host"
    return f"connection {connection.connection} from {connection.client}, which asked for {name}"


def _prefix(worker: int | None) -> str:
    return "" if worker is None else f"[{worker}] "


def _warn_of_short_buffers(facts: ServerFacts) -> None:
    err.print(
        f"the system limits socket buffers: {format_bytes(facts.receive_buffer_bytes)} to receive and "
        f"{format_bytes(facts.send_buffer_bytes)} to send; packets that do not fit are lost",
        style="yellow",
        soft_wrap=True,
    )
    err.print(f"  fix: sysctl -w net.core.rmem_max={BUFFER_BYTES} net.core.wmem_max={BUFFER_BYTES}", soft_wrap=True)


def explain_text(interval: ScheduleInterval, worker: int | None = None) -> Text:
    """One line: connection, time, the strip, and for each letter its path, priority, placement and how much of it was sent.

    Letters stand for the connection's requests in order; after 52 they repeat. A strip of more packets than it has room for is
    thinned. worker: the process that served it, where there are several.
    """
    line = Text(no_wrap=True, end="")
    line.append(_prefix(worker))
    line.append(f"#{interval.connection}", style="bold")
    line.append(f" {interval.to_ms / 1000:7.2f} s  ")
    line.append_text(_strip(list(interval.runs), STRIP_WIDTH))
    packets: Counter[int] = Counter()
    for stream_id, count in interval.runs:
        packets[stream_id] += count
    named = {stream_id for stream_id, _ in packets.most_common(MAX_NAMED)}
    for stream in interval.streams:
        if stream.stream_id in named:
            line.append("  ")
            line.append_text(_strip([(stream.stream_id, 1)], 1))
            line.append(f" {_described(stream)}")
    if len(interval.streams) > len(named):
        line.append(f"  and {len(interval.streams) - len(named)} more", style="dim")
    if interval.packets_left_out:
        line.append(f"  {interval.packets_left_out} packets are not shown", style="dim")
    return line


def _strip(runs: list[tuple[int, int]], width: int) -> Text:
    return strip_text([(_NAMES[stream_id // 4 % len(_NAMES)], count) for stream_id, count in runs], width, _NAMES)


def _described(stream: StreamProgress) -> str:
    path = printable(stream.path)
    if len(path) > MAX_PATH_WIDTH:
        path = path[: MAX_PATH_WIDTH - 1] + "…"
    # The head is sent, too, so that there may be more than the body.
    percent = min(100, stream.sent_bytes * 100 // stream.body_bytes) if stream.body_bytes else 100
    placed = "" if stream.placement in ("-", stream.priority) else f" as {stream.placement}"
    return f"{path} {stream.priority}{placed} {percent} %"
