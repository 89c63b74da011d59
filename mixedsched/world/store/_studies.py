"""Studies in a database: definitions, places, blocks, who works on them, and the loads. Every call is one transaction."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from sqlalchemy import Connection, func, select, update

from mixedsched.world.store import _leases, _workers
from mixedsched.world.store._database import allow_pauses, answering, open_database, writing
from mixedsched.world.store._leases import Lease
from mixedsched.world.store._loads import AdoptedBlock, adopt, row_of
from mixedsched.world.store._study_tables import (
    DONE,
    FAILED,
    BlockRow,
    PlaceRow,
    RecordRow,
    StudyLoadRow,
    StudyRow,
    WorkerRow,
)
from mixedsched.world.store._study_values import (
    BlockCounts,
    NewLoad,
    PlannedPlace,
    StoredLoad,
    StoredPlace,
    StoredStudy,
    StoredWorker,
)

_ROWS_AT_A_TIME = 2000


class StudyStore:
    """Studies in a database that several processes, and with PostgreSQL several machines, may use at once.

    url: "sqlite:///FILE" or "postgresql://USER@HOST/NAME". Raises as `open_database`; every method raises
    UnreachableDatabaseError if the database does not answer: then nothing has been changed, and it may be tried again.
    """

    def __init__(self, url: str) -> None:
        self._engine = open_database(url)
        self._writing = writing(self._engine)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.dispose()

    @property
    def is_of_one_machine(self) -> bool:
        """Whether other machines cannot use it."""
        return self._engine.dialect.name == "sqlite"

    # What is planned

    def save_study(self, name: str, definition: Mapping[str, Any], facts: Mapping[str, Any]) -> int:
        """Store a study, or replace the definition of one and add to its facts; returns its id.

        Facts that others have added meanwhile stay, and of two that store a new study at the same moment none is refused.
        """
        with self._write() as connection:
            new = {"name": name, "definition": dict(definition), "facts": dict(facts)}
            self._insert_missing(connection, StudyRow, [new])
            found = select(StudyRow.id, StudyRow.facts).where(StudyRow.name == name).with_for_update()
            row = connection.execute(found).one()
            values = {"definition": dict(definition), "facts": {**row.facts, **facts}}
            connection.execute(update(StudyRow).where(StudyRow.id == row.id).values(**values))
            return int(row.id)

    def pin(self, study: int, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Add facts that a study does not have yet; returns all that it has now."""
        return self.change_facts(study, lambda known: {**facts, **known})

    def change_facts(self, study: int, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Mapping[str, Any]:
        """Replace the facts of a study by what follows from those that it has, whoever has added any; returns the new ones."""
        with self._write() as connection:
            known = connection.execute(
                select(StudyRow.facts).where(StudyRow.id == study).with_for_update()
            ).scalar_one()
            changed = dict(change(known))
            connection.execute(update(StudyRow).where(StudyRow.id == study).values(facts=changed))
            return changed

    def studies(self) -> list[StoredStudy]:
        """All studies, in the order in which they were begun."""
        columns = select(StudyRow.id, StudyRow.name, StudyRow.definition, StudyRow.facts)
        with self._read() as connection:
            return [StoredStudy(*row) for row in connection.execute(columns.order_by(StudyRow.id))]

    def add_places(self, study: int, places: Sequence[PlannedPlace]) -> None:
        """Store places and blocks that are not there yet; those that are stay as they are."""
        with self._write() as connection:
            self._insert_missing(
                connection,
                PlaceRow,
                [
                    {
                        "study": study,
                        "number": item.number,
                        "site": item.site,
                        "link": item.link,
                        "facts": dict(item.facts),
                    }
                    for item in places
                ],
            )
            found = connection.execute(select(PlaceRow.id, PlaceRow.site, PlaceRow.link).where(PlaceRow.study == study))
            ids = {(row.site, row.link): row.id for row in found}
            self._insert_missing(
                connection,
                BlockRow,
                [
                    {"study": study, "place": ids[item.site, item.link], "number": block.number, "rank": block.rank}
                    for item in places
                    for block in item.blocks
                ],
            )

    def places(self, study: int) -> list[StoredPlace]:
        """In the order of the study."""
        columns = select(PlaceRow.id, PlaceRow.number, PlaceRow.site, PlaceRow.link, PlaceRow.facts)
        with self._read() as connection:
            rows = connection.execute(columns.where(PlaceRow.study == study).order_by(PlaceRow.number, PlaceRow.id))
            return [StoredPlace(*row) for row in rows]

    def counts(self, study: int) -> list[BlockCounts]:
        """How far each place is, in the order of the places."""
        columns = select(BlockRow.place, BlockRow.state, func.count()).where(BlockRow.study == study)
        with self._read() as connection:
            rows = connection.execute(columns.group_by(BlockRow.place, BlockRow.state)).all()
        by_place: dict[int, dict[str, int]] = {}
        for place, state, count in rows:
            by_place.setdefault(place, {})[state] = count
        return [BlockCounts(place, **by_place[place]) for place in sorted(by_place)]

    # Who works

    def join(self, name: str, machine: str, facts: Mapping[str, Any], *, readmit: bool = False) -> int:
        """Make a worker known; returns its id. The same name again is the same worker.

        Raises QuarantinedError if this machine was quarantined, unless it is readmitted.
        """
        with self._write() as connection:
            return _workers.join(connection, name, machine, facts, readmit=readmit)

    def beat(self, worker: int, lease_s: float) -> str:
        """A sign of life: all leases of the worker last `lease_s` from now. Returns the worker's state."""
        with self._write() as connection:
            _leases.extend(connection, worker, lease_s)
            return _workers.beat(connection, worker)

    def leave(self, worker: int, state: str = "gone", reason: str = "") -> None:
        """A worker stops, or is stopped ("quarantined", and stays so): its blocks are free for others."""
        with self._write() as connection:
            _leases.release(connection, worker)
            _workers.note_state(connection, worker, state, reason)

    def note(self, worker: int, facts: Mapping[str, Any]) -> None:
        """Add to the facts of a worker, or replace some of them."""
        with self._write() as connection:
            _workers.note_facts(connection, worker, facts)

    def workers(self) -> list[StoredWorker]:
        """All that were ever known, in order of their coming."""
        with self._read() as connection:
            return _workers.all_workers(connection)

    # What is worked on

    def lease(
        self, study: int, worker: int, most: int, lease_s: float, *, places: Collection[int] | None = None
    ) -> list[Lease]:
        """Lease at most so many blocks, in order of rank. places: ids, to take blocks of these alone."""
        with self._write() as connection:
            return _leases.take(connection, study, worker, most, lease_s, places)

    def add_all(self, worker: int, finished: Sequence[tuple[Lease, Sequence[NewLoad], bool]]) -> list[Lease]:
        """Store the loads of several blocks: (lease, loads, whether the block is done with them). Stored ones stay as they are.

        Returns the leases that were lost, whose loads are not stored. With a single one raises LeaseLostError instead.
        """
        with self._write() as connection:
            if len(finished) == 1:
                _leases.check(connection, finished[0][0], worker)
            lost = _leases.lost(connection, [lease for lease, *_ in finished], worker)
            kept = [part for part in finished if part[0] not in lost]
            _leases.note_attempts(connection, [lease for lease, *_ in kept])
            self._insert_loads(connection, worker, [(lease, loads) for lease, loads, _ in kept])
            _leases.end(connection, [lease for lease, _, is_done in kept if is_done], DONE)
        return lost

    def finish(self, lease: Lease, worker: int) -> None:
        """The block is done. Raises LeaseLostError."""
        self._end(lease, worker, DONE)

    def give_up(self, lease: Lease, worker: int) -> None:
        """The block failed too often. Raises LeaseLostError."""
        self._end(lease, worker, FAILED)

    def reopen(self, study: int, *, in_order: bool = False) -> None:
        """Give blocks that were given up another chance. in_order: but those behind which another one is done."""
        with self._write() as connection:
            _leases.reopen(connection, study, in_order=in_order)

    def continue_done(self, study: int, arms: Collection[str]) -> None:
        """Have blocks that are done worked on again where they lack one of these arms."""
        with self._write() as connection:
            _leases.continue_done(connection, study, arms)

    def adopt(self, worker: int, blocks: Sequence[AdoptedBlock]) -> list[AdoptedBlock]:
        """Store blocks that were made elsewhere, if they are planned and have no load yet; returns those."""
        with self._write() as connection:
            return adopt(connection, worker, blocks)

    # What came of it

    def loads(self, study: int) -> Iterator[StoredLoad]:
        """All loads, by place and block, then in the order in which they were made."""
        columns = (
            select(
                BlockRow.place,
                BlockRow.number,
                StudyLoadRow.attempt,
                StudyLoadRow.arm,
                StudyLoadRow.position,
                StudyLoadRow.seed,
                StudyLoadRow.status,
                StudyLoadRow.reason,
                StudyLoadRow.values,
                WorkerRow.machine,
            )
            .join(BlockRow, BlockRow.id == StudyLoadRow.block)
            .join(WorkerRow, WorkerRow.id == StudyLoadRow.worker)
            .where(BlockRow.study == study)
            .order_by(BlockRow.place, BlockRow.number, StudyLoadRow.id)
            .execution_options(yield_per=_ROWS_AT_A_TIME)
        )
        with self._read() as connection:
            allow_pauses(connection)
            for row in connection.execute(columns):
                yield StoredLoad(*row)

    def records(self, place: int) -> list[dict[str, Any]]:
        """Everything that is known of the loads of a place, in the order in which they were made."""
        columns = (
            select(RecordRow.record)
            .join(StudyLoadRow, StudyLoadRow.id == RecordRow.load)
            .join(BlockRow, BlockRow.id == StudyLoadRow.block)
            .where(BlockRow.place == place)
            .order_by(StudyLoadRow.id)
        )
        with self._read() as connection:
            return [dict(record) for record in connection.scalars(columns)]

    def _end(self, lease: Lease, worker: int, state: str) -> None:
        with self._write() as connection:
            _leases.check(connection, lease, worker)
            _leases.end(connection, [lease], state)

    def _insert_loads(
        self, connection: Connection, worker: int, made: Sequence[tuple[Lease, Sequence[NewLoad]]]
    ) -> None:
        rows = [row_of(load, lease.block_id, lease.attempt, worker) for lease, loads in made for load in loads]
        self._insert_missing(connection, StudyLoadRow, rows)
        for lease, loads in made:
            self._insert_records(
                connection, lease, {load.arm: load.record for load in loads if load.record is not None}
            )

    def _insert_records(self, connection: Connection, lease: Lease, records: Mapping[str, Mapping[str, Any]]) -> None:
        """By arm."""
        if not records:
            return
        mine = select(StudyLoadRow.id, StudyLoadRow.arm).where(
            StudyLoadRow.block == lease.block_id,
            StudyLoadRow.attempt == lease.attempt,
            StudyLoadRow.arm.in_(list(records)),
        )
        rows = [{"load": row.id, "record": dict(records[row.arm])} for row in connection.execute(mine)]
        self._insert_missing(connection, RecordRow, rows)

    def _insert_missing(self, connection: Connection, table: Any, rows: Sequence[dict[str, Any]]) -> None:
        """Insert rows, but for those that are there, which may come of a call whose answer was lost."""
        if not rows:
            return
        if connection.dialect.name == "sqlite":
            from sqlalchemy.dialects.sqlite import insert
        else:  # here, because it takes 0.1 s to load, and few use it
            from sqlalchemy.dialects.postgresql import insert  # type: ignore[assignment]
        connection.execute(insert(table).on_conflict_do_nothing(), list(rows))

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with answering(), self._writing.begin() as connection:
            yield connection

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with answering(), self._engine.connect() as connection:
            yield connection
