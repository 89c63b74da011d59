"""The command that a study's report names: it goes on with the same study."""

import shlex
from pathlib import Path

from mixedsched.errors import MixedschedError
from mixedsched.lab.gates import UNTIL_DECIDED
from mixedsched.lab.study.definition import read_study
from mixedsched.lab.study.results import StudyResult
from mixedsched.lab.study.session import DEFINITION_NAME, STUDY_FILE
from mixedsched.world.browser.kinds import Browser
from mixedsched.world.store import StoredStudy, shown_address


def file_of(stored: StoredStudy, folder: Path) -> Path:
    """The file that was run, as names of files in it are seen from there; the copy in the folder where it is gone."""
    file = Path(str(stored.facts.get(STUDY_FILE, "")))
    if not file.is_file():
        return folder / DEFINITION_NAME
    return file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file


def command_of(file: Path | None, folder: Path | None, store: str | None, result: StudyResult) -> str:
    """The command that goes on with a study, all of its places; "" if its file is not known."""
    if file is None:
        return ""
    study, questions = result.study, result.questions
    words = ["mixedsched", "study", "run", str(file)]
    words += ["--out", str(folder)] if folder is not None else []
    words += ["--browser", study.browser] if study.browser != Browser.CHROMIUM.value else []
    words += ["--store", shown_address(store)] if store is not None else []
    words += ["--blocks", str(study.blocks)] if study.blocks != _blocks_in(file) else []
    if questions.looks is not None:
        words += ["--until", UNTIL_DECIDED, "--max-blocks", str(questions.looks.last)]
    words += [word for gate in questions.gates for word in ("--fail-if", gate.condition)]
    return shlex.join(words)


def _blocks_in(file: Path) -> int | None:
    """As many as the study file says; None if it is not what it was."""
    try:
        return read_study(file).blocks
    except MixedschedError:
        return None
