"""Stored runs as a table: one row a run, with plain values, ready for pandas or a CSV file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mixedsched.core.metrics import METRICS
from mixedsched.lab.model import Plan, Run

Row = dict[str, str | int | float | bool | None]


def rows_of(plan: Plan, runs: Sequence[Run], facts: Mapping[str, Any]) -> list[Row]:
    """All runs, those of the warm-up block, failed and invalid ones too: `status` and `warm_up` tell them apart.

    facts: of the experiment's first start, as it is stored: machine and versions.
    """
    return [_row(plan, run, facts) for run in runs]


def _row(plan: Plan, run: Run, facts: Mapping[str, Any]) -> Row:
    block = next(item for item in plan.blocks if item.index == run.block)
    return {
        "site": plan.site,
        "link": plan.link,
        "arm": run.arm,
        "scheme": next(arm.scheme for arm in plan.arms if arm.label == run.arm),
        "block": run.block,
        "warm_up": block.warm_up,
        "attempt": run.attempt,
        "position": run.position,
        "seed": block.link_seed,
        "rung": "browser",
        "status": run.status.value,
        "reason": run.reason,
        **{metric.key: run.value(metric) for metric in METRICS},
        "finished_ms": run.page_load.get("observed", {}).get("load_ms"),
        "started_at": run.started_at,
        "cost_s": run.cost_s,
        "machine": facts.get("machine", {}).get("processor"),
        "browser": facts.get("versions", {}).get("chromium"),
    }
