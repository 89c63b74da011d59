"""Helpers for tests of links: made in one line, driven to their end."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from mixedsched.core.link import Link, PacketRecord, direction_rng
from mixedsched.model.profile import CoDel, Direction, GilbertElliott, RandomLoss, Trace

Step = tuple[int, int]
"""(size in bytes, microseconds after the one before)"""


def link(seed: int = 1, side: str = "down", records: list[PacketRecord] | None = None, **says: Any) -> Link[int]:
    """A link of the direction described; records: gets every packet's end."""
    return Link(Direction(**says), direction_rng(seed, side), records.append if records is not None else None)


def drain(subject: Link[int]) -> list[tuple[int, int]]:
    """(arrival time, packet) of everything under way."""
    arrived = []
    while (due_us := subject.next_due_us()) is not None:
        arrived += [(due_us, packet) for packet in subject.pop_due(due_us)]
    return arrived


def drive(subject: Link[int], steps: list[Step], *, busy: bool = False) -> list[tuple[int, int]]:
    """Push packets 1, 2, ... and return all arrivals. busy: look for arrivals at each moment, not only at the end."""
    arrived, now_us = [], 0
    for number, (size_bytes, gap_us) in enumerate(steps, start=1):
        now_us += gap_us
        while busy and (due_us := subject.next_due_us()) is not None and due_us <= now_us:
            arrived += [(due_us, packet) for packet in subject.pop_due(due_us)]
        subject.push(number, size_bytes, now_us)
    return arrived + drain(subject)


def steps(max_gap_us: int = 20_000, max_size: int = 80) -> st.SearchStrategy[list[Step]]:
    """Traffic: bursts, pauses, all sizes."""
    gaps = st.one_of(st.just(0), st.integers(0, 300), st.integers(0, max_gap_us))
    return st.lists(st.tuples(st.integers(40, 1514), gaps), min_size=1, max_size=max_size)


def ratios() -> st.SearchStrategy[float]:
    return st.one_of(st.just(0.0), st.floats(0, 1))


def traces() -> st.SearchStrategy[Trace]:
    times = st.lists(st.integers(0, 60), min_size=1, max_size=40).map(sorted)
    return times.filter(lambda found: found[-1] > 0).map(lambda found: Trace("made-up", tuple(found)))


def losses() -> st.SearchStrategy[RandomLoss | GilbertElliott]:
    return st.one_of(st.builds(RandomLoss, ratios()), st.builds(GilbertElliott, ratios(), ratios(), ratios(), ratios()))


# Made once: to make and check a strategy takes longer than to draw from it.
_DELAYS_US = st.integers(0, 50_000)
_RATES = st.one_of(
    st.tuples(st.none(), st.none()), st.tuples(st.integers(100_000, 10**9), st.none()), st.tuples(st.none(), traces())
)
_QUEUES_BYTES = st.one_of(st.none(), st.integers(1514, 40_000))
_LOSSES, _RATIOS = losses(), ratios()
_BURSTS_BYTES = st.sampled_from([0, 1514, 10_000])
_CODELS = st.one_of(st.none(), st.builds(CoDel, st.integers(100, 5_000), st.integers(6_000, 100_000)))
_OVERHEADS_BYTES = st.integers(0, 100)


@st.composite
def directions(draw: st.DrawFn) -> Direction:
    """Any combination of all that a direction can do."""
    delay_us = draw(_DELAYS_US)
    rate_bps, trace = draw(_RATES)
    return Direction(
        rate_bps=rate_bps,
        delay_us=delay_us,
        queue_bytes=draw(_QUEUES_BYTES),
        loss=draw(_LOSSES),
        burst_bytes=draw(_BURSTS_BYTES),
        jitter_us=draw(st.one_of(st.just(0), st.integers(0, delay_us))),
        keeps_order=draw(st.booleans()),
        reorder_ratio=draw(_RATIOS),
        duplicate_ratio=draw(_RATIOS),
        codel=draw(_CODELS),
        trace=trace,
        overhead_bytes=draw(_OVERHEADS_BYTES),
    )
