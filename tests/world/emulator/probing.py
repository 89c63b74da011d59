"""Probes over the model of a link, in virtual time."""

from __future__ import annotations

import numpy as np

from mixedsched.core.link import Link, direction_rng
from mixedsched.model.profile import Direction, GilbertElliott
from mixedsched.world.emulator.probe.end import Sending
from mixedsched.world.emulator.probe.findings import ProbeArrivals

MBIT = 1_000_000
STUDY = Direction(
    rate_bps=2 * MBIT,
    delay_us=50_000,
    queue_bytes=26_215,
    burst_bytes=1514,
    overhead_bytes=42,
    loss=GilbertElliott(0.004081632, 0.2),
)


def played(direction: Direction, sending: Sending | None, seed: int = 1) -> ProbeArrivals:
    """What arrives of a sending over the link model; the clock starts somewhere, as a machine's does."""
    assert sending is not None
    start_us = 4_000_000_000
    link: Link[tuple[int, int]] = Link(direction, direction_rng(seed, "down"))
    arrived: list[tuple[int, int, int]] = []

    def take(until_us: int) -> None:
        while (due_us := link.next_due_us()) is not None and due_us <= until_us:
            arrived.extend((number, sent_us, due_us) for number, sent_us in link.pop_due(due_us))

    for number, offset_ns in enumerate(sending.offsets_ns()):
        now_us = start_us + offset_ns // 1000
        take(now_us)
        link.push((number, now_us), sending.size_bytes + direction.overhead_bytes, now_us)
    take(1 << 62)
    numbers, sent_us, received_us = np.array(arrived, dtype=np.int64).reshape(-1, 3).T
    return ProbeArrivals(sending, numbers, sent_us * 1000, received_us * 1000)
