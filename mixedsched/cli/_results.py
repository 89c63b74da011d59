"""What commands that judge as they measure leave in their folders, which `report` and `view` find there."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mixedsched.cli._output import write_json
from mixedsched.lab.results import writing_to
from mixedsched.report.view import ResultKind, write_summary


def keep_result(
    folder: Path, kind: ResultKind, facts: Mapping[str, Any], write_report: Callable[[Path], object]
) -> None:
    """Write facts for machines, the report for people, and the summary. Raises MixedschedError if they cannot be written."""
    with writing_to(folder):
        write_json(facts, folder / kind.facts)
        write_report(folder / kind.report)
    write_summary(folder, kind, facts)
