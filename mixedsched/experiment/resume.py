"""Going on with what is stored: only the same experiment, made by the same programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mixedsched.errors import MixedschedError, UsageError
from mixedsched.experiment.engine import Laboratory
from mixedsched.experiment.model import Plan, Run, RunStatus
from mixedsched.experiment.plan import WARM_UP_INDEX
from mixedsched.store import StoredExperiment

MAX_WARM_UP_FAILURES = 2


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


class Impatient:
    """A laboratory that gives up early: a page that fails in the warm-up, and again, needs no three tries of every block.

    first_block: the one that is given up.
    """

    def __init__(self, laboratory: Laboratory, first_block: int = WARM_UP_INDEX) -> None:
        self._laboratory = laboratory
        self._first_block = first_block
        self._failures: list[str] = []  # reasons

    async def run(self, *, arm: str, block: int, attempt: int, position: int, link_seed: int) -> Run:
        """As the laboratory's; raises MixedschedError instead of trying a failed warm-up a third time."""
        if block == self._first_block and len(self._failures) >= MAX_WARM_UP_FAILURES:
            raise MixedschedError(
                "the page cannot be loaded",
                why=self._failures[-1],
                fix="`mixedsched doctor` finds what is missing here",
            )
        run = await self._laboratory.run(arm=arm, block=block, attempt=attempt, position=position, link_seed=link_seed)
        if block == self._first_block and run.status is not RunStatus.OK:
            self._failures.append(run.reason)
        return run
