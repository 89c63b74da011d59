"""Weighted incremental delivery: capacity shared among responses by urgency (Gupta & Bartos)."""

from mixedsched.core.schedulers._fair import ByteFair
from mixedsched.model.priority import URGENCY_MAX


class UrgencyShares:
    """Shares of the capacity for n ready responses with urgencies u_i:

        w'_i = alpha / (u_i + r_u) + (1 - alpha) / n          w_i = w'_i / sum of w'

    where r_u is the part of the ready responses that have this very urgency. alpha = 0 shares evenly, alpha = 1 by urgency
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
        self._weights: dict[int, float] = {}  # of the levels with ready responses, in order of urgency

    def __len__(self) -> int:
        return self._ready_count

    def enter(self, stream_id: int, urgency: int) -> None:
        if not self._levels[urgency]:
            self._virtual_time[urgency] = max(self._virtual_time[urgency], self._now)
        self._levels[urgency].enter(stream_id)
        self._ready_count += 1
        self._weigh()

    def leave(self, stream_id: int, urgency: int) -> None:
        self._levels[urgency].leave(stream_id)
        self._ready_count -= 1
        self._weigh()

    def _weigh(self) -> None:
        """Shares change when responses come and go, not when they are served."""
        ready = [urgency for urgency, level in enumerate(self._levels) if level]
        self._weights = {urgency: self.level_weight(urgency) for urgency in ready}

    def forget(self, stream_id: int) -> None:
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

    def sent(self, stream_id: int, urgency: int, size_bytes: int) -> None:
        self._levels[urgency].sent(stream_id, size_bytes)
        time = self._virtual_time[urgency]
        if time > self._now:
            self._now = time
        weight = self._weights.get(urgency)
        if weight is not None:
            self._virtual_time[urgency] = time + size_bytes / weight
