"""The tables of studies. A study has places (a site over a link), a place has blocks (every arm once), a block has loads."""

from typing import Any

from sqlalchemy import BigInteger, Float, ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from mixedsched.world.store._database import Base

OPEN, LEASED, DONE, FAILED = "open", "leased", "done", "failed"
"""States of a block. failed: given up after several attempts."""
QUARANTINED = "quarantined"  # a state of a worker


class StudyRow(Base):
    __tablename__ = "study"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    definition: Mapped[dict[str, Any]]
    facts: Mapped[dict[str, Any]]


class PlaceRow(Base):
    __tablename__ = "place"
    __table_args__ = (UniqueConstraint("study", "site", "link"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    study: Mapped[int] = mapped_column(ForeignKey("study.id"))
    number: Mapped[int]  # in the order of the definition
    site: Mapped[str] = mapped_column(String(400))
    link: Mapped[str] = mapped_column(String(200))
    facts: Mapped[dict[str, Any]]


class BlockRow(Base):
    __tablename__ = "block"
    __table_args__ = (UniqueConstraint("place", "number"), Index("block_by_rank", "study", "state", "rank"))
    id: Mapped[int] = mapped_column(primary_key=True)
    study: Mapped[int] = mapped_column(ForeignKey("study.id"))
    place: Mapped[int] = mapped_column(ForeignKey("place.id"))
    number: Mapped[int]  # in its place, from 1
    rank: Mapped[int]  # blocks of lower ranks are worked on first
    state: Mapped[str] = mapped_column(String(8), default=OPEN)
    attempt: Mapped[int] = mapped_column(default=1)
    token: Mapped[int] = mapped_column(default=0)  # grows with each lease, so that a former holder can be told
    worker: Mapped[int | None] = mapped_column(ForeignKey("worker.id"), index=True)
    lease_until_s: Mapped[float | None] = mapped_column(Float)  # by the database's clock


class WorkerRow(Base):
    __tablename__ = "worker"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)  # host, start of the system, process
    machine: Mapped[str] = mapped_column(String(200))  # what results call it
    facts: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(String(12))  # active, quarantined or gone
    reason: Mapped[str] = mapped_column(default="")  # for the state
    beat_s: Mapped[float] = mapped_column(Float)  # its last sign of life, by the database's clock


class StudyLoadRow(Base):
    __tablename__ = "load"
    __table_args__ = (UniqueConstraint("block", "attempt", "arm"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    block: Mapped[int] = mapped_column(ForeignKey("block.id"))
    attempt: Mapped[int]
    arm: Mapped[str] = mapped_column(String(200))
    position: Mapped[int]
    seed: Mapped[int] = mapped_column(BigInteger)
    status: Mapped[str] = mapped_column(String(8))
    reason: Mapped[str]
    values: Mapped[dict[str, Any]]  # by metric key; those that were not measured are left out
    worker: Mapped[int] = mapped_column(ForeignKey("worker.id"))


class RecordRow(Base):
    """Everything that is known of a load, for reports on single places."""

    __tablename__ = "load_record"
    load: Mapped[int] = mapped_column(ForeignKey("load.id"), primary_key=True)
    record: Mapped[dict[str, Any]]
