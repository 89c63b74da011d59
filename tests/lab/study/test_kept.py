"""Studies that are played bit by bit, whose loads are kept in a file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from mixedsched.errors import PageError, UsageError
from mixedsched.lab.study import continuing, session
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.kept import play_kept
from mixedsched.lab.study.lean import read_lean
from mixedsched.lab.study.session import run_study
from tests.lab.study.small import LOADS_OF_BLOCK, SITES, small_study

KEYS = ("lcp_ms",)
PAGES = len(SITES)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return small_study(tmp_path, links=["cable"])


def test_a_study_goes_on_from_its_file_where_the_database_is_gone(study: Study, tmp_path: Path) -> None:
    kept, said = tmp_path / "kept.parquet", list[str]()
    play_kept(study, kept, KEYS, folder=tmp_path / "runs", blocks=1, jobs=1, say=said.append)
    shutil.rmtree(tmp_path / "runs")
    play_kept(study, kept, KEYS, folder=tmp_path / "runs", jobs=1, say=said.append)
    assert any(f"{PAGES} blocks are taken" in line for line in said)
    assert said[-1] == f"kept: {2 * PAGES * LOADS_OF_BLOCK} loads"
    assert len(read_lean(kept).loads) == 2 * PAGES * LOADS_OF_BLOCK


def test_what_an_interrupted_study_has_is_kept(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    kept, runs = tmp_path / "kept.parquet", tmp_path / "runs"
    play_kept(study, kept, KEYS, folder=runs, only="pages/one@cable", jobs=1, say=lambda _: None)
    kept.unlink()
    monkeypatch.setattr(session, "carry_out_study", interrupted)
    with pytest.raises(KeyboardInterrupt):
        play_kept(study, kept, KEYS, folder=runs, jobs=1, say=lambda _: None)
    assert {load.status for load in read_lean(kept).loads} == {"ok"}


def test_without_playing_the_file_has_what_the_folder_has(study: Study, tmp_path: Path) -> None:
    kept = tmp_path / "kept.parquet"
    play_kept(study, kept, KEYS, folder=tmp_path / "runs", play=False, say=pytest.fail)
    assert not kept.exists()
    play_kept(study, kept, KEYS, folder=tmp_path / "runs", jobs=1, say=lambda _: None)
    whole = kept.read_bytes()
    kept.unlink()
    play_kept(study, kept, KEYS, folder=tmp_path / "runs", play=False, say=lambda _: None)
    assert kept.read_bytes() == whole


def test_what_is_played_at_one_place_is_added_to_what_is_kept_of_all(study: Study, tmp_path: Path) -> None:
    kept, said = tmp_path / "kept.parquet", list[str]()
    play_kept(study, kept, KEYS, folder=tmp_path / "runs", blocks=1, jobs=1, say=said.append)
    play_kept(study, kept, KEYS, folder=tmp_path / "clone", only="pages/two@cable", jobs=1, say=said.append)
    assert said[-1] == f"kept: {(PAGES + 1) * LOADS_OF_BLOCK} loads"
    blocks = {place.site: place.blocks for place in read_lean(kept).result.places}
    assert blocks == {"pages/one": (1,), "pages/two": (1, 2), "pages/three": (1,)}


def test_what_only_the_file_has_is_never_lost(study: Study, tmp_path: Path) -> None:
    kept, said = tmp_path / "kept.parquet", list[str]()
    play_kept(study, kept, KEYS, folder=tmp_path / "runs", jobs=1, say=said.append)
    whole = kept.read_bytes()
    run_study(study, folder=tmp_path / "fewer", only="pages/one@cable", jobs=1)  # without what is kept
    play_kept(study, kept, KEYS, folder=tmp_path / "fewer", play=False, say=said.append)
    assert said[-1].startswith(f"{kept} stays as it is: the database lacks {2 * (PAGES - 1)} blocks of it, which are")
    with pytest.raises(UsageError, match="blocks: 2 -> 1"):
        play_kept(study, kept, KEYS, folder=tmp_path / "shorter", blocks=1, jobs=1, say=said.append)
    assert kept.read_bytes() == whole
    play_kept(study, kept, KEYS, folder=tmp_path / "fewer", only="pages/one@cable", jobs=1, say=said.append)
    assert len(read_lean(kept).loads) == 2 * PAGES * LOADS_OF_BLOCK


def test_loads_that_are_not_those_of_this_version_stay_in_the_file(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.parquet"
    play_kept(study, kept, KEYS, folder=tmp_path / "runs", jobs=1, say=lambda _: None)
    whole = kept.read_bytes()
    monkeypatch.setattr(continuing, "_difference", lambda *_: "lcp_ms was 1, now 2")
    with pytest.raises(UsageError, match="not those of this version"):
        play_kept(study, kept, KEYS, folder=tmp_path / "other", jobs=1, say=lambda _: None)
    assert kept.read_bytes() == whole


def test_a_study_that_cannot_begin_says_why(study: Study, tmp_path: Path) -> None:
    (tmp_path / "pages" / "two.json").write_text("rubbish")
    with pytest.raises(PageError, match="two"):
        play_kept(study, tmp_path / "kept.parquet", KEYS, folder=tmp_path / "runs", jobs=1, say=lambda _: None)
