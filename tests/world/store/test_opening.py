"""Databases that several open at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from mixedsched.world.store import open_memory

AT_ONCE = 4


def test_a_new_file_may_be_opened_by_several_at_the_same_moment(tmp_path: Path) -> None:
    """SQLite refuses all but one of those who would change how a file is written, without waiting."""
    together = Barrier(AT_ONCE)

    def pages_of(file: Path) -> list[str]:
        together.wait()
        with open_memory(file) as store:
            return list(store.versions())

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number in range(60):
            file = tmp_path / f"{number}.sqlite"
            assert list(pool.map(pages_of, [file] * AT_ONCE)) == [[]] * AT_ONCE
