"""Makes visits of what one connection's decisions tell."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from mixedsched.core.learning.beacon import BeaconReport, counted, is_beacon, read_beacon
from mixedsched.core.learning.visit import (
    MAX_PATH,
    MAX_POINTS,
    MAX_REQUESTS,
    MAX_SIZE_BYTES,
    SeenNetwork,
    SeenRequest,
    Visit,
)
from mixedsched.model.request import Request

MOMENT_MS = 40.0
"""Repeats that are no further apart are of one loss."""
FEWEST_MOMENTS = 3
QUEUED = 1.5
"""From this ratio of the longest round trip to the shortest on, there is a queue that may overflow."""
PACKET_BYTES = 1160
RATE_BYTES = 30_000
"""What tells of a rate at least: less leaves with the first flights, as fast as the server can send."""
IDLE_MS = 2000.0
"""When nothing leaves for so long, the visitor or a script has paused: that tells nothing of the network."""
OVER_MS = 5000.0
"""When nothing was under way for so long, the page is loaded: what is asked for then comes of scrolling, clicks or clocks, the
more of it the longer people stay, and is no part of the page.
"""
HOLD_S = 10.0
"""How long a visit that is over waits for its beacon."""
PAGES_MOST = 8


@dataclass(frozen=True, slots=True)
class _Held:
    """A visit that is over, and waits for its beacon."""

    visit: Visit
    began_s: float
    ended_s: float


@dataclass(slots=True)
class _Moment:
    """Data was sent again."""

    at_ms: float
    """When the latest of it was."""
    again_bytes: int
    rtt_ms: float | None


class VisitRecorder:
    """Listens to the decisions of one connection and makes visits of them; h3.events.DecisionObserver. Must not raise.

    take: told of each visit when it is over. order: asked for the name of the order in force when a visit begins.
    connection: asked for what the transport knows, at each request and when the visit ends. beacons: whether requests under the
    reserved path are read; a visit without one then waits a while for it, as a page reports when another one takes its place.

    A visit has what its page asks for: not what is fetched in advance for another page, nor what another page of this
    connection asks for, which the browser shows again without asking for its document.
    """

    def __init__(
        self,
        take: Callable[[Visit], None],
        order: Callable[[], str] = lambda: "safe",
        connection: Callable[[], SeenNetwork] = SeenNetwork,
        *,
        beacons: bool = False,
    ) -> None:
        self.latest_rate_bps: float | None = None
        """Of the latest visit that told it."""
        self._take = take
        self._order_now = order
        self._connection = connection
        self._beacons = beacons
        self._held: _Held | None = None
        self._beacon: BeaconReport | None = None
        self._pages: deque[str] = deque(maxlen=PAGES_MOST)  # that were navigated to before
        self._order = ""
        self._began_s = 0.0
        self._requests: dict[int, SeenRequest] = {}
        self._main = -1
        self._progress: list[tuple[float, int]] = []
        self._all_bytes = 0
        self._repeats: list[_Moment] = []
        self._longest_rtt_ms = 0.0
        self._latest_ms: float | None = None  # when something left last
        self._idle_ms = self._idle_before_end_ms = 0.0  # in all, and until the latest response was complete

    def placed(self, now_s: float, stream_id: int, request: Request, placement: str) -> None:  # noqa: ARG002
        self._release(now_s, HOLD_S)
        seen = self._requests.get(stream_id)
        if seen is not None:
            seen.raised |= request.chromium_priority.rank < seen.priority.rank
            return
        if self._beacons and is_beacon(request.path):
            if request.is_found:
                self._note_beacon(now_s, request.path)
            return
        if request.is_prefetch:
            return
        if not request.is_found:
            if request.navigates:
                self._end(now_s)
            return
        if request.navigates:
            self._end(now_s)
            self._main, self._began_s, self._order = stream_id, now_s, self._order_now()
        elif (
            self._main < 0
            or len(self._requests) >= MAX_REQUESTS
            or self._is_of_another_page(request)
            or self._is_loaded(now_s)
        ):
            return
        self._requests[stream_id] = SeenRequest(
            path=request.path[:MAX_PATH],
            kind=request.kind,
            mime=request.mime[:60],
            size_bytes=min(request.body_bytes, MAX_SIZE_BYTES),
            is_sized=request.body_bytes > 0 or request.is_unsent,
            is_unsent=request.is_unsent,
            priority=request.chromium_priority,
            incremental=request.signal.incremental,
            requested_ms=(now_s - self._began_s) * 1000,
            referrer=None if request.referrer is None else request.referrer[:MAX_PATH],
            rtt_ms=self._latest_rtt_ms(),
        )

    def scheduled(self, now_s: float, stream_id: int, size_bytes: int, again_bytes: int, packet: int) -> None:  # noqa: ARG002
        seen = self._requests.get(stream_id)
        if seen is None:
            return
        now_ms = (now_s - self._began_s) * 1000
        if self._latest_ms is not None and now_ms - self._latest_ms > IDLE_MS:
            self._idle_ms += now_ms - self._latest_ms
        self._latest_ms = now_ms
        if seen.first_byte_ms is None:
            seen.first_byte_ms = now_ms
        seen.sent_bytes += size_bytes - again_bytes
        self._all_bytes += size_bytes
        if again_bytes:
            self._note_repeat(now_ms, again_bytes)
        if seen.sent_bytes >= seen.size_bytes and (seen.last_byte_ms is None or not seen.is_sized):
            seen.last_byte_ms = now_ms
            self._idle_before_end_ms = self._idle_ms
        if stream_id == self._main and (len(self._progress) < MAX_POINTS or seen.last_byte_ms == now_ms):
            most_bytes = seen.size_bytes if seen.is_sized else MAX_SIZE_BYTES
            self._progress.append((now_ms, min(seen.sent_bytes, most_bytes)))

    def closed(self, now_s: float, stream_id: int) -> None:
        """The times of a response are known by when it has left."""

    def finish(self) -> None:
        """The connection ends, and so does the visit."""
        self._end(math.inf)
        self._release(math.inf, 0.0)

    def _end(self, now_s: float) -> None:
        """The visit is over: another one begins, or the connection ends."""
        self._release(now_s, 0.0)
        for seen in self._requests.values():
            if not seen.is_sized:  # an answer that comes with time does not tell its length before its end
                seen.size_bytes = min(seen.sent_bytes, MAX_SIZE_BYTES)
        if self._main >= 0 and self._main in self._requests:
            known = self._connection()
            rate_bps = self._rate_bps(known.rtt_ms)
            self.latest_rate_bps = rate_bps or self.latest_rate_bps
            visit = Visit(
                tuple(self._requests.values()),
                tuple(self._progress),
                SeenNetwork(known.rtt_ms, rate_bps, *self._losses(known.rtt_ms)),
                self._order,
            )
            self._pages.append(self._requests[self._main].path)
            if self._beacons and self._beacon is None:
                self._held = _Held(visit, self._began_s, now_s)
            else:
                self._take(visit if self._beacon is None else replace(visit, beacon=self._beacon.beacon))
        self._main, self._requests, self._progress = -1, {}, []
        self._all_bytes, self._repeats, self._longest_rtt_ms, self._beacon = 0, [], 0.0, None
        self._latest_ms, self._idle_ms, self._idle_before_end_ms = None, 0.0, 0.0

    def _release(self, now_s: float, after_s: float) -> None:
        """Hand over the visit that waits for its beacon, if it has waited so long."""
        held = self._held
        if held is not None and (now_s == math.inf or now_s - held.ended_s >= after_s):
            self._held = None
            self._take(held.visit)

    def _note_beacon(self, now_s: float, path: str) -> None:
        """Count a beacon for the visit that it is of; each has one at most."""
        report = read_beacon(path)
        if report is None:
            return
        if self._held is not None:
            told = counted(self._held.visit, report, (now_s - self._held.began_s) * 1000)
            if told is not None:
                self._held = None
                self._take(told)
                return
        if self._beacon is None and self._main in self._requests:
            age_ms = (now_s - self._began_s) * 1000
            told = counted(Visit(tuple(self._requests.values())), report, age_ms)
            if told is not None and told.beacon is not None:
                self._beacon = replace(report, beacon=told.beacon)

    def _is_loaded(self, now_s: float) -> bool:
        """Whether all that was asked for has left long ago."""
        if self._latest_ms is None or (now_s - self._began_s) * 1000 - self._latest_ms < OVER_MS:
            return False
        return all(item.last_byte_ms is not None for item in self._requests.values())

    def _is_of_another_page(self, request: Request) -> bool:
        """Whether it says that it comes from a page that was navigated to before this one."""
        return (
            request.referrer is not None
            and request.referrer[:MAX_PATH] in self._pages
            and request.referrer[:MAX_PATH] != self._requests[self._main].path
        )

    def _latest_rtt_ms(self) -> float | None:
        rtt_ms = self._connection().latest_rtt_ms
        self._longest_rtt_ms = max(self._longest_rtt_ms, rtt_ms or 0.0)
        return rtt_ms

    def _note_repeat(self, now_ms: float, again_bytes: int) -> None:
        if self._repeats and now_ms - self._repeats[-1].at_ms < MOMENT_MS:
            self._repeats[-1].at_ms = now_ms
            self._repeats[-1].again_bytes += again_bytes
        elif len(self._repeats) < MAX_POINTS:
            self._repeats.append(_Moment(now_ms, again_bytes, self._latest_rtt_ms()))

    def _losses(self, least_rtt_ms: float | None) -> tuple[float, float]:
        """Share of packets lost, and how many in a row. Left out is what a full queue has dropped: losses while round trips
        were long, and the largest moment, as a queue may overflow before a round trip shows it."""
        full_ms = math.inf
        if least_rtt_ms is not None and self._longest_rtt_ms > QUEUED * least_rtt_ms:
            full_ms = (least_rtt_ms + self._longest_rtt_ms) / 2
        sizes = sorted(item.again_bytes for item in self._repeats if item.rtt_ms is None or item.rtt_ms < full_ms)[:-1]
        if len(sizes) < FEWEST_MOMENTS or not self._all_bytes:
            return 0.0, 1.0
        return sum(sizes) / self._all_bytes, max(1.0, sum(sizes) / len(sizes) / PACKET_BYTES)

    def _rate_bps(self, rtt_ms: float | None) -> float | None:
        """Bytes over time from the first response's beginning to the last one's end, without what was idle."""
        done = [
            item
            for item in self._requests.values()
            if item.last_byte_ms is not None and item.first_byte_ms is not None and not item.is_unsent
        ]
        if len(done) < 2:
            return None
        end_ms = max(item.last_byte_ms or 0.0 for item in done)
        begin_ms = min(item.first_byte_ms or 0.0 for item in done)
        wait_ms = 2 * (rtt_ms or 0.0) + self._idle_before_end_ms
        size_bytes = sum(item.size_bytes for item in done)
        if size_bytes < RATE_BYTES:
            return None
        return size_bytes * 8000 / max(1.0, end_ms - begin_ms - wait_ms)
