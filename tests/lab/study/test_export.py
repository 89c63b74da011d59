"""An export has every load of a study as a row, in three formats that say the same."""

from __future__ import annotations

import builtins
import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from pyarrow import parquet

import mixedsched as ms
from mixedsched.errors import MissingPartError
from mixedsched.lab.results import DATABASE_NAME
from mixedsched.lab.study.export import COLUMNS, WRITERS, ExportedRow, study_rows, write_csv, write_json, write_parquet
from mixedsched.lab.study.lean import read_lean, write_lean
from mixedsched.lab.study.session import run_study
from mixedsched.world.store import StudyStore
from tests.lab.study.made_up_study import MadeUpStudy, made_up_definition, store_study
from tests.lab.study.small import LOADS_OF_BLOCK, PLACES, quick_study

PROMISED = {"study", "site", "link", "scheme", "block", "seed", "rung", "status", "reason", "machine", "browser"}
PROMISED |= {"fcp_ms", "lcp_ms", "si_ms", "tbt_ms", "cls", "tti_ms", "hol_bytes", "finished_ms"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[ExportedRow]:
    """A study with a failed load that says why, in words that CSV must quote, and one without a value."""
    made = MadeUpStudy(made_up_definition(rung="browser"), ["shop", "blog"], ["4g"])
    loads = made.loads()
    loads[4] = replace(loads[4], status="failed", reason='no "load" event,\nafter 60 s', values={})
    loads[5] = replace(loads[5], values={**loads[5].values, "cls": math.nan})
    folder = tmp_path_factory.mktemp("study")
    store_study(made, folder, loads)
    with StudyStore(f"sqlite:///{folder / DATABASE_NAME}") as store:
        return list(study_rows(store, store.studies()[0]))


def written(write: Any, rows: Iterable[ExportedRow]) -> bytes:
    out = io.BytesIO()
    write(rows, out)
    return out.getvalue()


def test_rows_have_all_promised_columns_and_failed_loads_are_rows_too(rows: list[ExportedRow]) -> None:
    assert set(COLUMNS) >= PROMISED
    assert all(tuple(row) == COLUMNS for row in rows)
    assert len(rows) == 60
    failed = [row for row in rows if row["status"] != "ok"]
    assert [(row["site"], row["block"], row["scheme"], row["lcp_ms"]) for row in failed] == [("shop", 2, "mixed", None)]
    assert {row["browser"] for row in rows} == {"156.0"}
    assert rows[5]["cls"] is None


def test_places_that_are_added_while_rows_are_read_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_study(MadeUpStudy(made_up_definition(), ["shop", "blog"]), tmp_path)
    with StudyStore(f"sqlite:///{tmp_path / DATABASE_NAME}") as store:
        stored, (first, _) = store.studies()[0], store.places(1)
        monkeypatch.setattr(store, "places", lambda _: [first])
        assert {row["site"] for row in study_rows(store, stored)} == {"shop"}
        write_lean(store, stored, tmp_path / "loads")
    assert {place.site for place in read_lean(tmp_path / "loads").result.places} == {"shop"}


def test_csv_says_what_the_rows_say(rows: list[ExportedRow]) -> None:
    read = list(csv.DictReader(io.StringIO(written(write_csv, rows).decode(), newline="")))
    assert read == [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]


def test_json_is_one_array_of_the_rows(rows: list[ExportedRow]) -> None:
    assert json.loads(written(write_json, rows)) == rows
    assert json.loads(written(write_json, [])) == []


def test_parquet_has_the_rows_with_typed_columns(rows: list[ExportedRow]) -> None:
    table = parquet.read_table(io.BytesIO(written(write_parquet, rows)))
    assert table.to_pylist() == rows
    types = {field.name: str(field.type) for field in table.schema}
    assert (types["seed"], types["lcp_ms"], types["site"]) == ("int64", "double", "string")


def test_parquet_of_a_study_without_loads_still_has_its_columns() -> None:
    table = parquet.read_table(io.BytesIO(written(write_parquet, [])))
    assert (table.num_rows, tuple(table.column_names)) == (0, COLUMNS)


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS.keys())
def test_rows_are_written_while_they_are_read(write: Any, rows: list[ExportedRow]) -> None:
    """What is read and not yet written never becomes many rows."""
    sizes = []

    def endless(out: BinaryIO) -> Iterable[ExportedRow]:
        for number in range(40_001):
            if number % 20_000 == 0:
                sizes.append(out.tell())
            yield {**rows[0], "seed": number, "lcp_ms": number / 7}

    out = io.BytesIO()
    write(endless(out), out)
    assert sizes[0] < sizes[1] < sizes[2]


def test_without_pyarrow_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = builtins.__import__

    def lacking(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError(name=name)
        return whole(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(MissingPartError, match=r"install mixedsched\[parquet\]"):
        write_parquet([], io.BytesIO())


def test_the_library_reads_the_folder_of_a_study(tmp_path: Path) -> None:
    study = quick_study(tmp_path)
    run_study(study, folder=tmp_path / "out", jobs=1)
    table = ms.read_results(tmp_path / "out")
    assert len(table) == PLACES * LOADS_OF_BLOCK
    assert {row["rung"] for row in table} == {"pipe"}
    assert all(row["lcp_ms"] and row["finished_ms"] and row["tbt_ms"] is None for row in table)
