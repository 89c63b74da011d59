"""Counters of an edge in Prometheus' text format, on a port of this machine only."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator

from mixedsched.core.h3.exchange import ServedRequest
from mixedsched.errors import MixedschedError

Sample = tuple[str, str, str, float]
"""(name, type, labels with braces or "", value)"""

_HELP = {
    "mixedsched_edge_requests_total": "Requests that are over, by status.",
    "mixedsched_edge_sent_bytes_total": "Bytes of responses on their streams, repeats included.",
    "mixedsched_edge_lost_packets_total": "Packets to clients that were declared lost.",
    "mixedsched_edge_repeated_bytes_total": "Bytes of responses that were sent again.",
    "mixedsched_edge_late_bytes_total": "Bytes of responses that left while a more urgent one had bytes to send.",
    "mixedsched_edge_incomplete_total": "Responses that were cut off, by whichever side.",
    "mixedsched_edge_origin_faults_total": "Requests that failed at the origin.",
    "mixedsched_edge_origin_seconds_total": "Time from requests to the origin's first answer, all together.",
    "mixedsched_edge_origin_answers_total": "Requests that the origin has answered.",
    "mixedsched_edge_connections": "Open connections of clients.",
    "mixedsched_edge_health_checks_total": "Health checks of the origin, by result.",
    "mixedsched_edge_workers": "Worker processes that say what they count.",
    "mixedsched_edge_origin_connections": "Open connections to the origin.",
    "mixedsched_edge_origin_waiting": "Requests that wait for a connection to the origin.",
    "mixedsched_edge_origin_up": "Whether the origin can be reached.",
    "mixedsched_edge_held_bytes": "Bytes of responses in memory.",
    "mixedsched_edge_rtt_seconds": "Mean of the round-trip times of all open connections, smoothed.",
}


class Counters:
    """What has happened since the edge began."""

    def __init__(self) -> None:
        self.by_status: Counter[int] = Counter()
        self.sent_bytes = 0
        self.incomplete = 0
        self.faults = 0
        self.origin_s = 0.0
        self.answers = 0

    def count(self, record: ServedRequest, origin_ms: float | None, *, is_fault: bool) -> None:
        self.by_status[record.status] += 1
        self.sent_bytes += record.sent_bytes
        self.incomplete += not record.complete
        self.faults += is_fault
        if origin_ms is not None:
            self.answers += 1
            self.origin_s += origin_ms / 1000

    def samples(self) -> Iterator[Sample]:
        for status, count in sorted(self.by_status.items()):
            yield "mixedsched_edge_requests_total", "counter", f'{{status="{status}"}}', count
        yield "mixedsched_edge_sent_bytes_total", "counter", "", self.sent_bytes
        yield "mixedsched_edge_incomplete_total", "counter", "", self.incomplete
        yield "mixedsched_edge_origin_faults_total", "counter", "", self.faults
        yield "mixedsched_edge_origin_seconds_total", "counter", "", round(self.origin_s, 6)
        yield "mixedsched_edge_origin_answers_total", "counter", "", self.answers


def as_text(samples: Iterator[Sample]) -> str:
    """The exposition format, version 0.0.4."""
    lines: list[str] = []
    said: set[str] = set()
    for name, kind, labels, value in samples:
        if name not in said:
            said.add(name)
            lines += [f"# HELP {name} {_HELP[name]}", f"# TYPE {name} {kind}"]
        lines.append(f"{name}{labels} {value}")
    return "\n".join(lines) + "\n"


class MetricsServer:
    """Answers GET /metrics over HTTP/1.1, one request a connection. url: where, if on a port."""

    def __init__(self, server: asyncio.Server, url: str | None) -> None:
        self._server = server
        self.url = url

    def close(self) -> None:
        self._server.close()


async def serve_metrics(
    where: int | str, samples: Callable[[], Awaitable[Iterator[Sample]]], *, shared: bool = False
) -> MetricsServer:
    """where: a TCP port of 127.0.0.1, 0 for any free one, or the path of a Unix socket. shared: with the process before or
    after this one, for as long as both run. Raises MixedschedError."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(5):
                head = await reader.readuntil(b"\r\n\r\n")
                first = head.split(b"\r\n", 1)[0].split(b" ")
                is_known = first[:1] == [b"GET"] and first[1:2] and first[1].partition(b"?")[0] == b"/metrics"
                body = as_text(await samples()).encode() if is_known else b"there is only /metrics\n"
                status = b"200 OK" if is_known else b"404 Not Found"
                fields = (
                    b"content-type: text/plain; version=0.0.4\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
                    % len(body)
                )
                writer.write(b"HTTP/1.1 " + status + b"\r\n" + fields + body)
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    try:
        if isinstance(where, str):
            return MetricsServer(await asyncio.start_unix_server(answer, where), None)
        server = await asyncio.start_server(answer, "127.0.0.1", where, reuse_port=shared or None)
    except OSError as error:
        raise MixedschedError(
            f"cannot listen on TCP 127.0.0.1:{where}" if isinstance(where, int) else f"cannot listen on {where}",
            why=error.strerror or str(error),
            fix="choose another --metrics-port, or 0 for a free one",
        ) from error
    return MetricsServer(server, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/metrics")
