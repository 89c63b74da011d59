"""The part of a winner that can be shipped to any server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from mixedsched.advice.changes.change import Change
from mixedsched.advice.tuner.result import HtmlLine, Role
from mixedsched.advice.tuner.ship.headers import HeaderPlan


@dataclass(frozen=True, slots=True)
class Shipping:
    """Headers and lines of HTML, as simulation has chosen them."""

    plan: HeaderPlan
    html: tuple[HtmlLine, ...]
    kept_pct: Mapping[Role, Mapping[str, float]]
    """Share of the winner's simulated gain over the best baseline that remains, by role and network."""
    says_all: bool = False  # plain `eps` with the headers is the winner, on every network

    def to_kept(self) -> dict[str, Any]:
        """As JSON, for a session that is continued. With another amount of time left, others might be chosen."""
        return {
            **self.plan.to_kept(),
            "html": {item.change.code: dict(item.effect_pct) for item in self.html},
            "kept_pct": {role.value: dict(by_network) for role, by_network in self.kept_pct.items()},
            "says_all": self.says_all,
        }

    @classmethod
    def of_kept(cls, kept: Mapping[str, Any], changes: Sequence[Change]) -> Self:
        """The reverse. changes: those that there were to choose from."""
        by_code = {item.code: item for item in changes}
        html = (HtmlLine(by_code[code], effect_pct) for code, effect_pct in kept["html"].items() if code in by_code)
        shares = {Role(role): by_network for role, by_network in kept["kept_pct"].items()}
        return cls(HeaderPlan.of_kept(kept), tuple(html), shares, kept["says_all"])
