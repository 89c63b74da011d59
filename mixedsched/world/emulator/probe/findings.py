"""A finding for each quantity of a probed link: its nominal value, what was measured, and a verdict. Pure.

A quantity that chance has a part in (a share of losses, say) is `off` if its 99.9 % interval does not contain the nominal
value: one of a thousand right values is called off. Any other is `off` if it misses its nominal value by more than
its tolerance. The interval that is shown is the usual one of 95 %.
"""

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixedsched.core.stats import Interval
from mixedsched.world.emulator.probe.end import Sending

CERTAIN = 0.999

Integers = NDArray[np.int64]


class LinkVerdict(StrEnum):
    """Whether a quantity is as the profile says."""

    OK = "ok"
    OFF = "off"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class LinkFinding:
    """One quantity of one direction."""

    quantity: str
    direction: str
    unit: str
    verdict: LinkVerdict
    nominal: float | None = None
    measured: float | None = None
    low: float | None = None
    """Lower end of the 95 % interval of `measured`; None if there is none."""
    high: float | None = None
    note: str = ""
    """Why it does not apply, or what must be known to read it."""
    details: dict[str, Any] = field(default_factory=dict)
    """More figures, for machines and pictures."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity of a direction that is to be measured."""

    name: str
    direction: str
    unit: str

    def not_applicable(self, why: str) -> LinkFinding:
        return LinkFinding(self.name, self.direction, self.unit, LinkVerdict.NOT_APPLICABLE, note=why)

    def nothing_came(self) -> LinkFinding:
        note = "too few probes arrived to tell"
        return LinkFinding(self.name, self.direction, self.unit, LinkVerdict.OFF, note=note)

    def judged(
        self,
        nominal: float,
        measured: tuple[float, Interval, Interval],
        note: str = "",
        *,
        tolerance: float = 0.0,
        by_chance: bool = False,
        **details: Any,
    ) -> LinkFinding:
        """The finding with its verdict. measured: value, 95 % interval, interval at CERTAIN. by_chance: see above."""
        value, shown, certain = measured
        is_within = by_chance and certain.low <= nominal <= certain.high
        return LinkFinding(
            self.name,
            self.direction,
            self.unit,
            LinkVerdict.OK if is_within or abs(value - nominal) <= tolerance else LinkVerdict.OFF,
            nominal,
            value,
            shown.low,
            shown.high,
            note,
            {**details, **({"tolerance": tolerance} if tolerance else {})},
        )


@dataclass(frozen=True, slots=True)
class ProbeArrivals:
    """The packets of one sending that arrived, in order of arrival."""

    sending: Sending
    numbers: Integers
    sent_ns: Integers
    received_ns: Integers

    @property
    def delays_ms(self) -> NDArray[np.float64]:
        return (self.received_ns - self.sent_ns) / 1e6

    @property
    def missing(self) -> Integers:
        """Numbers that never arrived, rising."""
        came = np.zeros(self.sending.total_packets, dtype=bool)
        came[self.numbers] = True
        return np.flatnonzero(~came)
