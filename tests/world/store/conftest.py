"""Databases to test with: SQLite, and a PostgreSQL server of our own where it is installed."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks._postgres import Postgres, binaries

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    pytest.importorskip("psycopg")
    folder = binaries()
    if folder is None:
        pytest.skip("PostgreSQL is not installed")
    with Postgres(folder) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'results.sqlite'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.new_database(f"t{next(_NUMBERS)}")
