"""A visit as the server sees it: which requests came when, with which signals, and when their responses left."""

from dataclasses import dataclass, field
from typing import Self

from mixedsched.model.request import ChromiumPriority, Kind

MAX_REQUESTS = 400
"""Of a visit; what comes beyond is not looked at."""
MAX_PATH = 200
"""Characters of a path that are kept."""
MAX_POINTS = 300
"""Of a document's progress."""
MAX_SIZE_BYTES = 1 << 31


def page_path(target: str) -> str:
    """Under what a page is remembered: its path without the query, as far as paths are kept."""
    return target.partition("?")[0][:MAX_PATH]


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
    is_unsent: bool = False
    """Whether there is a body that was not sent, as the client had it: then its size is not known, and nobody waited."""
    rtt_ms: float | None = None
    """The latest round trip when it was asked for, with the queues of that moment: what had left so long ago was at the client.
    None: the shortest one must do."""


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
    latest_rtt_ms: float | None = None
    """The round trip of the packet that was acknowledged last."""

    @classmethod
    def of(cls, round_trips_ms: tuple[float, float] | None) -> Self:
        """What the transport knows by itself: the shortest and the latest round trip."""
        return cls() if round_trips_ms is None else cls(round_trips_ms[0], latest_rtt_ms=round_trips_ms[1])


@dataclass(frozen=True, slots=True)
class Beacon:
    """What a visitor's browser told: paints in ms, and the path of the largest element's image, if it is one."""

    fcp_ms: float
    lcp_ms: float
    largest: str | None = None
    cls: float = 0.0
    """Layout shifts, added up until it was told."""


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
        return page_path(self.requests[0].path)

    def document_bytes_at(self, time_ms: float) -> int:
        """So much of the main document had left."""
        sent = 0
        for at_ms, sent_bytes in self.document_progress:
            if at_ms > time_ms:
                break
            sent = sent_bytes
        return sent
