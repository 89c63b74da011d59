"""What all databases of results share: the connection, its durability, the version of their tables, and their clock."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import JSON, Connection, Engine, create_engine, event, make_url, select, text
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.pool import StaticPool

from mixedsched.errors import MissingPartError, MixedschedError, UsageError

STORE_SCHEMA = 1
_WAIT_FOR_WRITER_S = 60  # of another process, in SQLite
_BETWEEN_TRIES_S = 0.01
_SILENT_MS = 10_000  # within a transaction, in PostgreSQL; ours take milliseconds
_LOCKED_MS = 30_000  # that one waits for another
_DISK_FULL = "53100"  # PostgreSQL's code
_MAKING_TABLES = 9218  # any number, the same for all of us
_WRITES = "writes"  # execution option of transactions that write


class Base(DeclarativeBase):
    type_annotation_map = {dict[str, Any]: JSON}  # noqa: RUF012 - SQLAlchemy reads it from the class


class SchemaRow(Base):
    __tablename__ = "mixedsched_schema"
    version: Mapped[int] = mapped_column(primary_key=True)


class UnreachableDatabaseError(MixedschedError):
    """The database does not answer, or has no room; what was to be stored is not stored, and may be tried again."""


def open_database(url: str, *, wait_s: float = _WAIT_FOR_WRITER_S) -> Engine:
    """Connect, and make missing tables.

    url: as SQLAlchemy writes it: "sqlite:///runs/x/results.sqlite", "postgresql://user@host/name". wait_s: for another
    process that writes, in SQLite. Raises UsageError for a URL that is none, MissingPartError without the driver, and
    MixedschedError if the database cannot be used.
    """
    try:
        engine = _connect(url, wait_s)
    except ArgumentError as error:
        raise UsageError(
            f"'{url}' is not the address of a database", fix="write it as sqlite:///FILE or postgresql://USER@HOST/NAME"
        ) from error
    except ModuleNotFoundError as error:
        raise MissingPartError(
            f"the driver for {shown_address(url)} is not installed",
            why=f"there is no Python package {error.name}",
            fix="install mixedsched[team]",
        ) from error
    try:
        _make_tables(engine)
        _check_schema(engine)
    except OperationalError as error:
        engine.dispose()
        raise UnreachableDatabaseError(
            f"cannot use the database {shown_address(url)}",
            why=_first_line(error),
            fix="see that it runs and can be reached from here, with room on its disk; the same command then continues",
        ) from error
    except SQLAlchemyError as error:
        engine.dispose()
        raise MixedschedError(f"cannot use the database {shown_address(url)}", why=_first_line(error)) from error
    except BaseException:  # no connection is left open to a database that is refused
        engine.dispose()
        raise
    return engine


def read_database(file: Path, wait_s: float = _WAIT_FOR_WRITER_S) -> Engine:
    """Look into a file of SQLite, which need not be ours: nothing is made or changed, and it may be one that we cannot write.

    What is wrong with it shows with the first question.
    """
    # Nobody has it open where it has no file of changes. Then no lock is needed, and none is left in its folder.
    is_alone = not any(Path(f"{file}{ending}").exists() for ending in ("-wal", "-journal"))
    address = f"file:{quote(str(file.absolute()))}?mode=ro" + ("&immutable=1" if is_alone else "")
    return create_engine(
        "sqlite://", creator=lambda: sqlite3.connect(address, uri=True, timeout=wait_s), poolclass=StaticPool
    )


def file_address(file: Path) -> str:
    """The address of a file, whatever its name: a question mark would begin options, and %41 would be an A."""
    return "sqlite:///" + str(file).replace("%", "%25").replace("?", "%3F")


def shown_address(url: str) -> str:
    """The address for people, in messages and reports, which others may see: without its password."""
    try:
        address = make_url(url)
    except ArgumentError:
        return url
    return url if address.password is None else address.render_as_string(hide_password=True)


def database_file(url: str) -> Path | None:
    """The file of a database; None where it is in none, and for a URL that is none."""
    try:
        address = make_url(url)
    except ArgumentError:
        return None
    is_file = address.get_backend_name() == "sqlite" and address.database not in (None, "", ":memory:")
    return Path(str(address.database)) if is_file else None


@contextmanager
def answering() -> Iterator[None]:
    """For what is asked of a database: its errors become UnreachableDatabaseError, or another MixedschedError."""
    try:
        yield
    except DBAPIError as error:
        why = str(error.orig).partition("\n")[0]
        if "is full" in why or getattr(error.orig, "sqlstate", "") == _DISK_FULL:
            raise MixedschedError(
                "there is no room for results", why=why, fix="make room; the same command continues"
            ) from error
        if isinstance(error, OperationalError) or error.connection_invalidated:
            raise UnreachableDatabaseError("the database does not answer", why=why) from error
        raise MixedschedError("the database refuses the request", why=why) from error


def writing(engine: Engine) -> Engine:
    """The same engine for transactions that write: in SQLite they wait for each other as they begin."""
    return engine.execution_options(**{_WRITES: True})


def allow_pauses(connection: Connection) -> None:
    """For a transaction that only reads: whoever reads may take a while, as a pager does, and locks nothing meanwhile."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))


