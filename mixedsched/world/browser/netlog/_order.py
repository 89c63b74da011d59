"""The order in which response bytes arrived, for people: neighbouring frames of the same response as one entry."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from mixedsched.world.browser.netlog._values import NetLog


@dataclass(frozen=True, slots=True)
class ArrivalRun:
    """Frames of one response that arrived one after the other. size_bytes: all of them, repeated ones too.

    from_ms, to_ms: when the first and the last of them came, as NetLog counts time. path: "stream N" and no authority if the
    log has no request for the stream. blocked_bytes: of these, new ones that had to wait for a lost packet of their stream.
    """

    authority: str
    path: str
    from_ms: float
    to_ms: float
    frames: int
    size_bytes: int
    blocked_bytes: int = 0


def arrival_order(log: NetLog) -> list[ArrivalRun]:
    """The order in which response bytes arrived, run-length coded: neighbouring frames of the same response are one entry.

    A run also ends where blocked frames begin or end. Frames without bytes (a late FIN) are left out. All connections are
    merged by time.
    """
    requests = {(item.session, item.stream_id): item for item in log.requests}
    carrying = (frame for frame in log.arrivals if frame.length_bytes)
    runs = []
    for key, group in groupby(carrying, key=lambda frame: (frame.session, frame.stream_id, frame.blocked_bytes > 0)):
        frames = list(group)
        request = requests.get(key[:2])
        authority, path = (request.authority, request.path) if request else ("", f"stream {key[1]}")
        runs.append(
            ArrivalRun(
                authority,
                path,
                frames[0].time_ms,
                frames[-1].time_ms,
                len(frames),
                sum(frame.length_bytes for frame in frames),
                sum(frame.blocked_bytes for frame in frames),
            )
        )
    return runs
