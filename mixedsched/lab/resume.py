"""Going on with what is stored: only the same experiment, made by the same programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mixedsched.errors import UsageError
from mixedsched.lab.model import Plan
from mixedsched.world.store import StoredExperiment


def continued(plan: Plan, stored: StoredExperiment | None) -> Plan:
    """The plan to carry out: a longer one of the same experiment that is stored already stays as it is.

    Raises UsageError if another experiment is stored.
    """
    if stored is None:
        return plan
    if stored.digest != plan.digest:
        raise UsageError("the folder holds another experiment", fix="choose another folder with --out")
    earlier = Plan.from_dict(stored.plan)
    return earlier if len(earlier.blocks) > len(plan.blocks) else plan


def refuse_other_versions(stored: StoredExperiment | None, versions: Mapping[str, str]) -> None:
    """Runs of different programs must not be mixed. Raises UsageError."""
    before = stored.facts["versions"] if stored is not None else versions
    changed = [f"{name} {before.get(name)} -> {now}" for name, now in versions.items() if before.get(name) != now]
    if changed:
        raise UsageError(
            "the stored runs were made with other versions",
            why=", ".join(changed),
            fix="start anew with another --out, or bring the old versions back",
        )


def with_history(facts: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """The facts with the number of blocks now planned behind those planned before: extending is looking, and must show."""
    history = [*facts.get("history", []), sum(not block.warm_up for block in plan.blocks)]
    return {**facts, "history": [count for index, count in enumerate(history) if history.index(count) == index]}
