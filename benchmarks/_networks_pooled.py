"""What several rounds of `benchmarks.networks` say together: deviations side by side, losses and bursts added up."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from scipy.stats import chi2

from mixedsched.core.stats import Interval, share_interval
from mixedsched.world.emulator.probe._losses import geometric_misfit, mean_length_interval


@dataclass(frozen=True, slots=True)
class Deviations:
    """How far measured values are from nominal ones: one of each direction and round. intervals: 95 %, of each."""

    values: Sequence[float]
    intervals: Sequence[tuple[float, float]]

    @property
    def middle(self) -> float:
        return median(self.values)


@dataclass(frozen=True, slots=True)
class Pooled:
    """A measured value with its 95 % interval and its nominal value. trials: what it rests on; p: of the fit, for bursts."""

    nominal: float
    measured: float
    interval: Interval
    trials: int
    p: float | None = None


@dataclass(frozen=True, slots=True)
class Network:
    """All rounds of one profile on one back end."""

    backend: str
    link: str
    rounds: Sequence[dict[str, Any]]

    def findings(self, quantity: str) -> Iterator[dict[str, Any]]:
        """Those that were judged, of all rounds and directions."""
        for item in self.rounds:
            yield from (
                finding
                for finding in item["findings"]
                if finding["quantity"] == quantity and finding["measured"] is not None
            )

    def deviations(self, quantity: str) -> Deviations | None:
        """In the unit of the quantity; in % of nominal for rates. None where it was not judged."""
        values, intervals = [], []
        for finding in self.findings(quantity):
            scale = 100 / finding["nominal"] if quantity == "rate" else 1.0
            shifted = [scale * (finding[key] - finding["nominal"]) for key in ("measured", "low", "high")]
            values.append(shifted[0])
            intervals.append((shifted[1], shifted[2]))
        return Deviations(values, intervals) if values else None

    def loss(self) -> Pooled | None:
        found = list(self.findings("loss"))
        if not found:
            return None
        details = [finding["details"] for finding in found]
        sent, lost = (sum(item[key] for item in details) for key in ("sent", "lost"))
        inflation = details[0]["inflation"]
        interval = share_interval(lost / inflation, sent / inflation)
        return Pooled(found[0]["nominal"], lost / sent, interval, sent)

    def bursts(self) -> Pooled | None:
        found = list(self.findings("burst length"))
        if not found:
            return None
        lengths = self.burst_lengths()
        bursts, lost = lengths.total(), sum(length * count for length, count in lengths.items())
        statistic, freedom = geometric_misfit(list(lengths.elements()), 1 / found[0]["nominal"])
        p = float(chi2.sf(statistic, freedom)) if freedom else None
        return Pooled(found[0]["nominal"], lost / bursts, mean_length_interval(bursts, lost, 0.95), bursts, p)

    def burst_lengths(self) -> Counter[int]:
        lengths: Counter[int] = Counter()
        for finding in self.findings("burst length"):
            lengths.update({int(length): count for length, count in finding["details"]["lengths"].items()})
        return lengths

    def passed_shares(self) -> tuple[float, float] | None:
        """Of what was offered to a saturated link, what the queue let pass: (measured, nominal).

        What was lost on the way afterwards is put back, at its nominal share. Nominal: what left at the rate while it was
        offered, and what the queue held then.
        """
        found = list(self.findings("queue"))
        if not found:
            return None
        lost = next((float(finding["nominal"]) for finding in self.findings("loss")), 0.0)
        sent = sum(finding["details"]["sent"] for finding in found)
        arrived = sum(finding["details"]["arrived"] for finding in found)
        left = sum(item["details"]["sent"] / item["details"]["offered_over_rate"] + item["nominal"] for item in found)
        return float(arrived / sent / (1 - lost)), float(left / sent)


def stored_networks(folder: Path, backends: Sequence[str]) -> list[Network]:
    """By profile, then by back end in the order given."""
    found = []
    for file in folder.glob("*.json"):
        stored = json.loads(file.read_text(encoding="utf-8"))
        if "rounds" in stored and stored["rounds"] and stored["backend"] in backends:
            found.append(Network(stored["backend"], stored["link"], stored["rounds"]))
    return sorted(found, key=lambda item: (natural(item.link), backends.index(item.backend)))


def natural(name: str) -> tuple[object, ...]:
    """A key that puts burst5 before burst15."""
    digits = "".join(sign for sign in name if sign.isdigit())
    return name.rstrip("0123456789"), int(digits or 0), name
