"""Parts shared by schemes of Gupta & Bartos: non-incremental delivery, shares by urgency, and placing by a mapping table."""

from dataclasses import replace
from itertools import count

from mixedsched.core.schedulers._fair import ByteFair
from mixedsched.core.schedulers._queue import KeyedHeap
from mixedsched.model.mapping import PriorityMapping
from mixedsched.model.priority import URGENCY_MAX, Priority
from mixedsched.model.request import Request, chromium_priority_of
from mixedsched.model.scheme import Parameter, Values

ALPHA = Parameter(
    "alpha",
    "how much urgency counts in the shares of incremental responses: 0 = all alike, 1 = urgency alone",
    default=1.0,
    low=0.0,
    high=1.0,
)
HIGH_MEDIA = Parameter(
    "high_media",
    "whether media of Chromium priority High (hero images) are delivered whole (N) or interleaved (I)",
    default="I",
    choices=("I", "N"),
    switch=True,
)
MEDIUM_SCRIPT = Parameter(
    "medium_script",
    "whether scripts of Chromium priority Medium (late in the body) are delivered whole (N) or interleaved (I)",
    default="N",
    choices=("N", "I"),
    switch=True,
)
URGENCIES = Parameter(
    "urgencies",
    "urgencies by Chromium priority and kind (table), or by Chromium priority alone (direct)",
    default="table",
    choices=("table", "direct"),
    switch=True,
)


class BlockQueue:
    """Ready N responses: those that have begun, in the order in which they began; then the others by (urgency, stream ID).

    So a response in progress is not interrupted by a more urgent one, and lost data of an earlier response does not wait
    for a later one. A response that cannot send at the moment lets the next one begin, and continues when it can.
    Source: Gupta & Bartos 2024, the non-incremental priority queue: responses go "in their entirety".
    """

    def __init__(self) -> None:
        self._ready: KeyedHeap[tuple[int, int]] = KeyedHeap()
        self._begun: dict[int, int] = {}
        self._order = count()

    def __len__(self) -> int:
        return len(self._ready)

    def enter(self, stream_id: int, urgency: int) -> None:
        begun = self._begun.get(stream_id)
        self._ready.push(stream_id, (1, urgency) if begun is None else (0, begun))

    def leave(self, stream_id: int) -> None:
        self._ready.discard(stream_id)

    def forget(self, stream_id: int) -> None:
        self.leave(stream_id)
        self._begun.pop(stream_id, None)

    @property
    def is_in_progress(self) -> bool:
        """Whether a response that has begun is ready to continue."""
        return self._ready.first() in self._begun

    def first(self) -> int | None:
        return self._ready.first()

    def sent(self, stream_id: int, size_bytes: int) -> None:  # noqa: ARG002 - blocks are not rationed
        if stream_id not in self._begun:
            self._begun[stream_id] = next(self._order)
            if stream_id in self._ready:
                self._ready.push(stream_id, (0, self._begun[stream_id]))

    def is_steady(self) -> bool:
        return True


class UrgencyShares:
    """Shares of the capacity for n ready responses with urgencies u_i:

        w'_i = alpha / (u_i + r_u) + (1 - alpha) / n          w_i = w'_i / sum of w'

    where r_u is the share of the ready responses that have this urgency. alpha = 0 shares evenly, alpha = 1 by urgency
    alone. Equal urgencies have equal shares, so a decision is weighted fair queueing among at most eight urgency levels,
    and byte-fair queueing inside one: its cost does not grow with the number of responses.
    Source: Gupta & Bartos, Improving HTTP/3 Quality of Experience with Incremental EPS, arXiv 2403.04074.
    """

    def __init__(self, alpha: float) -> None:
        self._alpha = alpha
        self._levels = tuple(ByteFair() for _ in range(URGENCY_MAX + 1))
        self._virtual_time = [0.0] * (URGENCY_MAX + 1)  # bytes sent by the level over its weight
        self._now = 0.0
        self._ready_count = 0
        self._urgencies: dict[int, int] = {}  # of those that are not over
        self._weights: dict[int, float] = {}  # of the levels with ready responses, in order of urgency

    def __len__(self) -> int:
        return self._ready_count

    def enter(self, stream_id: int, urgency: int) -> None:
        self._urgencies[stream_id] = urgency
        if not self._levels[urgency]:
            self._virtual_time[urgency] = max(self._virtual_time[urgency], self._now)
        self._levels[urgency].enter(stream_id)
        self._ready_count += 1
        self._weigh()

    def leave(self, stream_id: int) -> None:
        self._levels[self._urgencies[stream_id]].leave(stream_id)
        self._ready_count -= 1
        self._weigh()

    def _weigh(self) -> None:
        """Shares change when responses come and go, not when they are served."""
        ready = [urgency for urgency, level in enumerate(self._levels) if level]
        self._weights = {urgency: self.level_weight(urgency) for urgency in ready}

    def forget(self, stream_id: int) -> None:
        self._urgencies.pop(stream_id, None)
        for level in self._levels:
            level.forget(stream_id)

    def level_weight(self, urgency: int) -> float:
        """The sum of w' over the ready responses of one urgency, of which there must be some."""
        members, total = len(self._levels[urgency]), self._ready_count
        one = self._alpha / (urgency + members / total) + (1 - self._alpha) / total
        return members * one

    def first(self) -> int | None:
        times = self._virtual_time
        best = -1
        for urgency in self._weights:
            if best < 0 or times[urgency] < times[best]:
                best = urgency
        return self._levels[best].first() if best >= 0 else None

    def sent(self, stream_id: int, size_bytes: int) -> None:
        urgency = self._urgencies.get(stream_id)
        if urgency is None:  # it came to the shares while it was paused, and takes no part yet
            return
        self._levels[urgency].sent(stream_id, size_bytes)
        time = self._virtual_time[urgency]
        if time > self._now:
            self._now = time
        weight = self._weights.get(urgency)
        if weight is not None:
            self._virtual_time[urgency] = time + size_bytes / weight

    def is_steady(self) -> bool:
        return False


def by_latest_word(request: Request, mapping: PriorityMapping | None, values: Values) -> Priority:
    """By the mapping, which represents the site's priorities, until the client sends another priority: then by that."""
    return request.update if request.update is not None else by_mapping(request, mapping, values)


def by_first_word(request: Request, mapping: PriorityMapping | None, values: Values) -> Priority:
    """By the mapping, as if the client had never changed its mind."""
    if request.asked is not None:
        request = replace(request, signal=request.asked, chromium_priority=chromium_priority_of(request.asked))
    return by_mapping(request, mapping, values)


def by_mapping(request: Request, mapping: PriorityMapping | None, _values: Values) -> Priority:
    assert mapping is not None, "schemes that place by mapping name a default one"
    return mapping.priority_for(request)
