"""`serve --explain` for people: who got the packets of a connection, as a strip of letters with its legend."""

from __future__ import annotations

from collections import Counter

from rich.text import Text

from mixedsched.cli._output import printable
from mixedsched.report.simulation import strip_text
from mixedsched.world.server.explain import StreamProgress, Stretch

STRIP_WIDTH = 48
MAX_NAMED = 6  # streams in the legend, those with most packets
MAX_PATH_WIDTH = 32
_NAMES = tuple(str(place) for place in range(52))  # as many as there are letters


def explain_text(stretch: Stretch, worker: int | None = None) -> Text:
    """One line: connection, time, the strip, and for each letter its path, priority, placement and how much of it was sent.

    Letters are those of the connection's requests in order, anew after 52 of them. A strip of more packets than it has room
    for is thinned. worker: the process that served it, where there are several.
    """
    line = Text(no_wrap=True, end="")
    line.append(f"[{worker}] " if worker is not None else "")
    line.append(f"#{stretch.connection}", style="bold")
    line.append(f" {stretch.to_ms / 1000:7.2f} s  ")
    line.append_text(_strip(list(stretch.runs), STRIP_WIDTH))
    packets: Counter[int] = Counter()
    for stream_id, count in stretch.runs:
        packets[stream_id] += count
    named = {stream_id for stream_id, _ in packets.most_common(MAX_NAMED)}
    for stream in stretch.streams:
        if stream.stream_id in named:
            line.append("  ")
            line.append_text(_strip([(stream.stream_id, 1)], 1))
            line.append(f" {_described(stream)}")
    if len(stretch.streams) > len(named):
        line.append(f"  and {len(stretch.streams) - len(named)} more", style="dim")
    if stretch.packets_left_out:
        line.append(f"  {stretch.packets_left_out} packets are not shown", style="dim")
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
