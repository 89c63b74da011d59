"""Who works on which block: leases that run out, with tokens that tell a former holder from the present one. Statements only.

A block is leased whole, to one worker. If the worker dies or loses the database, the lease runs out and the block is leased
anew; whatever the former holder stores then is refused, because its token is an older one (Kleppmann 2016, "fencing").
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Update, and_, bindparam, exists, func, or_, select, update
from sqlalchemy.orm import aliased

from mixedsched.errors import MixedschedError
from mixedsched.world.store._database import now_s
from mixedsched.world.store._study_tables import DONE, FAILED, LEASED, OPEN, BlockRow, StudyLoadRow, WorkerRow

_LONGEST_LEASES = 10  # so many times that of whoever asks: workers may have leases of different lengths


class LeaseLostError(MixedschedError):
    """Somebody else has the block now, or it was given back: what this worker has of it does not count."""


class QuarantinedError(MixedschedError):
    """This machine must not work, because what it measured cannot be trusted."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a block, until it runs out or is given back."""

    block_id: int
    place_id: int
    number: int  # of the block, in its place
    attempt: int  # the one to go on with
    token: int
    done: tuple[str, ...] = ()  # arms that the same machine has loaded in this attempt


def take(
    connection: Connection, study: int, worker: int, most: int, lease_s: float, places: Collection[int] | None
) -> list[Lease]:
    """Lease blocks that are open, or whose lease has run out, in order of rank. places: take blocks of these alone."""
    now = now_s(connection)
    until = BlockRow.lease_until_s
    # A lease that seems to last very long was made before the database's clock was set back.
    has_run_out = or_(until < now, until > now + _LONGEST_LEASES * lease_s)
    is_free = or_(BlockRow.state == OPEN, and_(BlockRow.state == LEASED, has_run_out))
    wanted = select(BlockRow.id, BlockRow.place, BlockRow.number, BlockRow.attempt, BlockRow.token)
    wanted = wanted.where(BlockRow.study == study, is_free)
    if places is not None:
        # Written out, as databases take only so many parameters.
        wanted = wanted.where(
            BlockRow.place.in_(bindparam("places", list(places), expanding=True, literal_execute=True))
        )
    rows = connection.execute(
        wanted.order_by(BlockRow.rank, BlockRow.id).limit(most).with_for_update(skip_locked=True)
    ).all()
    begun = _begun(connection, [row.id for row in rows], worker)
    leases = []
    for row in rows:
        attempt, done = begun.get(row.id, (row.attempt, ()))
        leases.append(Lease(row.id, row.place, row.number, attempt, row.token + 1, done))
    _change(
        connection,
        update(BlockRow).values(state=LEASED, worker=worker, lease_until_s=now + lease_s, token=BlockRow.token + 1),
        leases,
    )
    note_attempts(connection, leases)
    return leases


def _begun(connection: Connection, blocks: Collection[int], worker: int) -> dict[int, tuple[int, tuple[str, ...]]]:
    """By block that has loads of its attempt: the attempt to go on with, and the arms that are done in it.

    A half block is finished on the machine that began it, and by others begun anew: loads of two machines are no pairs.
    """
    loads: dict[int, list[Any]] = {}
    made = connection.execute(
        select(StudyLoadRow.block, StudyLoadRow.attempt, StudyLoadRow.arm, StudyLoadRow.status, WorkerRow.machine)
        .join(WorkerRow, WorkerRow.id == StudyLoadRow.worker)
        .join(BlockRow, and_(BlockRow.id == StudyLoadRow.block, BlockRow.attempt == StudyLoadRow.attempt))
        .where(StudyLoadRow.block.in_(blocks))
        .order_by(StudyLoadRow.id)
    )
    for load in made:
        loads.setdefault(load.block, []).append(load)
    if not loads:
        return {}
    machine = connection.execute(select(WorkerRow.machine).where(WorkerRow.id == worker)).scalar_one()
    return {
        block: (own[0].attempt, tuple(load.arm for load in own))
        if all(load.machine == machine and load.status == "ok" for load in own)
        else (own[0].attempt + 1, ())
        for block, own in loads.items()
    }


def lost(connection: Connection, leases: Collection[Lease], worker: int) -> list[Lease]:
    """Hold the blocks against others until the transaction ends; returns those that are not this worker's any more."""
    rows = connection.execute(
        select(BlockRow.id, BlockRow.token, BlockRow.worker, BlockRow.state)
        .where(BlockRow.id.in_([lease.block_id for lease in leases]))
        .order_by(BlockRow.id)
        .with_for_update()
    )
    held = {(row.id, row.token) for row in rows if (row.worker, row.state) == (worker, LEASED)}
    return [lease for lease in leases if (lease.block_id, lease.token) not in held]


def check(connection: Connection, lease: Lease, worker: int) -> None:
    """Raises LeaseLostError if the block is not this worker's any more; else holds it, like `lost`."""
    if lost(connection, [lease], worker):
        raise LeaseLostError(
            f"block {lease.number} is not this worker's any more",
            why="its lease ran out and another worker has taken it, or it was given back",
        )


def note_attempts(connection: Connection, leases: Collection[Lease]) -> None:
    """What is stored from now on is of these attempts, so that nobody goes on with earlier ones."""
    for lease in leases:
        if lease.attempt > 1:
            connection.execute(
                update(BlockRow)
                .where(BlockRow.id == lease.block_id, BlockRow.attempt < lease.attempt)
                .values(attempt=lease.attempt)
            )


def end(connection: Connection, leases: Collection[Lease], state: str) -> None:
    """Give blocks back that are held. state: done or failed."""
    _change(connection, update(BlockRow).values(state=state, worker=None, lease_until_s=None), leases)


def _change(connection: Connection, change: Update, leases: Collection[Lease]) -> None:
    if leases:
        connection.execute(change.where(BlockRow.id.in_([lease.block_id for lease in leases])))


def extend(connection: Connection, worker: int, lease_s: float) -> None:
    """Make all leases of a worker last from now."""
    until = now_s(connection) + lease_s
    connection.execute(
        update(BlockRow).where(BlockRow.worker == worker, BlockRow.state == LEASED).values(lease_until_s=until)
    )


def release(connection: Connection, worker: int) -> None:
    """Give back all blocks of a worker that has stopped."""
    connection.execute(
        update(BlockRow)
        .where(BlockRow.worker == worker, BlockRow.state == LEASED)
        .values(state=OPEN, worker=None, lease_until_s=None)
    )


def continue_done(connection: Connection, study: int, arms: Collection[str]) -> None:
    """Have done blocks worked on again that lack one of these arms."""
    of_block = (StudyLoadRow.block == BlockRow.id, StudyLoadRow.attempt == BlockRow.attempt)
    made = select(func.count()).where(*of_block, StudyLoadRow.arm.in_(list(arms))).scalar_subquery()
    lacking = (BlockRow.study == study, BlockRow.state == DONE, made < len(arms))
    connection.execute(update(BlockRow).where(*lacking).values(state=OPEN))


def reopen(connection: Connection, study: int, *, in_order: bool) -> None:
    """Give blocks that were given up another chance, with a new attempt. in_order: but those behind which another is done."""
    wanted = [BlockRow.study == study, BlockRow.state == FAILED]
    if in_order:
        later = aliased(BlockRow)
        wanted.append(
            ~exists().where(later.place == BlockRow.place, later.number > BlockRow.number, later.state == DONE)
        )
    connection.execute(update(BlockRow).where(*wanted).values(state=OPEN, attempt=BlockRow.attempt + 1))
