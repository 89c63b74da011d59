"""Cost of one scheduling decision (pick and sent) with many ready streams, and with many idle ones."""

from __future__ import annotations

import timeit
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks._command import run_alone
from mixedsched.core.schedulers import SCHEMES
from mixedsched.model.page import derive_chromium_priority, derive_incremental
from mixedsched.model.priority import Priority
from mixedsched.model.request import Flag, Kind, Request
from mixedsched.model.scheduler import Scheduler
from mixedsched.model.scheme import ConfiguredScheme, configure
from mixedsched.world import catalog

DECISIONS = 2000
REPEATS = 15
RATIO_WANTED = 1.3  # at most, of a decision with 1000 open streams to one with 10, when 10 have data

RESOURCES: tuple[tuple[Kind, frozenset[Flag]], ...] = (
    (Kind.DOCUMENT, frozenset({Flag.MAIN})),
    (Kind.STYLESHEET, frozenset({Flag.IN_HEAD})),
    (Kind.SCRIPT, frozenset({Flag.IN_HEAD})),
    (Kind.FONT, frozenset()),
    (Kind.SCRIPT, frozenset({Flag.AFTER_FIRST_IMAGE})),
    (Kind.SCRIPT, frozenset({Flag.ASYNC})),
    (Kind.IMAGE, frozenset({Flag.HERO})),
    (Kind.IMAGE, frozenset()),
    (Kind.XHR, frozenset()),
    (Kind.OTHER, frozenset()),
)


def request(stream_id: int, number: int) -> Request:
    """A request for the resource with this number; they repeat."""
    kind, flags = RESOURCES[number % len(RESOURCES)]
    priority = derive_chromium_priority(kind, flags)
    signal = Priority(priority.rank, derive_incremental(kind))
    return Request(stream_id, "/", kind, signal, chromium_priority=priority, flags=flags)


def scheduler_with(scheme: ConfiguredScheme, ready: int, idle: int) -> Scheduler[Any]:
    """Ready streams for all kinds of resources, and so many idle ones evenly between them."""
    scheduler, total = scheme.create_scheduler(), ready + idle
    stride = total // ready
    for index in range(total):
        number, between = divmod(index, stride)
        is_ready = between == 0 and number < ready
        scheduler.open(4 * index, scheme.place(request(4 * index, number if is_ready else index)))
        if not is_ready:
            scheduler.pause(4 * index)
    return scheduler


def costs_us(scheme: ConfiguredScheme, loads: Sequence[tuple[int, int]]) -> list[float]:
    """Cost of a decision with so many (ready, idle) streams each, measured by turns, so that noise meets all alike."""

    def timer_of(scheduler: Scheduler[Any]) -> timeit.Timer:
        def decide() -> None:
            stream_id = scheduler.pick()
            assert stream_id is not None
            scheduler.sent(stream_id, 1200)

        return timeit.Timer(decide)

    timers = [timer_of(scheduler_with(scheme, ready, idle)) for ready, idle in loads]
    rounds = [[timer.timeit(DECISIONS) for timer in timers] for _ in range(REPEATS)]
    return [min(times) / DECISIONS * 1e6 for times in zip(*rounds, strict=True)]


def run() -> Iterator[str]:
    for name in SCHEMES:
        scheme = configure(name, SCHEMES, catalog.load_mapping)
        one, many, few, among_idle = costs_us(scheme, [(1, 0), (500, 0), (10, 0), (10, 990)])
        ratio = among_idle / few
        yield (
            f"{name:12} 1 ready: {one:5.2f} us   500 ready: x {many / one:5.2f}   10 ready: {few:5.2f} us   "
            f"10 of 1000 ready: x {ratio:4.2f}{'' if ratio < RATIO_WANTED else '  (too much)'}"
        )


if __name__ == "__main__":
    run_alone("decisions", __doc__, run)
