"""A study goes on from the loads of a file as if it had been played where it goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from mixedsched.errors import UsageError
from mixedsched.lab.results import DATABASE_NAME
from mixedsched.lab.study import session
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.lean import read_lean, write_lean
from mixedsched.lab.study.results import StudyResult
from mixedsched.lab.study.session import find_study, run_study, study_store
from mixedsched.world.store import StudyStore
from tests.lab.study.made_up_study import MadeUpStudy, made_up_definition, store_study
from tests.lab.study.small import small_study

THREE_BLOCKS: dict[str, Any] = {"blocks": 3, "arms": ["sequential", "mixed"]}
VERSIONS = {"mixedsched": "1", "code": "another", "aioquic": "1", "python": "3"}


def loads_in(folder: Path) -> list[tuple[Any, ...]]:
    with study_store(folder, None) as store:
        study = find_study(store)
        names = {place.id: (place.site, place.link) for place in store.places(study.id)}
        return sorted(
            (*names[load.place_id], load.block, load.attempt, load.arm, load.seed, load.status)
            for load in store.loads(study.id)
        )


def written(folder: Path, out: Path) -> Path:
    with study_store(folder, None) as store:
        write_lean(store, find_study(store), out)
    return out


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return small_study(tmp_path, **THREE_BLOCKS)


@pytest.fixture(scope="module")
def two_blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of the first two blocks of each place."""
    folder = tmp_path_factory.mktemp("begun")
    run_study(small_study(folder, **THREE_BLOCKS), folder=folder / "out", blocks=2, jobs=1)
    return written(folder / "out", folder / "begun.parquet")


@pytest.fixture
def begun(two_blocks: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copy(two_blocks, tmp_path))


def with_facts(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    table = parquet.read_table(path)
    facts = json.loads(table.schema.metadata[b"mixedsched"])
    change(facts)
    parquet.write_table(table.replace_schema_metadata({b"mixedsched": json.dumps(facts)}), path)
    return path


def with_values(path: Path, key: str, factor: float) -> Path:
    table = parquet.read_table(path)
    values = pa.array([value and value * factor for value in table.column(key).to_pylist()], pa.float32())
    parquet.write_table(table.set_column(table.column_names.index(key), key, values), path)
    return path


def outcome(result: StudyResult) -> Any:
    return [[(effect.arm, effect.metric, effect.verdict) for effect in place.effects] for place in result.places]


def test_it_ends_like_one_that_was_played_in_one_place(study: Study, begun: Path, tmp_path: Path) -> None:
    whole = run_study(study, folder=tmp_path / "whole", jobs=1)
    said: list[str] = []
    continued = run_study(study, folder=tmp_path / "continued", start_from=begun, jobs=1, say=said.append)
    assert loads_in(tmp_path / "continued") == loads_in(tmp_path / "whole")
    assert outcome(continued) == outcome(whole)
    assert any("12 blocks are taken" in line for line in said)
    again = written(tmp_path / "continued", tmp_path / "again.parquet")
    assert read_lean(again).loads == read_lean(written(tmp_path / "whole", tmp_path / "whole.parquet")).loads


def test_blocks_that_are_there_are_not_taken_twice(study: Study, begun: Path, tmp_path: Path) -> None:
    for _ in range(2):
        run_study(study, folder=tmp_path / "out", start_from=begun, jobs=1)
    assert len(set(loads_in(tmp_path / "out"))) == len(loads_in(tmp_path / "out"))


def test_another_version_may_have_played_the_same_loads(study: Study, begun: Path, tmp_path: Path) -> None:
    with_facts(begun, lambda facts: facts.update(versions=VERSIONS))
    run_study(study, folder=tmp_path / "out", start_from=begun, jobs=1)
    again = read_lean(written(tmp_path / "out", tmp_path / "again.parquet"))
    assert list(again.earlier_versions) == [VERSIONS]
    assert again.is_told_with(read_lean(begun))


def test_loads_that_this_version_plays_otherwise_are_refused(study: Study, begun: Path, tmp_path: Path) -> None:
    with_values(begun, "lcp_ms", 1.0001)
    with pytest.raises(UsageError, match="not those of this version") as caught:
        run_study(study, folder=tmp_path / "out", start_from=begun, jobs=1)
    assert "lcp_ms was " in caught.value.why


def test_loads_of_another_study_are_refused(study: Study, begun: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="another study") as caught:
        run_study(study.model_copy(update={"seed": 2}), folder=tmp_path / "out", start_from=begun)
    assert "seed" in caught.value.why


def test_loads_of_a_page_that_has_changed_are_refused(study: Study, begun: Path, tmp_path: Path) -> None:
    page = tmp_path / "pages" / "one.json"
    page.write_text(page.read_text().replace("20000", "20001"))
    with pytest.raises(UsageError, match="is not what it was"):
        run_study(study, folder=tmp_path / "out", start_from=begun)


def test_a_block_that_lacks_an_arm_is_played_anew(study: Study, begun: Path, tmp_path: Path) -> None:
    table = parquet.read_table(begun)
    parquet.write_table(table.slice(1), begun)
    said: list[str] = []
    run_study(study, folder=tmp_path / "out", start_from=begun, jobs=1, say=said.append)
    assert any("11 blocks are taken" in line for line in said)


def test_blocks_that_were_made_until_it_was_decided_stay_such(tmp_path: Path) -> None:
    study = small_study(tmp_path, arms=["sequential", "nip"], links=["wifi-lossy"], blocks=8)
    options: dict[str, Any] = {"until": "decided", "max_blocks": 12, "fail_if": ["lcp > +2%"], "jobs": 1}
    found = run_study(study, folder=tmp_path / "begun", **options)
    file = written(tmp_path / "begun", tmp_path / "begun.parquet")
    assert outcome(read_lean(file).result) == outcome(found)
    with pytest.raises(UsageError, match="begun with another --until"):
        run_study(study, folder=tmp_path / "plain", start_from=file, jobs=1)
    said: list[str] = []
    again = run_study(study, folder=tmp_path / "again", start_from=file, say=said.append, **options)
    assert outcome(again) == outcome(found)
    assert any(f"{sum(len(place.blocks) for place in found.places)} blocks are taken" in line for line in said)


def test_measured_loads_bring_the_browser_that_made_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is compared with this machine's before it loads anything: what was measured cannot be measured again."""
    made = MadeUpStudy(made_up_definition(rung="browser", sites=["agency"]), ["agency"])
    store_study(made, tmp_path)
    file = written(tmp_path, tmp_path / "made.parquet")
    laboratory = {"chromium": "1.2.3"}
    with_facts(file, lambda facts: facts.update(laboratory=laboratory, places=[{**facts["places"][0], "facts": {}}]))
    monkeypatch.setattr(session, "_carry_out", lambda *_: None)
    run_study(made.study, folder=tmp_path / "out", start_from=file)
    with StudyStore(f"sqlite:///{tmp_path / 'out' / DATABASE_NAME}") as store:
        assert find_study(store).facts["laboratory"] == laboratory
    assert len(loads_in(tmp_path / "out")) == made.study.blocks * len(made.study.arms)
