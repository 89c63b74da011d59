"""Carries out a plan: runs what is missing, stores every run at once, and can go on after any interruption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Protocol

from mixedsched.errors import InputError
from mixedsched.lab.model import Arrival, Connection, Plan, Run, RunStatus
from mixedsched.lab.plan import attempt_seed
from mixedsched.lab.progress import block_state, is_over, order_of_blocks, runs_left, voided_attempts
from mixedsched.world.store import Store

RUN_SCHEMA = 3


class Laboratory(Protocol):
    """Whoever can make a run."""

    async def run(self, *, arm: str, block: int, attempt: int, position: int, link_seed: int) -> Run: ...


class RunObserver(Protocol):
    """Whoever wants to know how it goes."""

    def before(self, arm: str, block: int, warm_up: bool, left: int) -> None:
        """A run begins. left: runs still to be made, this one included."""

    def after(self, run: Run, left: int) -> None:
        """It is over, and stored."""


async def carry_out(plan: Plan, store: Store, laboratory: Laboratory, observer: RunObserver) -> None:
    """Make all runs of the plan that the store does not have.

    A failed or invalid run voids its block, which is begun again, at most progress.MAX_ATTEMPTS times a call.
    """
    runs = stored_runs(store, plan.digest)
    voided_before = voided_attempts(plan, runs)
    for block in order_of_blocks(plan):
        while not is_over(block, runs, voided_before):
            state = block_state(block, runs)
            arm = state.missing[0]
            observer.before(arm, block.index, block.warm_up, runs_left(plan, runs))
            run = await laboratory.run(
                arm=arm,
                block=block.index,
                attempt=state.attempt,
                position=block.order.index(arm),
                link_seed=attempt_seed(block, state.attempt),
            )
            store.add_run(plan.digest, run.block, run.attempt, run.arm, run_record(run))
            runs.append(run)
            observer.after(run, runs_left(plan, runs))


def stored_runs(store: Store, digest: str) -> list[Run]:
    return [read_run(record) for record in store.runs(digest)]


def run_record(run: Run) -> dict[str, Any]:
    """A run as it is stored."""
    return {"schema": RUN_SCHEMA, **asdict(run)}


def read_run(record: Mapping[str, Any]) -> Run:
    """The reverse of run_record. Raises InputError for a record of a newer version."""
    if record.get("schema", RUN_SCHEMA) > RUN_SCHEMA:
        raise InputError(
            "the runs were stored by a newer version of mixedsched",
            why=f"their schema is {record['schema']}, this version knows {RUN_SCHEMA}",
            fix="upgrade mixedsched",
        )
    fields = {key: value for key, value in record.items() if key != "schema"}
    return Run(
        **{
            **fields,
            "status": RunStatus(record["status"]),
            "arrivals": tuple(Arrival(**item) for item in record["arrivals"]),
            "placements": tuple(record["placements"]),
            "quic": tuple(Connection.from_dict(item) for item in record.get("quic", ())),  # since schema 2
        }
    )
