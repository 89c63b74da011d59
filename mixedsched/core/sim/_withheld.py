"""Page playback by a browser that does not ask at once for all it knows of.

Sources: Blink's ResourceLoadScheduler (the early phase, until the parser reaches the body) and ResourceScheduler of Chromium's
network service (requests under way to a host, and in all), read in 2026, and seen in the times of loads: requests of Medium and
below leave when five others are under way to their host. The latter holds for hosts that Chromium has not yet learned to take
priorities, which is so in a fresh profile that is made to use HTTP/3.
"""

import heapq
import itertools
from collections.abc import Mapping

from mixedsched.core.sim._holding import NEVER, Holding, Milestones
from mixedsched.core.sim.load import MICROSECONDS_PER_MILLISECOND
from mixedsched.core.sim.playback import Discoveries, FoundResource, Playback
from mixedsched.model.page import Resource
from mixedsched.model.request import ChromiumPriority


def playback_of(discoveries: Discoveries, request_slot_us: int = 0) -> Playback:
    """One load of the page by its browser."""
    if discoveries.holding is None:
        return Playback(discoveries, request_slot_us).start()
    return WithholdingPlayback(discoveries, discoveries.holding, request_slot_us).start()


class WithholdingPlayback(Playback):
    """Playback with the limits of the browser model: requests wait until there is room. Room that is freed is used at once.

    Withheld requests wait in order of priority, then of discovery; one that waits for its host does not block others.
    """

    def __init__(self, discoveries: Discoveries, holding: Holding, request_slot_us: int = 0) -> None:
        super().__init__(discoveries, request_slot_us)
        self._holding = holding
        self._model = discoveries.model
        self._milestones = Milestones(holding)
        self._is_early = discoveries.model.early_low is not None
        self._is_laid_out = not discoveries.model.finds_at_layout
        self._for_layout: list[tuple[int, int]] = []  # (known, index), asked for then
        self._promoted: dict[int, Resource] = {}  # by index: as they were asked for
        self._raised: dict[int, Resource] = {}  # by index: found in view after they had been asked for
        self._waiting: dict[int, list[tuple[int, int, int]]] = {}  # by host: (rank, number, index)
        self._numbers = itertools.count()
        self._released_us: int | None = None  # since when one that waited may leave
        self._at_host: dict[int, int] = {}  # under way, as the other counts
        self._early_count = self._medium_count = self._low_count = 0

    def resource(self, index: int) -> Resource:
        return self._promoted.get(index) or super().resource(index)

    def next_due_us(self) -> int | None:
        times = (
            self._due[0][0] if self._due else None,
            self._released_us,
            self._milestones.body_us if self._is_early else None,
            None if self._is_laid_out else self._milestones.layout_us,
        )
        first_us = min((at_us for at_us in times if at_us is not None), default=None)
        return None if first_us is None else max(first_us, self._slot_from_us)

    def pop_next(self, now_us: int) -> int | None:
        self._pass_milestones(now_us)
        if self._slot_from_us > now_us:
            return None
        index = self._release()
        while index is None and self._due and self._due[0][0] <= now_us:
            index = self._ask(self._holding.places[heapq.heappop(self._due)[1]])
        self._released_us = None
        if index is None:
            return None
        self._slot_from_us = now_us + self._slot_us
        self._count(index, 1)
        self._find(self._discoveries.when_requested[index], now_us)
        self._note_released(now_us)
        return index

    def delivered(self, index: int, body_bytes: int, now_us: int) -> None:
        self._milestones.begun(index, now_us)
        super().delivered(index, body_bytes, now_us)

    def completed(self, index: int, now_us: int) -> None:
        self._count(index, -1)
        super().completed(index, now_us)
        self._milestones.completed(index, now_us)
        self._note_released(now_us)

    def take_raised(self) -> Mapping[int, Resource]:
        raised, self._raised = self._raised, {}
        return raised

    def _find(self, children: tuple[FoundResource, ...], now_us: int) -> None:
        for child in children:
            known_us = now_us + child.delay_us
            if self._holding.at_layout[child.index] and not self._is_laid_out:
                self._for_layout.append((known_us, child.index))
            else:
                heapq.heappush(self._due, (known_us, self._holding.turns[child.index]))

    def _pass_milestones(self, now_us: int) -> None:
        body_us, layout_us = self._milestones.body_us, self._milestones.layout_us
        if self._is_early and body_us is not None and body_us <= now_us:
            self._is_early = False
        if not self._is_laid_out and layout_us is not None and layout_us <= now_us:
            self._lay_out(layout_us)

    def _lay_out(self, now_us: int) -> None:
        """The first layout: fonts and background images become known, and images that are seen become High."""
        self._is_laid_out = True
        self._raised = dict(self._holding.promoted)  # those that are asked for later are asked for as such
        asked_us = now_us + round(self._model.ask_ms * MICROSECONDS_PER_MILLISECOND)
        for known_us, index in self._for_layout:
            heapq.heappush(self._due, (max(known_us, asked_us), self._holding.turns[index]))
        self._for_layout.clear()
        for host, queue in self._waiting.items():
            for _, _, index in queue:
                if index in self._holding.promoted:
                    heapq.heappush(self._due, (now_us, self._holding.turns[index]))
            self._waiting[host] = sorted(item for item in queue if item[2] not in self._holding.promoted)

    def _ask(self, index: int) -> int | None:
        """The browser wants a resource: which request leaves, if any?"""
        rank = self._holding.ranks[index]
        if self._is_laid_out and index in self._holding.promoted:
            self._promoted[index] = self._holding.promoted[index]
            return index
        if rank == NEVER:
            return index
        queue = self._waiting.setdefault(self._holding.hosts[index], [])
        heapq.heappush(queue, (rank, next(self._numbers), index))
        return self._release()

    def _release(self) -> int | None:
        """The next one that waits and may leave now."""
        host = self._next_host()
        return None if host is None else heapq.heappop(self._waiting[host])[2]

    def _note_released(self, now_us: int) -> None:
        if self._released_us is None and self._next_host() is not None:
            self._released_us = now_us

    def _next_host(self) -> int | None:
        """The host of the next one that waits and may leave now."""
        firsts = [(queue[0], host) for host, queue in self._waiting.items() if queue]
        may_leave = [(first, host) for first, host in firsts if self._may_leave(first[0], host)]
        return min(may_leave)[1] if may_leave else None

    def _may_leave(self, rank: int, host: int) -> bool:
        model = self._model
        if model.low_per_host is not None and self._at_host.get(host, 0) >= model.low_per_host:
            return False
        if model.low_per_page is not None and self._low_count >= model.low_per_page:
            return False
        if not self._is_early or model.early_low is None or self._early_count < model.early_low:
            return True
        is_medium = rank == ChromiumPriority.MEDIUM.rank
        return is_medium and model.early_medium is not None and self._medium_count < model.early_medium

    def _count(self, index: int, step: int) -> None:
        """A request leaves (1), or is answered (-1)."""
        holding = self._holding
        if holding.is_counted[index]:
            host = holding.hosts[index]
            self._at_host[host] = self._at_host.get(host, 0) + step
        if holding.is_counted_early[index]:
            self._early_count += step
        if holding.is_low[index] and index not in self._promoted:
            self._low_count += step
            self._medium_count += step if holding.ranks[index] == ChromiumPriority.MEDIUM.rank else 0
