"""A visit as the server sees it: which requests came when, with which signals, and when their responses left."""

from collections.abc import Callable
from dataclasses import dataclass, field

from mixedsched.model.request import ChromiumPriority, Kind, Request

MAX_REQUESTS = 400
"""Of a visit; what comes beyond is not looked at."""
MAX_PATH = 200
"""Characters of a path that are kept."""
MAX_POINTS = 300
"""Of a document's progress."""
MAX_SIZE_BYTES = 1 << 31
MOMENT_MS = 40.0
"""Repeats that are no further apart are of one loss."""
FEWEST_MOMENTS = 3
PACKET_BYTES = 1160


@dataclass(slots=True)
class SeenRequest:
    """One request. Times are ms since navigation, at the server."""

    path: str
    kind: Kind
    mime: str
    size_bytes: int
    """Of the response's body; of one that is not sized, what was sent."""
    priority: ChromiumPriority
    """As the request signalled it."""
    incremental: bool
    requested_ms: float
    referrer: str | None = None
    """The path that the client says it comes from."""
    raised: bool = False
    """Whether a later signal made it more urgent, as Chromium does with images that layout finds in view."""
    first_byte_ms: float | None = None
    last_byte_ms: float | None = None
    """None where it did not leave completely."""
    sent_bytes: int = 0
    is_sized: bool = True
    """Whether the response told its length at its beginning."""


@dataclass(frozen=True, slots=True)
class SeenNetwork:
    """What the transport says of the network. None: not known."""

    rtt_ms: float | None = None
    """The shortest round trip."""
    rate_bps: float | None = None
    """Of delivery, while there was enough to send."""
    loss_ratio: float = 0.0
    """Share of packets that are lost again and again, wherever one looks; losses of a single moment are a full queue."""
    burst_packets: float = 1.0
    """How many packets in a row are lost at a time, on average."""


@dataclass(frozen=True, slots=True)
class Beacon:
    """What a visitor's browser told: paints in ms, and the path of the largest element's image, if it is one."""

    fcp_ms: float
    lcp_ms: float
    largest: str | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """A page load, in order of requests; the first one is the navigation."""

    requests: tuple[SeenRequest, ...]
    document_progress: tuple[tuple[float, int], ...] = ()
    """(ms, bytes of the main document that had left by then), rising."""
    connection: SeenNetwork = field(default_factory=SeenNetwork)
    order: str = "safe"
    """The name of the order by which it was served."""
    beacon: Beacon | None = None

    @property
    def path(self) -> str:
        """The page's own, without its query."""
        return self.requests[0].path.partition("?")[0]

    def document_bytes_at(self, time_ms: float) -> int:
        """So much of the main document had left."""
        sent = 0
        for at_ms, sent_bytes in self.document_progress:
            if at_ms > time_ms:
                break
            sent = sent_bytes
        return sent


