"""Who works on the studies of a database, and who may not."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, and_, func, insert, select, update

from mixedsched.world.store._database import now_s
from mixedsched.world.store._leases import QuarantinedError
from mixedsched.world.store._study_tables import QUARANTINED, BlockRow, WorkerRow
from mixedsched.world.store._study_values import StoredWorker


def join(connection: Connection, name: str, machine: str, facts: Mapping[str, Any], *, readmit: bool) -> int:
    """Make a worker known; returns its id. Raises QuarantinedError if its machine is, unless it is readmitted."""
    _refuse_quarantined(connection, machine, readmit=readmit)
    now = now_s(connection)
    values = {"machine": machine, "facts": dict(facts), "state": "active", "reason": "", "beat_s": now}
    found = connection.scalar(select(WorkerRow.id).where(WorkerRow.name == name).with_for_update())
    if found is None:
        added = insert(WorkerRow).values(name=name, **values).returning(WorkerRow.id)
        return int(connection.execute(added).scalar_one())
    connection.execute(update(WorkerRow).where(WorkerRow.id == found).values(**values))
    return int(found)


def _refuse_quarantined(connection: Connection, machine: str, *, readmit: bool) -> None:
    is_out = and_(WorkerRow.machine == machine, WorkerRow.state == QUARANTINED)
    if readmit:
        connection.execute(update(WorkerRow).where(is_out).values(state="gone"))
    elif (reason := connection.scalar(select(WorkerRow.reason).where(is_out).limit(1))) is not None:
        raise QuarantinedError(
            f"the machine {machine} is quarantined", why=reason, fix="once that is mended, start it with --readmit"
        )


def beat(connection: Connection, worker: int) -> str:
    """A sign of life; returns the worker's state."""
    connection.execute(update(WorkerRow).where(WorkerRow.id == worker).values(beat_s=now_s(connection)))
    return str(connection.execute(select(WorkerRow.state).where(WorkerRow.id == worker)).scalar_one())


def note_state(connection: Connection, worker: int, state: str, reason: str) -> None:
    """A worker that is quarantined stays so."""
    mine = and_(WorkerRow.id == worker, WorkerRow.state != QUARANTINED)
    connection.execute(update(WorkerRow).where(mine).values(state=state, reason=reason))


def note_facts(connection: Connection, worker: int, facts: Mapping[str, Any]) -> None:
    of_worker = select(WorkerRow.facts).where(WorkerRow.id == worker).with_for_update()
    known = connection.execute(of_worker).scalar_one()
    connection.execute(update(WorkerRow).where(WorkerRow.id == worker).values(facts={**known, **facts}))


def all_workers(connection: Connection) -> list[StoredWorker]:
    """All that were ever known, in order of their coming."""
    blocks = select(func.count()).where(BlockRow.worker == WorkerRow.id).correlate(WorkerRow).scalar_subquery()
    now = now_s(connection)
    rows = connection.execute(select(WorkerRow.__table__, blocks.label("blocks")).order_by(WorkerRow.id)).all()
    return [
        StoredWorker(
            row.id,
            row.name,
            row.machine,
            row.facts,
            row.state,
            row.reason,
            max(0.0, now - row.beat_s),  # the clock may have begun anew since then
            row.blocks,
        )
        for row in rows
    ]
