"""What is remembered of a page, as plain values for people and machines."""

import math
from collections.abc import Mapping
from typing import Any

from mixedsched.core.learning.guard import TOLD, Outcomes
from mixedsched.core.learning.learned import LearnedPage
from mixedsched.core.learning.networks import NetworkClass, usual
from mixedsched.core.learning.plan import SAFE
from mixedsched.core.learning.state import PageState
from mixedsched.core.learning.visit import SeenNetwork


def describe(state: PageState) -> dict[str, Any]:
    """Path, visits, the order in force with reason and turns, orders that were left, networks, what came of orders, roles."""
    memory, guard = state.memory, state.guard
    plan = state.settled()
    chosen = next((item for item in state.proposals if item.plan is plan), None)
    return {
        "path": memory.path,
        "visits": memory.visits,
        "partial_visits": memory.partial,
        "learned_anew": memory.relearned,
        "inferred": True,
        "order": {
            "name": SAFE if plan is None else plan.name,
            "why": "what is safe for a page of which too little is known, or which no other order helps"
            if plan is None
            else plan.why,
            "expected_lcp_ratio": None if chosen is None else round(chosen.lcp_ratio, 4),
            "expected_fcp_ratio": None if chosen is None else round(chosen.fcp_ratio, 4),
            "turns": []
            if plan is None
            else [{"path": role.path, "turn": str(role.turn), "why": role.why} for role in plan.roles],
        },
        "proposals": [
            {"name": item.plan.name, "expected_lcp_ratio": round(item.lcp_ratio, 4)} for item in state.proposals
        ],
        "left": dict(guard.left),
        "beacons": None
        if not state.told.visits
        else {
            "visits": state.told.visits,
            "fcp_ms": round(state.told.fcp_ms, 1),
            "lcp_ms": round(state.told.lcp_ms, 1),
            "cls": round(state.told.cls, 4),
            "mean_fcp_ms": round(math.exp(state.told.mean_fcp), 1),
            "mean_lcp_ms": round(math.exp(state.told.mean_lcp), 1),
        },
        "outcomes": {name: _outcome(found) for name, found in guard.outcomes.items()},
        "networks": [
            {"name": item.name, "share": round(share, 3), "order": _order_for(state, item)}
            for item, share in usual(state.classes, 6)
        ],
        "roles": _roles(state),
    }


def _outcome(found: Mapping[int, Outcomes]) -> dict[str, Any]:
    """Paints by an order: what browsers told where any did, else as the server estimates them; the two do not compare."""
    told = [item for place, item in found.items() if place >= TOLD]
    counted = told or list(found.values())
    return {
        "visits": sum(item.number for item in found.values()),
        "told": sum(item.number for item in told),
        "lcp_ms": round(math.exp(_mean([(item.lcp, item.number) for item in counted])), 1),
        "fcp_ms": round(math.exp(_mean([(item.fcp, item.number) for item in counted])), 1),
    }


def _order_for(state: PageState, network: NetworkClass) -> str:
    plan = state.settled(SeenNetwork(network.rtt_ms, network.rate_bps))
    return SAFE if plan is None else plan.name


def _roles(state: PageState) -> list[dict[str, Any]]:
    learned = LearnedPage.of(state.memory)
    if learned is None:
        return []
    beliefs: dict[str, float] = {}
    for guess in learned.guesses:
        for name in guess.ids:
            beliefs[name] = beliefs.get(name, 0.0) + guess.belief
    return [
        {
            "path": learned.roles[item.id].path,
            "kind": item.kind.value,
            "bytes": item.body_bytes,
            "priority": item.chromium_priority.value,
            "share": round(state.memory.share(learned.roles[item.id]), 3),
            "found": _found(learned, item.found_by, item.found_when, item.found_at_bytes),
            "blocks": item.id in learned.needs.blocking,
            "seen": round(learned.seen[item.id], 3) if item.id in learned.seen else None,
            "largest": round(beliefs.get(item.id, 0.0), 3),
        }
        for item in learned.page.resources
    ]


def _found(learned: LearnedPage, parent: str | None, when: str, offset: int) -> str:
    if parent is None:
        return "asked for by navigation"
    path = learned.roles[parent].path
    return f"found by byte {offset} of {path}" if when == "bytes" else f"found when {path} is complete"


def _mean(values: list[tuple[float, float]]) -> float:
    total = sum(number for _, number in values)
    return sum(value * number for value, number in values) / total if total else 0.0
