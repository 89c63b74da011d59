"""The report of a search for a better order of bytes: for the terminal, and as one HTML file that needs no other."""

from pathlib import Path

from mixedsched.advice.tuner.result import Tuning
from mixedsched.report.tune._terminal import render_tuning

__all__ = ["render_tuning", "write_tuning"]


def write_tuning(tuning: Tuning, path: Path) -> None:
    """Write the HTML report to `path`. What is to be shipped is read from the files that lie beside it, as `tuning.files`
    names them; those that cannot be read are left out. Raises OSError if the report cannot be written."""
    from mixedsched.report.tune._document import read_shipped, render_html  # here, because templates take time to load

    path.write_text(render_html(tuning, read_shipped(path.parent, tuning.files)), encoding="utf-8")
