"""Databases in files of any name, and those that several open at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from mixedsched.world.store import Store, database_file, file_address, open_memory

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


@pytest.mark.parametrize("name", ["why?", "a?mode=ro", "100%41", "50%", "naïve ö", "#1;x", "me@host:1"])
def test_a_database_is_in_the_folder_that_was_named_whatever_its_name(tmp_path: Path, name: str) -> None:
    file = tmp_path / name / "results.sqlite"
    file.parent.mkdir()
    with Store(file_address(file)) as store:
        store.save_plan("d", {}, {})
    assert file.is_file()
    assert [found.name for found in tmp_path.iterdir()] == [name]
    assert database_file(file_address(file)) == file


@pytest.mark.parametrize(
    "address", ["postgresql://lab@db.example/studies", "sqlite://", "sqlite:///:memory:", "nonsense"]
)
def test_not_every_address_is_of_a_file(address: str) -> None:
    assert database_file(address) is None
