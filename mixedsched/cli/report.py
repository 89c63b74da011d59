"""`report`: writes the HTML report of stored runs again, or says where another command put its own."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from mixedsched.cli._comparison import say_experiment
from mixedsched.cli._console import out, say_report, say_written, shown
from mixedsched.cli._output import Json, say_json
from mixedsched.errors import InputError, UsageError
from mixedsched.lab.experiment import Experiment, read_experiment
from mixedsched.lab.results import writing_to
from mixedsched.lab.study.session import DEFINITION_NAME
from mixedsched.report.compare import median_film
from mixedsched.report.video import video_kind, write_video
from mixedsched.report.view import ResultKind

# Commands that judge as they measure, and so write their reports themselves.
_OTHERS = {
    "tune": ResultKind.TUNE,
    "tune --schemes": ResultKind.FINDER,
    "audit": ResultKind.AUDIT,
    "calibrate": ResultKind.CALIBRATE,
}


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched report runs/agency-4g-0123456789ab")(report)


def report(
    folder: Annotated[
        Path, typer.Argument(help="A folder that compare, tune, audit or calibrate made.", metavar="DIR")
    ],
    video: Annotated[
        Path | None,
        typer.Option(
            help="Also write the loads side by side as a video: .mp4 or .webm (takes ffmpeg), or .gif.", metavar="FILE"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Analyse the stored runs of compare and write their report, even if the experiment is not finished.

    The other commands write their own reports; for their folders, this says where the report is.
    """
    if video is not None:
        video_kind(video)  # so that another name is refused before anything is analysed
    for command, kind in _OTHERS.items():
        if (folder / kind.facts).is_file():
            if video is not None:
                raise UsageError(f"{folder} was made by `{command}`", why="--video shows the loads of compare")
            _point_to(command, folder / kind.facts, folder / kind.report, as_json)
            return
    if (folder / DEFINITION_NAME).is_file():
        fix = shlex.join(["mixedsched", "study", "report", str(folder)])
        raise InputError(f"{folder} was made by `study run`", fix=f"its report is written by: {fix}")
    experiment = _read(folder)
    say_experiment(experiment, as_json=as_json)
    if video is not None:
        _write_video(experiment, video)


def _read(folder: Path) -> Experiment:
    """Raises InputError also for records that were damaged, or written by others."""
    try:
        return read_experiment(folder)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"the stored runs of {folder} cannot be understood",
            why=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}",
            fix="restore its database, or compare again with another --out",
        ) from error


def _write_video(experiment: Experiment, path: Path) -> None:
    film = median_film(experiment.comparison, experiment.runs)
    if film is None:
        raise InputError("there is no film to write", why="no complete block has pictures")
    with writing_to(path):
        write_video(film, path)
    say_written("video", path)


def _point_to(command: str, facts_file: Path, report_file: Path, as_json: bool) -> None:
    try:
        facts: dict[str, Any] = dict(json.loads(facts_file.read_text(encoding="utf-8")))
        if as_json:
            say_json(facts)
            return
    except (OSError, RecursionError, TypeError, ValueError) as error:  # also what JSON cannot say: NaN
        fix = f"run the {command} command again: it continues from what is stored, and rewrites its report"
        raise InputError(f"{facts_file} cannot be read", why=str(error), fix=fix) from error
    again = f": {shown(str(facts['command']))}" if facts.get("command") else ""
    out.print(f"made by `{command}`; to continue, or to rewrite its report, run it again{again}", soft_wrap=True)
    say_report(report_file)
