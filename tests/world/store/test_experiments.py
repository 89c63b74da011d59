"""Experiments in a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from mixedsched.errors import MixedschedError
from mixedsched.world.store import Store, UnreachableDatabaseError


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.add_run("digest", 1, 1, "mixed", {"much": "x" * 100_000}),
        lambda store: store.save_plan("other", {"much": "x" * 100_000}, {}),
        lambda store: store.add_simulated({"key": "x" * 100_000}),
    ],
)
def test_where_there_is_no_room_the_error_says_so_and_what_is_stored_stays(
    tmp_path: Path, act: Callable[[Store], None]
) -> None:
    def leave_no_room(connection: sqlite3.Connection, _: Any) -> None:
        connection.execute("PRAGMA max_page_count = 1")  # the file stays as large as it is

    address = f"sqlite:///{tmp_path / 'results.sqlite'}"
    with Store(address) as store:
        store.save_plan("digest", {}, {})
        store.add_run("digest", 1, 1, "eps", {"run": 1})
    event.listen(Engine, "connect", leave_no_room)
    try:
        with Store(address) as store, pytest.raises(MixedschedError, match="there is no room for results") as refused:
            act(store)
    finally:
        event.remove(Engine, "connect", leave_no_room)
    assert "the same command continues" in refused.value.fix
    with Store(address) as store:
        assert store.runs("digest") == [{"run": 1}]
        act(store)


def test_a_run_is_stored_once(tmp_path: Path) -> None:
    with Store(f"sqlite:///{tmp_path / 'results.sqlite'}") as store:
        store.save_plan("digest", {}, {})
        store.add_run("digest", 1, 1, "eps", {"run": 1})
        with pytest.raises(ValueError, match="run 1/1/eps of digest is stored already"):
            store.add_run("digest", 1, 1, "eps", {"run": 2})
        assert store.runs("digest") == [{"run": 1}]


def test_a_database_that_is_damaged_meanwhile_gives_an_error_in_words(tmp_path: Path) -> None:
    file = tmp_path / "results.sqlite"
    with Store(f"sqlite:///{file}") as store:
        store.save_plan("digest", {}, {})
    with Store(f"sqlite:///{file}") as store:
        with sqlite3.connect(file) as other:
            other.execute("DROP TABLE run")
        other.close()
        with pytest.raises(UnreachableDatabaseError, match="no such table"):
            store.runs("digest")
