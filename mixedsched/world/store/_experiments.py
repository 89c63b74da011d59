"""Stored experiments (the plan before its first run, every run as soon as it is over) and simulated loads, by key, in SQLite or
any other database that SQLAlchemy supports.

Records are JSON objects of the caller's; what the store searches by has columns of its own.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import JSON, ForeignKey, String, UniqueConstraint, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, Session, mapped_column

from mixedsched.world.store._database import Base, answering, open_database, writing

_KEYS_MOST = 500  # in a query


class _ExperimentRow(Base):
    __tablename__ = "experiment"
    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    plan: Mapped[dict[str, Any]]
    facts: Mapped[dict[str, Any]]


class _RunRow(Base):
    __tablename__ = "run"
    __table_args__ = (UniqueConstraint("experiment", "block", "attempt", "arm"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    experiment: Mapped[str] = mapped_column(ForeignKey("experiment.digest"), index=True)
    block: Mapped[int]
    attempt: Mapped[int]
    arm: Mapped[str] = mapped_column(String(200))
    record: Mapped[dict[str, Any]]


class _SimulatedRow(Base):
    __tablename__ = "simulated_load"
    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    record: Mapped[Any] = mapped_column(JSON)


@dataclass(frozen=True, slots=True)
class StoredExperiment:
    """An experiment without its runs."""

    digest: str
    plan: Mapping[str, Any]
    """As decided before the first run."""
    facts: Mapping[str, Any]
    """Machine, versions and command at that time."""


class Store:
    """Experiments and runs in a database. Every call is a transaction; when it returns, the data is on disk.

    url: as SQLAlchemy writes it, for instance "sqlite:///runs/x/results.sqlite". It and every method raise MixedschedError if
    the database cannot be used, or has no room.
    """

    def __init__(self, url: str) -> None:
        self._engine = open_database(url)
        self._writing = writing(self._engine)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.dispose()

    def save_plan(self, digest: str, plan: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Store a plan with its facts, or replace those of an earlier start."""
        with self._write() as session:
            row = session.get(_ExperimentRow, digest)
            if row is None:
                session.add(_ExperimentRow(digest=digest, plan=dict(plan), facts=dict(facts)))
            else:
                row.plan, row.facts = dict(plan), dict(facts)

    def experiments(self) -> list[StoredExperiment]:
        with self._read() as session:
            rows = session.scalars(select(_ExperimentRow).order_by(_ExperimentRow.digest))
            return [StoredExperiment(row.digest, row.plan, row.facts) for row in rows]

    def add_run(self, digest: str, block: int, attempt: int, arm: str, record: Mapping[str, Any]) -> None:
        """Store a run. Raises ValueError if that run is stored already."""
        row = _RunRow(experiment=digest, block=block, attempt=attempt, arm=arm, record=dict(record))
        with self._write() as session:
            session.add(row)
            try:
                session.flush()
            except IntegrityError as error:
                raise ValueError(f"run {block}/{attempt}/{arm} of {digest} is stored already") from error

    def runs(self, digest: str) -> list[dict[str, Any]]:
        """The records of all runs of an experiment, in the order in which they were made."""
        with self._read() as session:
            return list(
                session.scalars(select(_RunRow.record).where(_RunRow.experiment == digest).order_by(_RunRow.id))
            )

    def simulated(self, keys: Iterable[str]) -> dict[str, Any]:
        """The records of simulated loads by key, in the order of the keys; those that are not stored are left out."""
        wanted = list(keys)
        found: dict[str, Any] = {}
        with self._read() as session:
            for first in range(0, len(wanted), _KEYS_MOST):
                some = wanted[first : first + _KEYS_MOST]
                rows = session.execute(
                    select(_SimulatedRow.key, _SimulatedRow.record).where(_SimulatedRow.key.in_(some))
                )
                found.update((row.key, row.record) for row in rows)
        return {key: found[key] for key in wanted if key in found}

    def add_simulated(self, records: Mapping[str, Any]) -> None:
        """Store the records of simulated loads by key, or replace them."""
        with self._write() as session:
            for key, record in records.items():
                session.merge(_SimulatedRow(key=key, record=record))

    @contextmanager
    def _write(self) -> Iterator[Session]:
        with answering(), Session(self._writing) as session, session.begin():
            yield session

    @contextmanager
    def _read(self) -> Iterator[Session]:
        with answering(), Session(self._engine) as session:
            yield session
