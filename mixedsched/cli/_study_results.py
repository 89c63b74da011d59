"""How `study` tells what stored loads show: on the terminal, as a report, and as files for other programs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from mixedsched.cli._console import out, say_report, say_written
from mixedsched.cli._output import Json, say_json
from mixedsched.cli._study_command import command_of, file_of
from mixedsched.errors import InputError, UsageError
from mixedsched.lab.results import DATABASE_NAME, writing_to
from mixedsched.lab.study.definition import read_study
from mixedsched.lab.study.export import WRITERS, study_rows
from mixedsched.lab.study.papers import PAPERS_LEVEL, PaperFigures, paper_figures
from mixedsched.lab.study.results import StudyResult
from mixedsched.lab.study.session import DEFINITION_NAME, find_study, stored_results, study_store
from mixedsched.report.study import render_study, write_study
from mixedsched.report.view import ResultKind, write_summary
from mixedsched.units import counted
from mixedsched.world.store import StudyStore, database_file

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store", help="Database that several machines share: postgresql://USER@HOST/NAME.", metavar="ADDRESS"
    ),
]
StudyOption = Annotated[
    str | None,
    typer.Option(
        "--study", help="Name of the study, in a database of several; by default the one in DIR.", metavar="NAME"
    ),
]
FolderArgument = Annotated[Path | None, typer.Argument(help="A folder that `study run` made.", metavar="DIR")]


class _Format(StrEnum):
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    LOADS = "loads"


def report(
    folder: FolderArgument = None,
    store: StoreOption = None,
    study: StudyOption = None,
    as_papers: Annotated[
        bool,
        typer.Option(
            "--as-papers",
            help="Also report as papers do: differences of medians, Mann-Whitney U, counts beyond 5 and 25 %, Spearman.",
        ),
    ] = False,
    level: Annotated[
        float,
        typer.Option(
            help="With --as-papers: p below which a difference counts as significant.", min=0.0, max=1.0, metavar="P"
        ),
    ] = PAPERS_LEVEL,
    as_json: Json = False,
) -> None:
    """Say what the stored loads of a study show, and write its report anew, even if it is not finished."""
    with opened(folder, store) as database:
        stored = find_study(database, study or _name(folder, store))
        found = stored_results(database, stored.name)
    figures = paper_figures(found, level=level) if as_papers else None
    file = file_of(stored, folder) if folder is not None else None
    say_results(found, folder, command_of(file, folder, store, found), figures, as_json=as_json)


def export(
    folder: FolderArgument = None,
    store: StoreOption = None,
    study: StudyOption = None,
    form: Annotated[
        _Format,
        typer.Option(
            "--format", help="Kind of file; parquet and loads need the package pyarrow. `study run --from` reads loads."
        ),
    ] = _Format.CSV,
    file: Annotated[
        Path | None, typer.Option("--out", help="File to write; by default stdout.", metavar="FILE")
    ] = None,
) -> None:
    """Export every load of a study, failed ones too: rows of CSV, JSON or Parquet, or a file from which a study continues."""
    if form is _Format.LOADS:
        _export_loads(folder, store, study, file)
        return
    write = WRITERS[form.value]
    if file is None and form is _Format.PARQUET and sys.stdout.isatty():
        raise UsageError("a Parquet file cannot be shown on a terminal", fix="name a file with --out")
    with opened(folder, store) as database:
        rows = study_rows(database, find_study(database, study or _name(folder, store)))
        if file is None:
            write(rows, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        with writing_to(file), _whole(file) as target:
            write(rows, target)
    say_written("written", file)


def _export_loads(folder: Path | None, store: str | None, study: str | None, file: Path | None) -> None:
    """Write the small file from which a study can go on elsewhere."""
    from mixedsched.lab.study.lean import write_lean  # here, because it takes pyarrow

    if file is None:
        raise UsageError("the loads of a study go into a file", fix="name it with --out")
    with opened(folder, store) as database, writing_to(file):
        loads = write_lean(database, find_study(database, study or _name(folder, store)), file)
    say_written(f"written ({counted(loads, 'load')})", file)


@contextmanager
def _whole(file: Path) -> Iterator[BinaryIO]:
    """Opened for writing; under its name only once all of it is there."""
    part = file.with_name(f"{file.name}.part")
    try:
        with part.open("wb") as target:
            yield target
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def opened(folder: Path | None, store: str | None) -> StudyStore:
    """The database that is meant. Raises InputError if there is none."""
    if store is None and (folder is None or not (folder / DATABASE_NAME).is_file()):
        raise InputError(
            f"{folder} contains no study" if folder is not None else "no study is named",
            why=f"there is no {DATABASE_NAME} in it" if folder is not None else "",
            fix="name a folder that `study run` made, or a database with --store",
        )
    file = None if store is None else database_file(store)
    if file is not None and not file.is_file():  # it would be made
        raise InputError(
            f"there is no database {file}",
            why="`study run` and `worker` make it",
            fix="check the address after --store",
        )
    return study_store(folder or Path(), store)


def _name(folder: Path | None, store: str | None) -> str | None:
    """The name of the study to which a folder belongs, needed where the database may hold several."""
    return None if folder is None or store is None else read_study(folder / DEFINITION_NAME).name


def say_results(
    result: StudyResult, folder: Path | None, command: str, figures: PaperFigures | None = None, *, as_json: bool
) -> None:
    """Write the report of a study into its folder, if there is one, and say what it shows."""
    path = None
    if folder is not None:
        with writing_to(folder):
            path = write_study(result, {"command": command, **result.facts}, folder, figures)
        write_summary(folder, ResultKind.STUDY, result.to_dict(), result.facts)
    if as_json:
        papers = {} if figures is None else {"as_papers": figures.to_dict()}
        say_json({**result.to_dict(), **papers, "report": None if path is None else str(path)})
        return
    out.print(render_study(result, figures))
    if path is not None:
        say_report(path)
