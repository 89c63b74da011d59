"""`report`: builds the HTML report of stored results again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mixedsched.cli._conclusion import comparison_facts, say_comparison
from mixedsched.cli._output import Json, say_json
from mixedsched.cli._runs import REPORT_NAME, conclude


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: mixedsched report runs/agency-4g-0123456789ab")(report)


def report(
    folder: Annotated[Path, typer.Argument(help="A folder that compare made.", metavar="DIR")],
    as_json: Json = False,
) -> None:
    """Analyse stored runs and write their report, also of an experiment that is not finished."""
    comparison, runs = conclude(folder)
    path = folder / REPORT_NAME
    if as_json:
        say_json(comparison_facts(comparison, runs, path))
    else:
        say_comparison(comparison, runs, path)
