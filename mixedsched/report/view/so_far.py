"""Reports of work that is not finished: written aside, from a copy of its loads, so that nothing is disturbed."""

import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

from mixedsched.errors import InputError, MixedschedError
from mixedsched.report.view.folders import Folder
from mixedsched.report.view.summary import ResultKind

_NOTE = "These verdicts were computed from the stored loads of work that is not finished; its own report may say more."


class ReportsSoFar:
    """Writes them into a folder of its own, which ends with it. Use with `with`."""

    def __init__(self) -> None:
        self._place = Path(tempfile.mkdtemp(prefix="mixedsched-view-"))
        self._one_at_a_time = threading.Lock()  # each may take a second and much memory

    def __enter__(self) -> "ReportsSoFar":
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._place, ignore_errors=True)

    def place(self, folder: Folder) -> Path:
        """The folder of what was written."""
        return self._place / folder.id

    def write(self, folder: Folder) -> str:
        """Write the report anew, and return the name of its file. Raises MixedschedError if there is nothing to tell."""
        with self._one_at_a_time:
            place = self.place(folder)
            place.mkdir(exist_ok=True)
            try:
                if folder.kind is ResultKind.STUDY:
                    return _write_study(folder.path, place)
                return _write_comparison(folder.path, place)
            except MixedschedError:
                raise
            except Exception as error:  # a stored value may be anything, and each part would refuse it in its own way
                raise InputError(
                    "the stored loads cannot be summarized",
                    why=f"{type(error).__name__}: {error}",
                    fix="the page of this result lists its files",
                ) from error


def _write_comparison(source: Path, place: Path) -> str:
    from mixedsched.lab.experiment import read_experiment  # here, because a page without reports need not wait for them
    from mixedsched.lab.results import copied_aside
    from mixedsched.report.compare import write_comparison

    with copied_aside(source) as copy:
        experiment = read_experiment(copy)
    facts: dict[str, Any] = {**experiment.facts.to_dict(), "notes": _NOTE}
    report = place / ResultKind.COMPARE.report
    write_comparison(experiment.comparison, experiment.runs, facts, report)
    return report.name


def _write_study(source: Path, place: Path) -> str:
    from mixedsched.lab.results import copied_aside  # here, as above
    from mixedsched.lab.study.session import stored_results, study_store
    from mixedsched.report.study import write_study

    with copied_aside(source) as copy, study_store(copy, None) as store:
        found = stored_results(store)
    return write_study(found, {"notes": {"": _NOTE}, **found.facts}, place).name
