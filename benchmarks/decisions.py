"""Cost of one scheduling decision (pick and sent) with many ready streams, and with many idle ones."""

from __future__ import annotations

import timeit
from collections.abc import Iterator

from mixedsched.priority import Priority
from mixedsched.schedulers import SCHEMES
from mixedsched.scheme import Scheduler

DECISIONS = 2000
REPEATS = 5


def scheduler_with(name: str, ready: int, idle: int) -> Scheduler[Priority | None]:
    scheme = SCHEMES[name]
    values = {parameter.name: parameter.default for parameter in scheme.parameters}
    scheduler = scheme.create(values)
    for index in range(ready + idle):
        placement = None if scheme.default_mapping is None else Priority(index % 8, index % 3 > 0)
        scheduler.open(4 * index, placement)
        if index >= ready:
            scheduler.pause(4 * index)
    return scheduler


def cost_us(name: str, ready: int, idle: int = 0) -> float:
    scheduler = scheduler_with(name, ready, idle)

    def decide() -> None:
        stream_id = scheduler.pick()
        assert stream_id is not None
        scheduler.sent(stream_id, 1200)

    return min(timeit.repeat(decide, number=DECISIONS, repeat=REPEATS)) / DECISIONS * 1e6


def run() -> Iterator[str]:
    for name in SCHEMES:
        one, many, idle = cost_us(name, 1), cost_us(name, 500), cost_us(name, 1, 500)
        yield f"{name:11} 1 ready: {one:5.2f} us   500 ready: x {many / one:4.2f}   1 ready, 500 idle: x {idle / one:4.2f}"
