"""Studies that are played bit by bit, whose loads are kept in a file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from mixedsched.lab.study import session
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.kept import play_kept
from mixedsched.lab.study.lean import read_lean
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
