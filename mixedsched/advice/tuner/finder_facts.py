"""What the scheme finder found, as JSON for machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mixedsched.advice.tuner.finder import Choice, Finding, Place, Regret

FORMAT = "mixedsched.finder/1"


def finding_facts(finding: Finding, notes: Sequence[str] = ()) -> dict[str, Any]:
    """All numbers. Regrets in per cent over the best scheme of the place; null where a scheme never finished."""
    return {
        "format": FORMAT,
        "sites": list(finding.sites),
        "networks": list(finding.networks),
        "schemes": list(finding.schemes),
        "objective": dict(finding.objective),
        "matrix": [_place(item) for item in finding.places],
        "regrets": [_regret(item) for item in finding.regrets],
        "regrets_by_network": {
            name: [_regret(item) for item in regrets] for name, regrets in finding.by_network.items()
        },
        "best_mean": _choice(finding.best_mean),
        "best_worst": _choice(finding.best_worst),
        "left_out": [{"site": site, "network": network} for site, network in finding.left_out],
        "notes": list(notes),
    }


def _place(place: Place) -> dict[str, Any]:
    return {
        "site": place.site,
        "network": place.network,
        "winner": place.winner,
        "ties": list(place.tied),
        "tie_pct": place.tie_pct,
        "seeds": place.seeds,
        "is_sure": place.is_sure,
        "schemes": [asdict(item) for item in place.standings],
    }


def _regret(regret: Regret) -> dict[str, Any]:
    at = {"site": regret.worst_at[0], "network": regret.worst_at[1]} if regret.worst_at is not None else None
    return {**asdict(regret), "worst_at": at}


def _choice(choice: Choice | None) -> dict[str, Any] | None:
    return asdict(choice) if choice is not None else None
