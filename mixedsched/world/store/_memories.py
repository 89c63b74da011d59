"""What servers remember of pages: one row a page, bounded and aged, shared by the workers of a server and its learner."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from sqlalchemy import Engine, LargeBinary, delete, func, inspect, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Mapped, Session, mapped_column

from mixedsched.core.learning.state import PageState
from mixedsched.errors import MixedschedError, UsageError
from mixedsched.world.store._database import (
    Base,
    SchemaRow,
    UnreachableDatabaseError,
    file_address,
    open_database,
    read_database,
    refuse_newer,
    writing,
)

PAGES_MOST = 10_000
ROW_BYTES_MOST = 60_000
"""Of a page, compressed; of one that needs more, some is left out."""
UNPACKED_BYTES_MOST = 4_000_000
LOCK_WAIT_S = 5.0
"""For another process that writes: visits come all the time, and one that cannot be remembered is no harm."""
AGE_MOST_S = 90 * 24 * 3600
"""A page that nobody has visited for so long is forgotten."""
AGE_LOOK_S = 3600
"""How often such pages are looked for."""


class PageMemoryRow(Base):
    __tablename__ = "page_memory"
    path: Mapped[str] = mapped_column(primary_key=True)
    seen_s: Mapped[float]
    """Of the latest visit, since 1970."""
    version: Mapped[int]
    """Counts every change."""
    wants_thought: Mapped[bool]
    state: Mapped[bytes] = mapped_column(LargeBinary)
    """PageState.to_dict as JSON, compressed."""


class MemoryStore:
    """A memory file. Every method raises UnreachableDatabaseError where it cannot be read or written; times are since 1970."""

    def __init__(self, engine: Engine, pages_most: int = PAGES_MOST) -> None:
        self._engine = engine
        self._pages_most = pages_most
        self._looks_at_s = 0.0  # for pages that nobody visits any more

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.dispose()

    def change(self, path: str, now_s: float, change: Callable[[PageState], None]) -> PageState:
        """Change what is remembered of a page, alone. change: told its state, a new one if there is none."""
        with _told(), Session(writing(self._engine)) as session, session.begin():
            self._forget_old(session, now_s)
            row = session.get(PageMemoryRow, path)
            state = _unpacked(row.state) if row is not None else None
            if state is None:
                state = PageState.of(path)
            change(state)
            packed = _packed(state)
            if row is not None:
                row.seen_s = max(row.seen_s, now_s)  # a clock that is set back for a while makes no page an old one
                row.version, row.state = row.version + 1, packed
                row.wants_thought = state.wants_thought
            else:
                self._make_room(session)
                session.add(
                    PageMemoryRow(path=path, seen_s=now_s, version=1, wants_thought=state.wants_thought, state=packed)
                )
            return state

    def _forget_old(self, session: Session, now_s: float) -> None:
        if now_s >= self._looks_at_s:
            self._looks_at_s = now_s + AGE_LOOK_S
            session.execute(delete(PageMemoryRow).where(PageMemoryRow.seen_s < now_s - AGE_MOST_S))

    def _make_room(self, session: Session) -> None:
        beyond = session.scalar(select(func.count()).select_from(PageMemoryRow)) or 0
        if beyond >= self._pages_most:
            oldest = select(PageMemoryRow.path).order_by(PageMemoryRow.seen_s, PageMemoryRow.path)
            gone = oldest.limit(beyond - self._pages_most + 1)
            session.execute(delete(PageMemoryRow).where(PageMemoryRow.path.in_(gone)))

    def page(self, path: str) -> PageState | None:
        """None for a page that is not remembered, or cannot be read."""
        with _told(), Session(self._engine) as session:
            row = session.get(PageMemoryRow, path)
            return None if row is None else _unpacked(row.state)

    def versions(self, most: int = PAGES_MOST) -> dict[str, int]:
        """Of so many pages, by path, the latest visit first: what has another one than before has changed."""
        with _told(), Session(self._engine) as session:
            rows = session.execute(
                select(PageMemoryRow.path, PageMemoryRow.version).order_by(PageMemoryRow.seen_s.desc()).limit(most)
            )
            return {row.path: row.version for row in rows}

    def wanting_thought(self, most: int = 20) -> list[str]:
        """Paths of pages whose orders should be searched, the latest visit first."""
        with _told(), Session(self._engine) as session:
            wanted = select(PageMemoryRow.path).where(PageMemoryRow.wants_thought)
            return list(session.scalars(wanted.order_by(PageMemoryRow.seen_s.desc()).limit(most)))

    def settle(self, path: str) -> None:
        """Its orders need not be searched."""
        with _told(), Session(writing(self._engine)) as session, session.begin():
            session.execute(update(PageMemoryRow).where(PageMemoryRow.path == path).values(wants_thought=False))

    def forget(self, path: str | None) -> int:
        """Forget a page, or all of them; returns how many."""
        with _told(), Session(writing(self._engine)) as session, session.begin():
            gone = delete(PageMemoryRow)
            result = session.execute(gone if path is None else gone.where(PageMemoryRow.path == path))
            return int(getattr(result, "rowcount", 0))


def open_memory(file: Path, pages_most: int = PAGES_MOST) -> MemoryStore:
    """Open a memory file; it is made if there is none. Raises MixedschedError where it cannot be used."""
    return MemoryStore(open_database(file_address(file), wait_s=LOCK_WAIT_S), pages_most)


def read_memory(file: Path) -> MemoryStore:
    """Open a memory file to look into it; nothing is changed, and a file that may only be read will do.

    Raises UsageError for another database, MixedschedError where it cannot be used.
    """
    engine = read_database(file, LOCK_WAIT_S)
    try:
        _require_memory(engine, file)
    except BaseException:
        engine.dispose()
        raise
    return MemoryStore(engine)


def _require_memory(engine: Engine, file: Path) -> None:
    with _told(), Session(engine) as session:
        if not {PageMemoryRow.__tablename__, SchemaRow.__tablename__} <= {*inspect(engine).get_table_names()}:
            raise UsageError(f"{file} is no memory", fix="name the file that serve --memory keeps")
        refuse_newer(max(session.scalars(select(SchemaRow.version)), default=0))


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        raise UnreachableDatabaseError(
            "the memory cannot be used",
            why=str(error).splitlines()[0],
            fix="see that the file is not locked or damaged, and that there is room on its disk",
        ) from error


def _packed(state: PageState) -> bytes:
    """The state, from which is left out what there is no room for."""
    while len(packed := zlib.compress(json.dumps(state.to_dict(), separators=(",", ":")).encode(), 6)) > ROW_BYTES_MOST:
        state.shed()
    return packed


def _unpacked(packed: bytes) -> PageState | None:
    """None for what is damaged, or of another version: the page is learned anew."""
    try:
        opened = zlib.decompressobj()
        text = opened.decompress(packed, UNPACKED_BYTES_MOST)
        return PageState.from_dict(json.loads(text))
    except (zlib.error, ValueError, TypeError, ArithmeticError, RecursionError, MixedschedError):
        return None
