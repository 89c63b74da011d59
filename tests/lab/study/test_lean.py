"""Loads of a study in one small file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mixedsched.errors import StudyError
from mixedsched.lab.results import DATABASE_NAME
from mixedsched.lab.study.lean import LEAN_FORMAT, read_lean, write_lean
from mixedsched.lab.study.results import StudyResult
from mixedsched.lab.study.session import find_study, stored_results, study_store
from mixedsched.world.store import NewLoad, PlannedBlock, PlannedPlace, StudyStore
from tests.lab.study.made_up_study import MadeUpStudy, load, made_up_definition, store_study


def written(made: MadeUpStudy, folder: Path, out: Path, *keys: str, loads: object = None) -> StudyResult:
    """Writes the file, and returns what the database itself shows."""
    store_study(made, folder, loads)  # type: ignore[arg-type]
    with study_store(folder, None) as store:
        write_lean(store, find_study(store), out, *([keys] if keys else []))
        return stored_results(store)


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of a whole study, for those that read it."""
    folder = tmp_path_factory.mktemp("lean")
    written(MadeUpStudy(made_up_definition()), folder, folder / "lean.parquet")
    return folder / "lean.parquet"


def test_a_study_reads_as_it_was(tmp_path: Path) -> None:
    made = MadeUpStudy(made_up_definition(), links=("4g", "cable"), factors={"mixed": 0.9})
    before = written(made, tmp_path, tmp_path / "lean.parquet")
    after = read_lean(tmp_path / "lean.parquet").result
    assert after.study == before.study
    assert [(place.site, place.link, place.blocks, place.missing) for place in after.places] == [
        (place.site, place.link, place.blocks, place.missing) for place in before.places
    ]
    for one, other in zip(after.places, before.places, strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-6)
        assert [effect.verdict for effect in one.effects] == [effect.verdict for effect in other.effects]


def test_an_unfinished_study_is_read_with_what_is_missing_and_what_failed(tmp_path: Path) -> None:
    made = MadeUpStudy(made_up_definition(blocks=4), sites=("shop", "blog"))
    loads = [item for item in made.loads() if (item.place_id, item.block) != (11, 4)]
    failed = load(made.places[1], 4, "mixed", {}, status="failed", reason="the server is gone")
    before = written(made, tmp_path, tmp_path / "lean.parquet", loads=[*loads, failed])
    after = read_lean(tmp_path / "lean.parquet").result
    assert before.missing_blocks == after.missing_blocks == 1
    assert before.failures == after.failures != ()


def test_only_the_values_that_are_asked_for_are_kept(tmp_path: Path) -> None:
    written(MadeUpStudy(made_up_definition()), tmp_path, tmp_path / "lean.parquet", "lcp_ms", "byte_index_ms")
    names = parquet.read_schema(tmp_path / "lean.parquet").names
    assert [name for name in names if name.endswith(("_ms", "_bytes"))] == ["lcp_ms"], "no load has a ByteIndex"


