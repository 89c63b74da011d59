"""Classes of networks that visitors come by, as a server's transport sees them, and a network that stands for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from mixedsched.core.learning.visit import SeenNetwork
from mixedsched.model.profile import Direction, Profile, RandomLoss

MAX_CLASSES = 6
KEEPS = 0.93
LOSSY = 0.004
"""From this share of packets lost on, a network counts as lossy."""
TOP_BPS = 50_000_000
"""Beyond that, visits do not tell how fast a network is: they are too short."""
QUEUE_S = 0.3


@dataclass(slots=True)
class NetworkClass:
    """Networks that are alike: within a doubling of round trip and rate, and lossy or not."""

    rtt_ms: float
    rate_bps: float
    loss_ratio: float
    weight: float = 1.0

    @property
    def is_lossy(self) -> bool:
        return self.loss_ratio >= LOSSY

    @property
    def name(self) -> str:
        loss = f", {self.loss_ratio * 100:.1f} % lost" if self.is_lossy else ""
        return f"{self.rtt_ms:.0f} ms, {self.rate_bps / 1e6:.1f} Mbit/s{loss}"

    @property
    def profile(self) -> Profile:
        """The network that stands for it. Losses are those of a link that repeats so much."""
        down = Direction(
            rate_bps=round(self.rate_bps * 1.04),  # of packets, with their headers
            delay_us=round(self.rtt_ms * 500),
            queue_bytes=max(30_000, round(self.rate_bps / 8 * QUEUE_S)),
            loss=RandomLoss(min(0.2, self.loss_ratio) if self.is_lossy else 0.0),
        )
        up = Direction(rate_bps=round(max(200_000.0, self.rate_bps / 2)), delay_us=round(self.rtt_ms * 500))
        return Profile(self.name, "a class of networks that visits came by", "visits", down, up)

    def to_list(self) -> list[float]:
        return [round(value, 5) for value in (self.rtt_ms, self.rate_bps, self.loss_ratio, self.weight)]

    @classmethod
    def from_list(cls, facts: list[Any]) -> Self:
        rtt_ms, rate_bps, loss_ratio, weight = (float(value) for value in facts)
        if not (1 <= rtt_ms <= 60_000 and 1000 <= rate_bps <= TOP_BPS and 0 <= loss_ratio <= 1 and weight >= 0):
            raise ValueError("not a class of networks")
        return cls(rtt_ms, rate_bps, loss_ratio, weight)


def note(classes: list[NetworkClass], seen: SeenNetwork) -> int | None:
    """Count a visit in; returns the place of its class. None where the transport knows too little."""
    if seen.rtt_ms is None or seen.rate_bps is None:
        return None
    rtt_ms = min(60_000.0, max(1.0, seen.rtt_ms))
    rate_bps = min(float(TOP_BPS), max(1000.0, seen.rate_bps))
    loss_ratio = min(1.0, max(0.0, seen.loss_ratio))
    for item in classes:
        item.weight *= KEEPS
    apart = [_apart(item, rtt_ms, rate_bps, loss_ratio) for item in classes]
    nearest = min(range(len(classes)), key=lambda place: (apart[place], place), default=None)
    if nearest is None or (apart[nearest] > 1.0 and len(classes) < MAX_CLASSES):
        classes.append(NetworkClass(rtt_ms, rate_bps, loss_ratio))
        return len(classes) - 1
    item = classes[nearest]
    item.weight += 1
    step = max(0.1, 1 / item.weight)
    item.rtt_ms += (rtt_ms - item.rtt_ms) * step
    item.rate_bps += (rate_bps - item.rate_bps) * step
    item.loss_ratio += (loss_ratio - item.loss_ratio) * step
    return nearest


def place_of(classes: Sequence[NetworkClass], seen: SeenNetwork) -> int | None:
    """The class that a connection most likely is of, by what its first flights have told: the round trip, and the rate where an
    earlier visit over it has shown that. None where no class is within a doubling."""
    if seen.rtt_ms is None:
        return None
    rtt_ms = min(60_000.0, max(1.0, seen.rtt_ms))
    near = []
    for place, item in enumerate(classes):
        rate_bps = item.rate_bps if seen.rate_bps is None else min(float(TOP_BPS), max(1000.0, seen.rate_bps))
        if _apart(item, rtt_ms, rate_bps, item.loss_ratio) <= 1.0:
            near.append(place)
    return max(near, key=lambda place: (classes[place].weight, -place), default=None)


def usual(classes: Sequence[NetworkClass], most: int = 2) -> list[tuple[NetworkClass, float]]:
    """The most frequent classes, with the share of visits that each stands for."""
    chosen = sorted(classes, key=lambda item: -item.weight)[:most]
    total = sum(item.weight for item in chosen)
    return [(item, item.weight / total) for item in chosen if item.weight > 0.1 * total]


def _apart(item: NetworkClass, rtt_ms: float, rate_bps: float, loss_ratio: float) -> float:
    """In doublings; whether losses are usual counts half of one."""
    loss = 0.5 if (loss_ratio >= LOSSY) is not item.is_lossy else 0.0
    return max(abs(math.log2(item.rtt_ms / rtt_ms)), abs(math.log2(item.rate_bps / rate_bps))) + loss
