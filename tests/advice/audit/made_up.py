"""A whole audit that is made up: the shop's looks, a screening by a toy, and measured blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mixedsched.advice.audit._screening import Changes, screen
from mixedsched.advice.audit.result import (
    TODAY,
    Alternative,
    Audit,
    NetworkResult,
    best_contender,
    family_effects,
    outcome_of,
)
from mixedsched.advice.changes.candidates import candidates_of
from mixedsched.advice.changes.change import Action
from mixedsched.advice.changes.findings import findings_of
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.analysis import analyse
from mixedsched.lab.model import Arm, Run
from mixedsched.lab.plan import make_plan
from mixedsched.model.profile import Direction, Profile
from tests.advice.changes.shop import DOCUMENT, made_up_look, made_up_run

_HALF = Direction(rate_bps=1_600_000, delay_us=50_000, queue_bytes=60_000)
CHANGED = "changed"


def network(name: str) -> Profile:
    return Profile(name=name, description=f"The network {name}.", source="made up", down=_HALF, up=_HALF)


def _play(sets: Sequence[Changes]) -> list[dict[str, PaintEstimate]]:
    """Deferring helps the first paint, everything else the largest one a little."""
    return [
        {
            name: PaintEstimate(
                800.0 - 100 * any(change.action is Action.DEFER for change in changes),
                1600.0 - 90 * len(changes),
                1600.0 - 90 * len(changes),
            )
            for name in ("fast", "slow")
        }
        for changes in sets
    ]


def _runs(ratios: Sequence[float]) -> list[Run]:
    today = made_up_run()
    made = []
    for block, ratio in enumerate(ratios, start=1):
        for arm, factor in ((TODAY, 1.0), (CHANGED, ratio)):
            metrics = {key: value * (1 + block / 1000) * factor for key, value in today.page_load["metrics"].items()}
            load = {**today.page_load, "metrics": metrics}
            made.append(replace(today, block=block, arm=arm, page_load=load))
    return made


def made_up_audit(ratios: Sequence[float] = (0.8, 0.81, 0.79, 0.8, 0.82, 0.78, 0.8, 0.8), **changes: Any) -> Audit:
    """ratios: of the changed page's times to today's, a block each, the same on both networks."""
    look = made_up_look()
    findings = tuple(findings_of(look, 1_600_000))
    screening = screen(candidates_of([look], findings, DOCUMENT), _play)
    contender = Alternative(CHANGED, "eps", screening.best.changes, screening.best.paints)
    comparisons = {}
    for name in ("fast", "slow"):
        plan = make_plan(
            site="shop", site_digest="d", link=name, link_facts={}, form_factor="mobile",
            arms=[Arm(TODAY, "eps"), Arm(CHANGED, "eps")], baseline=TODAY, primary=("lcp_ms",), seed=1,
            blocks=max(1, len(ratios)),
        )  # fmt: skip
        comparisons[name] = analyse(plan, _runs(ratios))
    effects = family_effects(comparisons)
    networks = tuple(
        NetworkResult(
            network(name), {"eps": look.run}, look, findings, comparisons[name], effects[name], tuple(_runs(ratios))
        )
        for name in comparisons
    )
    label = best_contender(effects, [CHANGED])
    assert label is not None
    fields: dict[str, Any] = {
        "site": "shop",
        "title": "shop",
        "form_factor": "mobile",
        "baseline": "eps",
        "budget_s": 600.0,
        "spent_s": 432.1,
        "document": DOCUMENT,
        "networks": networks,
        "screening": screening,
        "expected_today": screening.today,
        "contenders": (contender,),
        "chosen": contender,
        "outcome": outcome_of(effects, label, promises=True),
        "facts": {"machine": {"cores": 2}, "versions": {"chromium": "156"}},
    }
    return Audit(**{**fields, **changes})