def now_s(connection: Connection) -> float:
    """The time by which leases run out.

    PostgreSQL's own clock, so that workers' clocks need not agree. With SQLite all workers are on one machine: the time since
    it was started, which cannot be set.
    """
    if connection.dialect.name == "sqlite":
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
    return float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())


def _connect(url: str, wait_s: float) -> Engine:
    address = make_url(url)
    if address.drivername in ("postgresql", "postgres"):
        address = address.set(drivername="postgresql+psycopg")
    if address.get_backend_name() != "sqlite":
        engine = create_engine(address, pool_pre_ping=True)
        event.listen(engine, "connect", _prepare_postgresql)
        return engine
    engine = create_engine(address, connect_args={"timeout": wait_s})
    event.listen(engine, "connect", lambda connection, _: _prepare_sqlite(connection, wait_s))
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_postgresql(connection: Any, _: object) -> None:
    """A worker that is cut off within a transaction must not keep all others waiting for what it has locked.

    Its transaction is taken back by the server, so that it is told when it comes back, and tries again.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"SET idle_in_transaction_session_timeout = {_SILENT_MS}")
        cursor.execute(f"SET lock_timeout = {_LOCKED_MS}")
    connection.commit()


def _prepare_sqlite(connection: Any, wait_s: float) -> None:
    """A killed process or machine must not lose a run that was reported as stored."""
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says
    cursor = connection.cursor()
    _keep_a_log(cursor, wait_s)
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _keep_a_log(cursor: Any, wait_s: float) -> None:
    """Write ahead. Of two that open a new file at the same moment, SQLite refuses one at once, whatever its time to wait."""
    end_s = time.monotonic() + wait_s
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= end_s:
                raise
            time.sleep(_BETWEEN_TRIES_S)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get(_WRITES) else "BEGIN")


def _make_tables(engine: Engine) -> None:
    """Make those that are missing. In PostgreSQL, workers that start at the same moment do so one after the other."""
    with writing(engine).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MAKING_TABLES})
        Base.metadata.create_all(connection)


def _check_schema(engine: Engine) -> None:
    with Session(writing(engine)) as session, session.begin():
        versions = list(session.scalars(select(SchemaRow.version)))
        if not versions:
            session.add(SchemaRow(version=STORE_SCHEMA))
        else:
            refuse_newer(max(versions))


def refuse_newer(schema: int) -> None:
    """Raises MixedschedError for a schema that this version does not know."""
    if schema > STORE_SCHEMA:
        raise MixedschedError(
            "the database was written by a newer version of mixedsched",
            why=f"its schema is {schema}, this version knows {STORE_SCHEMA}",
            fix="upgrade mixedsched, or use another folder",
        )


def _first_line(error: SQLAlchemyError) -> str:
    return str(error).partition("\n")[0]
