"""What is said of each quantity of a probed link: a finding with its nominal value, what was measured, and a verdict. Pure.

A quantity that chance has a part in (a share of losses, say) is `off` if the 99.9 % interval of what was measured does not hold
its nominal value: of a thousand right values one is called off. Any other is `off` if it misses its nominal value by more than
its tolerance. The interval that is shown is the usual one of 95 %.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixedsched.core.stats import Interval
from mixedsched.world.emulator.probe.end import Sending

CERTAIN = 0.999

Integers = NDArray[np.int64]


class Verdict(StrEnum):
    """What is said of one quantity."""

    OK = "ok"
    OFF = "off"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Finding:
    """One quantity of one direction. low, high: 95 % interval of what was measured; None where there is none.

    note: why it does not apply, or what must be known to read it. details: more figures, for machines and pictures.
    """

    quantity: str
    direction: str
    unit: str
    verdict: Verdict
    nominal: float | None = None
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What arrived of one sending, in order of arrival."""

    sending: Sending
    numbers: Integers
    sent_ns: Integers
    received_ns: Integers

    @property
    def delays_ms(self) -> NDArray[np.float64]:
        return (self.received_ns - self.sent_ns) / 1e6

    @property
    def missing(self) -> Integers:
        """Numbers that never came, rising."""
        came = np.zeros(self.sending.total_packets, dtype=bool)
        came[self.numbers] = True
        return np.flatnonzero(~came)


def not_applicable(quantity: str, direction: str, unit: str, why: str) -> Finding:
    return Finding(quantity, direction, unit, Verdict.NOT_APPLICABLE, note=why)


def nothing_came(quantity: str, name: str, unit: str) -> Finding:
    return Finding(quantity, name, unit, Verdict.OFF, note="too few probes arrived to tell")


def judged(
    finding: Finding, found: tuple[float, Interval, Interval], *, tolerance: float = 0.0, by_chance: bool = False
) -> Finding:
    """A finding with its verdict. found: value, its 95 % interval, its interval at CERTAIN. by_chance: see above."""
    measured, shown, certain = found
    assert finding.nominal is not None
    holds = abs(measured - finding.nominal) <= tolerance or (
        by_chance and certain.low <= finding.nominal <= certain.high
    )
    verdict = Verdict.OK if holds else Verdict.OFF
    return replace(
        finding,
        verdict=verdict,
        measured=measured,
        low=shown.low,
        high=shown.high,
        details={**finding.details, **({"tolerance": tolerance} if tolerance else {})},
    )


def wanted(quantity: str, direction: str, unit: str, nominal: float, note: str = "", **details: Any) -> Finding:
    """A finding that is to be judged."""
    return Finding(quantity, direction, unit, Verdict.OFF, nominal=nominal, note=note, details=details)