class VisitRecorder:
    """Listens to the decisions of one connection and makes visits of them; h3.events.DecisionObserver. Must not raise.

    take: told of each visit when it is over. order: asked for the name of the order in force when a visit begins.
    connection: asked for what the transport knows when it ends.
    """

    def __init__(
        self,
        take: Callable[[Visit], None],
        order: Callable[[], str] = lambda: "safe",
        connection: Callable[[], SeenNetwork] = SeenNetwork,
    ) -> None:
        self._take = take
        self._order_now = order
        self._connection = connection
        self._order = ""
        self._began_s = 0.0
        self._requests: dict[int, SeenRequest] = {}
        self._main = -1
        self._progress: list[tuple[float, int]] = []
        self._all_bytes = 0
        self._repeats: list[tuple[float, int]] = []  # (ms, bytes sent again), a moment each

    def placed(self, now_s: float, stream_id: int, request: Request, placement: str) -> None:  # noqa: ARG002
        seen = self._requests.get(stream_id)
        if seen is not None:
            seen.raised |= request.chromium_priority.rank < seen.priority.rank
            return
        if not request.is_found:
            if request.navigates:
                self.finish()
            return
        if request.navigates:
            self.finish()
            self._main, self._began_s, self._order = stream_id, now_s, self._order_now()
        elif self._main < 0 or len(self._requests) >= MAX_REQUESTS:
            return
        self._requests[stream_id] = SeenRequest(
            path=request.path[:MAX_PATH],
            kind=request.kind,
            mime=request.mime[:60],
            size_bytes=min(request.body_bytes, MAX_SIZE_BYTES),
            is_sized=request.body_bytes > 0,
            priority=request.chromium_priority,
            incremental=request.signal.incremental,
            requested_ms=(now_s - self._began_s) * 1000,
            referrer=None if request.referrer is None else request.referrer[:MAX_PATH],
        )

    def scheduled(self, now_s: float, stream_id: int, size_bytes: int, again_bytes: int, packet: int) -> None:  # noqa: ARG002
        seen = self._requests.get(stream_id)
        if seen is None:
            return
        now_ms = (now_s - self._began_s) * 1000
        if seen.first_byte_ms is None:
            seen.first_byte_ms = now_ms
        seen.sent_bytes += size_bytes - again_bytes
        self._all_bytes += size_bytes
        if again_bytes:
            self._note_repeat(now_ms, again_bytes)
        if seen.sent_bytes >= seen.size_bytes and (seen.last_byte_ms is None or not seen.is_sized):
            seen.last_byte_ms = now_ms
        if stream_id == self._main and (len(self._progress) < MAX_POINTS or seen.last_byte_ms == now_ms):
            most_bytes = seen.size_bytes if seen.is_sized else MAX_SIZE_BYTES
            self._progress.append((now_ms, min(seen.sent_bytes, most_bytes)))

    def closed(self, now_s: float, stream_id: int) -> None:
        """The times of a response are known by when it has left."""

    def finish(self) -> None:
        """The visit is over: another one begins, or the connection ends."""
        for seen in self._requests.values():
            if not seen.is_sized:  # an answer that comes with time does not tell its length before its end
                seen.size_bytes = min(seen.sent_bytes, MAX_SIZE_BYTES)
        if self._main >= 0 and self._main in self._requests:
            known = self._connection()
            self._take(
                Visit(
                    tuple(self._requests.values()),
                    tuple(self._progress),
                    SeenNetwork(known.rtt_ms, self._rate_bps(known.rtt_ms), *self._losses()),
                    self._order,
                )
            )
        self._main, self._requests, self._progress = -1, {}, []
        self._all_bytes, self._repeats = 0, []

    def _note_repeat(self, now_ms: float, again_bytes: int) -> None:
        if self._repeats and now_ms - self._repeats[-1][0] < MOMENT_MS:
            self._repeats[-1] = (now_ms, self._repeats[-1][1] + again_bytes)
        elif len(self._repeats) < MAX_POINTS:
            self._repeats.append((now_ms, again_bytes))

    def _losses(self) -> tuple[float, float]:
        """Share of packets lost, and how many in a row. The largest moment is left out: a queue overflows once or twice."""
        sizes = sorted(size_bytes for _, size_bytes in self._repeats)[:-1]
        if len(sizes) < FEWEST_MOMENTS or not self._all_bytes:
            return 0.0, 1.0
        return sum(sizes) / self._all_bytes, max(1.0, sum(sizes) / len(sizes) / PACKET_BYTES)

    def _rate_bps(self, rtt_ms: float | None) -> float | None:
        """Bytes over time from the first large response's beginning to the last response's end."""
        done = [
            item for item in self._requests.values() if item.last_byte_ms is not None and item.first_byte_ms is not None
        ]
        if len(done) < 2:
            return None
        end_ms = max(item.last_byte_ms or 0.0 for item in done)
        begin_ms = min(item.first_byte_ms or 0.0 for item in done)
        wait_ms = 2 * (rtt_ms or 0.0)
        size_bytes = sum(item.size_bytes for item in done)
        return size_bytes * 8000 / max(1.0, end_ms - begin_ms - wait_ms)
