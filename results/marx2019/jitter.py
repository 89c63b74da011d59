"""What jitter does to packets on their way to HTTP/3, over independent streams and in order as over TCP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

import numpy as np
from markdown import table
from playing import page_bytes, play

from mixedsched.core.sim.jitter import Jitter
from mixedsched.core.sim.pipe import PipeOptions
from mixedsched.core.sim.record import byte_indexes
from mixedsched.model.page import Page

JITTERED_SCHEMES = ("rr", "fifo", "bucket-html")
JITTERS = {
    "every fourth late by 2": Jitter("fourth", low=2, high=2),
    "every fourth late by 3": Jitter("fourth", low=3, high=3),
    "each with p = 1/4 late by 1-3": Jitter("random", low=1, high=3),
}


def jitter_tables(pages: list[Page]) -> Iterator[str]:
    yield "## Jitter"
    yield ""
    yield (
        "Packets delivered to HTTP/3 at the same time are a stack; per cent of packets by size of their stack. In order: "
        "nothing behind a missing packet is delivered, as over TCP. Held: bytes that arrived and had to wait. ATF: how much "
        "larger the index gets."
    )
    yield ""
    rows = []
    for name in JITTERED_SCHEMES:
        for label, jitter in JITTERS.items():
            for in_order in (False, True):
                settled = Jitter(jitter.pattern, jitter.low, jitter.high, in_order=in_order)
                rows.append((f"`{name}`", label, "yes" if in_order else "no", *_stacks(pages, name, settled)))
    yield from table(("scheme", "jitter", "in order", "1", "2", "3", "4 or more", "held", "ATF"), rows)


def _stacks(pages: list[Page], name: str, jitter: Jitter) -> tuple[str, ...]:
    packets: Counter[int] = Counter()
    held_bytes = 0
    growth: list[float] = []
    for page in pages:
        load, calm = (play(page, name, PipeOptions(jitter=chosen)) for chosen in (jitter, None))
        for _, stack in groupby(load.deliveries, key=lambda delivery: delivery.at_ms):
            size = len(list(stack))
            packets[min(size, 4)] += size
        held_bytes += load.facts["held_bytes"]
        growth.append(byte_indexes(load).atf_ms / byte_indexes(calm).atf_ms - 1)
    shares = (f"{packets[size] / max(1, packets.total()) * 100:.0f} %" for size in (1, 2, 3, 4))
    total_bytes = sum(page_bytes(page) for page in pages)
    return (*shares, f"{held_bytes / max(1, total_bytes) * 100:.0f} %", f"+{np.mean(growth) * 100:.1f} %")
