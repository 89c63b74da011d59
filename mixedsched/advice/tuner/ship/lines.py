"""The two kinds of line that can be shipped to any server, as plain values."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from mixedsched.advice.changes.change import Change


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """Responses whose paths match get this `priority` header (RFC 9218 section 8). The first rule that matches counts."""

    match: str  # pattern of paths, with one * at most; see `patterns`
    value: str  # of the header field, as "u=1, i=?0"
    covers: tuple[str, ...]  # ids of the page's resources that it is for
    why: str
    effect_pct: Mapping[str, float]
    """Change of the objective's first metric by network if this rule alone is left out, simulated over seeds that the search
    did not use; empty while not known."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "covers": list(self.covers)}


@dataclass(frozen=True, slots=True)
class HtmlLine:
    """One change to the document."""

    change: Change
    effect_pct: Mapping[str, float]  # change by network with this line alone, simulated as for headers
    measured: str | None = None  # label of the arm that loaded the page with this line alone, None if there was none
    measured_pct: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    """By network: the objective's change against the best baseline, and both ends of its interval."""

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
