"""The two kinds of line that can be shipped to any server, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mixedsched.advice.changes.change import Change


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """Responses whose paths match get this `priority` header (RFC 9218 section 8). The first rule that matches counts.

    match: pattern of paths, with one * at most; see `patterns`. value: of the field, as "u=1, i=?0". covers: ids of the
    page's resources that it is for. why: its reason. effect_pct: change of the objective's first metric by network if this
    rule alone is left out, simulated over seeds that the search did not use; empty while not known.
    """

    match: str
    value: str
    covers: tuple[str, ...]
    why: str
    effect_pct: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "match": self.match,
            "value": self.value,
            "covers": list(self.covers),
            "why": self.why,
            "effect_pct": dict(self.effect_pct),
        }


@dataclass(frozen=True, slots=True)
class HtmlLine:
    """One change to the document. effect_pct: change by network with this line alone, simulated as for headers.

    measured: label of the arm that loaded the page with this line alone, None if there was no time to. measured_pct: its change
    of the objective against the best baseline, by network, and the interval.
    """

    change: Change
    effect_pct: Mapping[str, float]
    measured: str | None = None
    measured_pct: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """For JSON. targets: [host index, path] of each file. risk: None if there is none."""
        return {
            "code": self.change.code,
            "action": self.change.action.value,
            "title": self.change.title,
            "targets": [list(key) for key in self.change.targets],
            "why": self.change.why,
            "risk": self.change.risk or None,
            "effect_pct": dict(self.effect_pct),
            "measured": self.measured,
            "measured_pct": {name: [round(value, 2) for value in found] for name, found in self.measured_pct.items()},
        }
