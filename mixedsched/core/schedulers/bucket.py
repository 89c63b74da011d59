"""`bucket` and `bucket-html`: priority buckets with three levels of concurrency (Meenan's proposal of January 2019)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from mixedsched.core.schedulers import _marx
from mixedsched.core.schedulers._base import StreamTable
from mixedsched.core.schedulers._levels import FilledLevels
from mixedsched.core.schedulers._marx import is_delayed, is_visible, kind_of
from mixedsched.core.schedulers._queue import Fifo, Queue, RoundRobin
from mixedsched.model.mapping import PriorityMapping
from mixedsched.model.request import ChromiumPriority, Flag, Kind, Request
from mixedsched.model.scheme import Parameter, Scheme, Values

BUCKETS = 64
_BEST = BUCKETS - 1


class Concurrency(IntEnum):
    """How the responses of one bucket are combined."""

    SHARED = 1
    SHARED_SEQUENTIAL = 2
    EXCLUSIVE_SEQUENTIAL = 3


@dataclass(frozen=True, slots=True)
class Bucket:
    """priority: 63 first, 0 last."""

    priority: int
    concurrency: Concurrency

    def __str__(self) -> str:
        return f"[{self.priority},{self.concurrency.value}]"


class _Contents:
    """One bucket: the exclusive ones one after another before all others; then a packet of the first sequential one and a
    packet of a shared one in turn, beginning with the former; a half with nothing to send is skipped."""

    def __init__(self) -> None:
        self._exclusive, self._sequential, self._shared = Fifo(), Fifo(), RoundRobin()
        self._queues: Mapping[Concurrency, Queue] = {
            Concurrency.EXCLUSIVE_SEQUENTIAL: self._exclusive,
            Concurrency.SHARED_SEQUENTIAL: self._sequential,
            Concurrency.SHARED: self._shared,
        }
        self._shared_is_next = False

    def __len__(self) -> int:
        return len(self._exclusive) + len(self._sequential) + len(self._shared)

    def enter(self, stream_id: int, concurrency: Concurrency) -> None:
        self._queues[concurrency].enter(stream_id, 1)

    def leave(self, stream_id: int, concurrency: Concurrency) -> None:
        self._queues[concurrency].leave(stream_id)

    @property
    def is_exclusive(self) -> bool:
        """Whether one after another is the rule at present."""
        return len(self._exclusive) > 0

    def first(self) -> int | None:
        stream_id = self._exclusive.first()
        if stream_id is not None:
            return stream_id
        before, after = (self._shared, self._sequential) if self._shared_is_next else (self._sequential, self._shared)
        stream_id = before.first()
        return after.first() if stream_id is None else stream_id

    def sent(self, stream_id: int, concurrency: Concurrency, size_bytes: int) -> None:
        if concurrency is not Concurrency.EXCLUSIVE_SEQUENTIAL:
            self._shared_is_next = concurrency is Concurrency.SHARED_SEQUENTIAL
            self._queues[concurrency].sent(stream_id, size_bytes)


class Buckets(StreamTable[Bucket]):
    """The best bucket that has something to send, at every packet."""

    def __init__(self) -> None:
        super().__init__()
        self._buckets = tuple(_Contents() for _ in range(BUCKETS))
        self._filled = FilledLevels()  # counted from the best bucket

    def _enter(self, stream_id: int, placement: Bucket) -> None:
        self._buckets[placement.priority].enter(stream_id, placement.concurrency)
        self._filled.add(_BEST - placement.priority)

    def _leave(self, stream_id: int, placement: Bucket) -> None:
        bucket = self._buckets[placement.priority]
        bucket.leave(stream_id, placement.concurrency)
        if not bucket:
            self._filled.discard(_BEST - placement.priority)

    def pick(self) -> int | None:
        level = self._filled.first()
        return self._buckets[_BEST - level].first() if level >= 0 else None

    def sent(self, stream_id: int, size_bytes: int, again_bytes: int = 0) -> None:  # noqa: ARG002 - repeats cost capacity too
        placement = self._placements[stream_id]
        self._buckets[placement.priority].sent(stream_id, placement.concurrency, size_bytes)

    def is_steady(self) -> bool:
        level = self._filled.first()
        return level >= 0 and self._buckets[_BEST - level].is_exclusive


TABLE = Parameter(
    "table",
    "responses that no rule names go to [0,2] (the published code) or to [31,1], as the proposal's figure has it",
    default="code",
    choices=("code", "figure7"),
)


def _bucket(priority: int, concurrency: int) -> Bucket:
    return Bucket(priority, Concurrency(concurrency))


def bucket_of(request: Request, values: Values) -> Bucket:
    """The proposal's sample: critical or visible resources in 63, the rest in 31, unknown ones in 0."""
    hints = request.hints
    if is_delayed(request):  # of whatever kind, as the published code tests it
        return _bucket(31, 2)
    match kind_of(request, values):
        case Kind.SCRIPT | Kind.STYLESHEET:
            return _bucket(63 if hints & {Flag.IN_HEAD, Flag.CRITICAL} else 31, 3)
        case Kind.FONT:
            return _bucket(31 if Flag.PRELOAD in hints else 63, 2)
        case Kind.DOCUMENT:
            return _bucket(31, 2)
        case Kind.IMAGE:
            return _bucket(63 if is_visible(request) else 31, 1)
        case Kind.XHR if values["table"] == "code":
            return _bucket(31, 3)
        case Kind.MEDIA:
            return _bucket(31, 1)
        case _ if values["table"] == "code":
            return _bucket(0, 2)
    if Flag.CRITICAL in hints:
        return _bucket(63, 3)
    is_prefetch = request.chromium_priority is ChromiumPriority.VERY_LOW
    return _bucket(0, 2) if is_prefetch else _bucket(31, 1)


def _place_html_first(request: Request, _mapping: PriorityMapping | None, values: Values) -> Bucket:
    return _bucket(63, 2) if request.kind is Kind.DOCUMENT and not is_delayed(request) else bucket_of(request, values)


def _scheme(name: str, description: str, source: str, place: Callable[..., Bucket]) -> Scheme:
    return Scheme(
        name=name,
        description=description,
        source=source,
        needs="kind, and from the manifest: in_head, critical, async, defer, preload, above_fold, hero "
        "(else inferred from Chromium's priority)",
        create=lambda _: Buckets(),
        place=place,
        parameters=(TABLE, _marx.SVG),
    )


SCHEMES = (
    _scheme(
        "bucket",
        "Strict buckets; in one, critical style sheets and scripts go one after another first, then what must be whole "
        "(fonts, documents) and what may be shared (images) alternate packet by packet. Visible images share the best bucket.",
        f"{_marx.SOURCE}, bucket; P. Meenan's proposal of January 2019",
        lambda request, _mapping, values: bucket_of(request, values),
    ),
    _scheme(
        "bucket-html",
        "As bucket, but documents are in the best bucket too: they alternate with visible images, and only critical style "
        "sheets and scripts interrupt them.",
        f"{_marx.SOURCE}, bucket HTML",
        _place_html_first,
    ),
)