def test_the_same_loads_give_the_same_file(tmp_path: Path) -> None:
    store_study(MadeUpStudy(made_up_definition()), tmp_path)
    for name in ("a", "b"):
        with StudyStore(f"sqlite:///{tmp_path / DATABASE_NAME}") as store:
            write_lean(store, find_study(store), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_block_numbers_may_be_as_large_as_a_study_allows(tmp_path: Path) -> None:
    study = made_up_definition(blocks=40_000)
    with StudyStore(f"sqlite:///{tmp_path / DATABASE_NAME}") as store:
        number = store.save_study(study.name, study.to_dict(), {})
        store.add_places(number, [PlannedPlace(0, "shop", "4g", {}, [PlannedBlock(40_000, 1)])])
        worker = store.join("a worker", "here", {})
        [lease] = store.lease(number, worker, 1, 60.0)
        loads = [NewLoad(arm, 0, 2**40, "ok", "", {"lcp_ms": 1.0}) for arm in study.arms]
        store.add_all(worker, [(lease, loads, True)])
        write_lean(store, find_study(store), tmp_path / "lean.parquet")
    assert read_lean(tmp_path / "lean.parquet").result.places[0].blocks == (40_000,)


def test_what_was_there_stays_until_all_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "lean.parquet"
    written(MadeUpStudy(made_up_definition()), tmp_path, file)
    whole = file.read_bytes()

    def full_disk(_: pa.Table, where: Path, **__: object) -> None:
        where.write_bytes(b"PAR1")
        raise OSError("no room")

    monkeypatch.setattr(parquet, "write_table", full_disk)
    with StudyStore(f"sqlite:///{tmp_path / DATABASE_NAME}") as store, pytest.raises(OSError, match="no room"):
        write_lean(store, find_study(store), file)
    assert file.read_bytes() == whole
    assert not file.with_name("lean.parquet.part").exists()


@pytest.mark.parametrize("facts", [{"format": "mixedsched.loads/9"}, {}])
def test_a_file_of_another_version_is_refused(tmp_path: Path, facts: dict[str, str]) -> None:
    table = pa.table({"arm": ["mixed"]}).replace_schema_metadata({"mixedsched": json.dumps(facts)})
    parquet.write_table(table, tmp_path / "other.parquet")
    with pytest.raises(StudyError, match="other version") as caught:
        read_lean(tmp_path / "other.parquet")
    assert LEAN_FORMAT in caught.value.why


@pytest.mark.parametrize("content", [b"", b"PAR1 and nothing else", b"site,link\n"])
def test_what_is_no_such_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.parquet").write_bytes(content)
    with pytest.raises(StudyError, match="contains no loads"):
        read_lean(tmp_path / "bad.parquet")
    parquet.write_table(pa.table({"arm": ["mixed"]}), tmp_path / "bare.parquet")
    with pytest.raises(StudyError, match="contains no loads"):
        read_lean(tmp_path / "bare.parquet")


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: facts.clear(),
        lambda facts: facts.pop("places"),
        lambda facts: facts.pop("versions"),
        lambda facts: facts.update(places=[7]),
        lambda facts: facts.update(places={"site": "shop"}),
        lambda facts: facts["places"][0].pop("link"),
        lambda facts: facts["places"][0].update(blocks="many"),
        lambda facts: facts.update(definition=[]),
        lambda facts: facts.update(definition={}),
        lambda facts: facts.update(looks={"first": 1}),
        lambda facts: facts.update(looks={"first": 3, "last": 2}),
        lambda facts: facts.update(earlier_versions="none"),
    ],
)
def test_metadata_that_are_rubbish_are_refused(
    lean: Path, tmp_path: Path, change: Callable[[dict[str, Any]], Any]
) -> None:
    file, table = tmp_path / "changed.parquet", parquet.read_table(lean)
    facts = json.loads(table.schema.metadata[b"mixedsched"])
    change(facts)
    parquet.write_table(table.replace_schema_metadata({"mixedsched": json.dumps(facts)}), file)
    with pytest.raises(StudyError):
        read_lean(file)


@pytest.mark.parametrize("metadata", ["[" * 100_000, "7", "[]", "null"])
def test_metadata_that_are_no_table_are_refused(tmp_path: Path, metadata: str) -> None:
    parquet.write_table(
        pa.table({"arm": ["mixed"]}).replace_schema_metadata({"mixedsched": metadata}), tmp_path / "bad.parquet"
    )
    with pytest.raises(StudyError, match="contains no loads"):
        read_lean(tmp_path / "bad.parquet")


@pytest.mark.parametrize("column", ["place", "block", "attempt", "seed", "arm", "status", "machine", "lcp_ms"])
@pytest.mark.parametrize("values", [None, ["x"], [None], [[1]]])
def test_columns_that_are_rubbish_are_refused(
    lean: Path, tmp_path: Path, column: str, values: list[Any] | None
) -> None:
    file, table = tmp_path / "changed.parquet", parquet.read_table(lean)
    place = table.column_names.index(column)
    is_text, is_value = column in ("arm", "status", "machine"), column == "lcp_ms"
    if (is_text and values == ["x"]) or (is_value and values in (None, [None])):
        return  # such a file is as good as any
    changed = table.remove_column(place)
    if values is not None:
        changed = table.set_column(place, column, pa.array(values * table.num_rows))
    parquet.write_table(changed, file)
    with pytest.raises(StudyError, match="contains no loads"):
        read_lean(file)
