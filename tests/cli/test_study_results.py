"""`study run`, `report` and `export`: a report is always there, and says what is missing; loads come out in three formats."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

from mixedsched.lab.study.definition import dump_study
from tests.command import Result, run
from tests.lab.study.made_up_study import MadeUpStudy, made_up_definition, store_study
from tests.lab.study.small import LOADS_OF_BLOCK, PLACES, quick_study


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The folder of a study, and what `study run` said."""
    folder = tmp_path_factory.mktemp("study")
    file = folder / "study.toml"
    file.write_text(dump_study(quick_study(folder)))
    return folder / "out", run("study", "run", file, "--out", folder / "out", "--jobs", "1", "--json")


def test_run_ends_with_a_report_and_a_page_for_each_place(done: tuple[Path, Result]) -> None:
    folder, result = done
    assert result.exit_code == 0
    report = Path(json.loads(result.stdout.splitlines()[-1])["report"])
    assert report == folder / "report.html"
    assert len(list((folder / "places").glob("*.html"))) == PLACES
    assert f"study run {folder.parent / 'study.toml'} --out {folder}" in report.read_text()


def test_report_writes_it_anew_and_says_the_same(done: tuple[Path, Result]) -> None:
    folder, result = done
    before = (folder / "report.html").read_text()
    (folder / "report.html").unlink()
    again = run("study", "report", folder, "--json")
    assert json.loads(again.stdout) == json.loads(result.stdout.splitlines()[-1])
    assert (folder / "report.html").read_text() == before, (
        "also how to go on, by the file from which its pages are seen"
    )
    shown = run("study", "report", folder)
    assert "Over cable" in shown.stdout
    assert str(folder / "report.html") in shown.stdout.replace("\n", "")


def test_an_unfinished_study_has_a_report_that_says_so(tmp_path: Path) -> None:
    made = MadeUpStudy(made_up_definition(), ["shop", "blog"])
    store_study(made, tmp_path, [item for item in made.loads() if item.block <= 4])
    shown = run("study", "report", tmp_path)
    assert shown.exit_code == 0
    assert "Not finished: 12 of 20 blocks are missing" in shown.stdout
    assert "not finished" in (tmp_path / "report.html").read_text()


def test_papers_figures_are_there_when_asked_for(done: tuple[Path, Result]) -> None:
    folder, _ = done
    told = json.loads(run("study", "report", folder, "--as-papers", "--level", "0.01", "--json").stdout)["as_papers"]
    assert (told["level"], len(told["sites"])) == (0.01, PLACES * (LOADS_OF_BLOCK - 1))
    assert "as_papers" not in json.loads(run("study", "report", folder, "--json").stdout)


def test_loads_come_out_alike_in_three_formats(done: tuple[Path, Result], tmp_path: Path) -> None:
    folder, _ = done
    files = {form: tmp_path / f"loads.{form}" for form in ("csv", "json", "parquet")}
    for form, file in files.items():
        assert run("study", "export", folder, "--format", form, "--out", file).exit_code == 0
    rows = json.loads(files["json"].read_text())
    assert len(rows) == PLACES * LOADS_OF_BLOCK
    assert parquet.read_table(files["parquet"]).to_pylist() == rows
    told = list(csv.DictReader(io.StringIO(files["csv"].read_text(), newline="")))
    assert told == [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_without_a_file_loads_go_down_the_pipe(done: tuple[Path, Result], tmp_path: Path, form: str) -> None:
    folder, _ = done
    words = [sys.executable, "-m", "mixedsched", "study", "export", str(folder), "--format", form]
    piped = subprocess.run(words, capture_output=True, check=True).stdout
    file = tmp_path / "loads"
    run("study", "export", folder, "--format", form, "--out", file)
    assert piped == file.read_bytes()


@pytest.mark.parametrize("command", ["report", "export"])
def test_a_folder_without_a_study_is_refused(command: str, tmp_path: Path) -> None:
    result = run("study", command, tmp_path)
    assert result.exit_code == 3
    assert "contains no study" in result.stderr


@pytest.mark.parametrize("command", ["status", "report", "export"])
def test_looking_at_a_database_that_is_not_there_does_not_make_it(command: str, tmp_path: Path) -> None:
    file = tmp_path / "teem.sqlite"
    result = run("study", command, "--store", f"sqlite:///{file}")
    assert result.exit_code == 3
    assert f"there is no database {file}" in result.stderr.replace("\n", "")
    assert not file.exists()


def test_report_names_the_command_that_tells_of_a_study(done: tuple[Path, Result]) -> None:
    result = run("report", done[0])
    assert result.exit_code == 3
    assert f"mixedsched study report {done[0]}" in result.stderr.replace("\n", "")


def test_a_file_that_cannot_be_written_is_named(done: tuple[Path, Result], tmp_path: Path) -> None:
    result = run("study", "export", done[0], "--out", tmp_path / "absent" / "loads.csv")
    assert result.exit_code == 1
    assert "absent" in result.stderr


def test_of_several_studies_in_a_database_one_is_named(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/team.sqlite"
    for name in ("spring", "autumn"):
        study = quick_study(tmp_path).model_copy(update={"name": name, "sites": ("pages/one.json",)})
        (tmp_path / "study.toml").write_text(dump_study(study))
        run("study", "run", tmp_path / "study.toml", "--out", tmp_path / name, "--store", database, "--jobs", "1")
    refused = run("study", "report", "--store", database)
    assert refused.exit_code == 3
    assert "spring" in refused.stderr
    assert "--study" in refused.stderr
    told = json.loads(run("study", "report", "--store", database, "--study", "autumn", "--json").stdout)
    assert told["study"] == "autumn"
    rows = run("study", "export", "--store", database, "--study", "autumn", "--format", "json").stdout
    assert {row["study"] for row in json.loads(rows)} == {"autumn"}


def test_loads_that_were_exported_are_gone_on_from(done: tuple[Path, Result], tmp_path: Path) -> None:
    folder, result = done
    assert run("study", "export", folder, "--format", "loads").exit_code == 2
    assert run("study", "export", folder, "--format", "loads", "--out", tmp_path / "loads").exit_code == 0
    file = folder.parent / "study.toml"
    again = run("study", "run", file, "--out", tmp_path / "out", "--from", tmp_path / "loads", "--jobs", "1", "--json")
    assert f"{PLACES} blocks are taken" in again.stderr
    one, other = (json.loads(text.splitlines()[-1]) for text in (again.stdout, result.stdout))
    assert [effect["verdict"] for effect in one["effects"]] == [effect["verdict"] for effect in other["effects"]]
    refused = run("study", "run", file, "--out", tmp_path / "none", "--from", file)
    assert (refused.exit_code, "contains no loads of a study" in refused.stderr) == (3, True)
