"""What servers remember of pages, in a file that may be damaged, by clocks that may be wrong."""

from __future__ import annotations

import json
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from mixedsched.core.learning.state import PageState
from mixedsched.world.store import MemoryStore, open_memory
from tests.core.learning.visits import visit

NOW_S = 1_790_000_000.0
IN_1970_S = 60.0


def seen(store: MemoryStore, now_s: float, path: str = "/") -> None:
    store.change(path, now_s, lambda state: state.learn(visit()))


def test_a_page_is_not_forgotten_because_a_machine_started_with_its_clock_in_1970(tmp_path: Path) -> None:
    with open_memory(tmp_path / "memory.sqlite") as store:
        seen(store, NOW_S)
    with open_memory(tmp_path / "memory.sqlite") as store:
        seen(store, IN_1970_S)  # before the clock is set
        seen(store, NOW_S + 10_000, "/another")
        assert sorted(store.versions()) == ["/", "/another"]
        state = store.page("/")
        assert state is not None
        assert state.memory.visits == 2


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no zlib",
        zlib.compress(b"[" * 100_000),
        zlib.compress(b"7"),
        zlib.compress(b'{"version": 2}'),
        zlib.compress(json.dumps({**PageState.of("/").to_dict(), "thought": float("inf")}).encode()),
        7,
        None,
    ],
)
def test_a_page_whose_memory_is_damaged_is_learned_anew(tmp_path: Path, content: object) -> None:
    file = tmp_path / "memory.sqlite"
    with open_memory(file) as store:
        seen(store, NOW_S)
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_master SET sql = replace(sql, 'state BLOB NOT NULL', 'state BLOB')")
        database.commit()
    with closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE page_memory SET state = ?", (content,))
        database.commit()
    with open_memory(file) as store:
        assert store.page("/") is None
        seen(store, NOW_S)
        state = store.page("/")
        assert state is not None
        assert state.memory.visits == 1
