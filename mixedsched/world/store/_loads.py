"""Rows of loads, and blocks whose loads were made elsewhere and come from a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, exists, insert, select, update

from mixedsched.world.store._study_tables import OPEN, BlockRow, StudyLoadRow
from mixedsched.world.store._study_values import NewLoad


@dataclass(frozen=True, slots=True)
class AdoptedBlock:
    """A block with all of its attempts."""

    place_id: int
    number: int  # in its place
    state: str  # done or failed
    attempts: Mapping[int, Sequence[NewLoad]]


def row_of(load: NewLoad, block: int, attempt: int, worker: int) -> dict[str, Any]:
    """For the table of loads. block, worker: ids."""
    return {
        "block": block,
        "attempt": attempt,
        "arm": load.arm,
        "position": load.position,
        "seed": load.seed,
        "status": load.status,
        "reason": load.reason,
        "values": {key: value for key, value in load.values.items() if value is not None},
        "worker": worker,
    }


def adopt(connection: Connection, worker: int, blocks: Sequence[AdoptedBlock]) -> list[AdoptedBlock]:
    """Store those blocks that are planned and have no load yet; returns them. The worker stands for who has made them."""
    free = {
        (row.place, row.number): row.id
        for row in connection.execute(
            select(BlockRow.id, BlockRow.place, BlockRow.number).where(
                BlockRow.place.in_({block.place_id for block in blocks}),
                BlockRow.state == OPEN,
                ~exists().where(StudyLoadRow.block == BlockRow.id),
            )
        )
    }
    taken = [block for block in blocks if (block.place_id, block.number) in free]
    for block in taken:
        change = update(BlockRow).where(BlockRow.id == free[block.place_id, block.number])
        connection.execute(change.values(state=block.state, attempt=max(block.attempts)))
    rows = [
        row_of(load, free[block.place_id, block.number], attempt, worker)
        for block in taken
        for attempt, loads in sorted(block.attempts.items())
        for load in loads
    ]
    if rows:
        connection.execute(insert(StudyLoadRow), rows)
    return taken
