"""Who works on which block: leases that run out, with tokens that tell a former holder from the present one. Statements only.

A block is leased whole, to one worker. If the worker dies or loses the database, the lease runs out and the block is leased
anew; whatever the former holder stores then is refused, because its token is an older one (Kleppmann 2016, "fencing").
"""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, and_, or_, select, update

from mixedsched.errors import MixedschedError
from mixedsched.world.store._database import now_s
from mixedsched.world.store._study_tables import DONE, FAILED, LEASED, OPEN, REVOKED, BlockRow, StudyLoadRow, WorkerRow

_LONGEST_LEASES = 10  # so many times that of whoever asks: workers may have leases of different lengths


class LeaseLostError(MixedschedError):
    """Somebody else has the block now, or it is not wanted any more: what this worker has of it does not count."""


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
    wanted = select(BlockRow.id).where(BlockRow.study == study, is_free)
    if places is not None:
        wanted = wanted.where(BlockRow.place.in_(places))
    ids = connection.scalars(
        wanted.order_by(BlockRow.rank, BlockRow.id).limit(most).with_for_update(skip_locked=True)
    ).all()
    return [_take_one(connection, block, worker, now + lease_s) for block in ids]


def _take_one(connection: Connection, block: int, worker: int, until_s: float) -> Lease:
    row = connection.execute(
        select(BlockRow.place, BlockRow.number, BlockRow.attempt, BlockRow.token).where(BlockRow.id == block)
    ).one()
    attempt, done = _to_go_on_with(connection, block, row.attempt, worker)
    connection.execute(
        update(BlockRow)
        .where(BlockRow.id == block)
        .values(state=LEASED, worker=worker, lease_until_s=until_s, token=row.token + 1, attempt=attempt)
    )
    return Lease(block, row.place, row.number, attempt, row.token + 1, done)


def _to_go_on_with(connection: Connection, block: int, attempt: int, worker: int) -> tuple[int, tuple[str, ...]]:
    """A half block is finished on the machine that began it, and by others begun anew: loads of two machines are no pairs."""
    loads = connection.execute(
        select(StudyLoadRow.arm, StudyLoadRow.status, WorkerRow.machine)
        .join(WorkerRow, WorkerRow.id == StudyLoadRow.worker)
        .where(StudyLoadRow.block == block, StudyLoadRow.attempt == attempt)
        .order_by(StudyLoadRow.id)
    ).all()
    if not loads:
        return attempt, ()
    machine = connection.execute(select(WorkerRow.machine).where(WorkerRow.id == worker)).scalar_one()
    if any(load.machine != machine or load.status != "ok" for load in loads):
        return attempt + 1, ()
    return attempt, tuple(load.arm for load in loads)


def check(connection: Connection, lease: Lease, worker: int) -> None:
    """Hold the block against others until the transaction ends. Raises LeaseLostError if it is not this worker's any more."""
    row = connection.execute(
        select(BlockRow.token, BlockRow.worker, BlockRow.state).where(BlockRow.id == lease.block_id).with_for_update()
    ).one_or_none()
    if row is None or (row.token, row.worker, row.state) != (lease.token, worker, LEASED):
        raise LeaseLostError(
            f"block {lease.number} is not this worker's any more",
            why="its lease ran out and another worker has taken it, or it is not wanted any more",
        )


def note_attempt(connection: Connection, lease: Lease) -> None:
    """What is stored from now on is of this attempt, so that nobody goes on with an earlier one."""
    connection.execute(
        update(BlockRow)
        .where(BlockRow.id == lease.block_id, BlockRow.attempt < lease.attempt)
        .values(attempt=lease.attempt)
    )


def end(connection: Connection, lease: Lease, state: str) -> None:
    """Give a block back that `check` has held. state: done, failed or open."""
    connection.execute(
        update(BlockRow).where(BlockRow.id == lease.block_id).values(state=state, worker=None, lease_until_s=None)
    )


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


def revoke(connection: Connection, study: int, *, place: int | None, after: int) -> None:
    """Take back blocks with higher numbers than `after` on which nobody works. place: of this place alone."""
    wanted = [BlockRow.study == study, BlockRow.state == OPEN, BlockRow.number > after]
    if place is not None:
        wanted.append(BlockRow.place == place)
    connection.execute(update(BlockRow).where(*wanted).values(state=REVOKED))


def continue_done(connection: Connection, study: int) -> None:
    """Have done blocks worked on again, for arms that they lack."""
    connection.execute(update(BlockRow).where(BlockRow.study == study, BlockRow.state == DONE).values(state=OPEN))


def reopen(connection: Connection, study: int) -> None:
    """Give blocks that were given up another chance, with a new attempt."""
    connection.execute(
        update(BlockRow)
        .where(BlockRow.study == study, BlockRow.state == FAILED)
        .values(state=OPEN, attempt=BlockRow.attempt + 1)
    )
