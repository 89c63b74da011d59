"""A study that is played bit by bit: its loads are in a small file that is committed, from which it goes on anywhere."""

from collections.abc import Sequence
from pathlib import Path

from mixedsched.lab.results import DATABASE_NAME
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.lean import write_lean
from mixedsched.lab.study.session import Say, find_study, run_study, study_store


def play_kept(
    study: Study,
    kept: Path,
    keys: Sequence[str],
    *,
    folder: Path,
    only: str | None = None,
    blocks: int | None = None,
    jobs: int | None = None,
    play: bool = True,
    say: Say,
) -> None:
    """Make the loads that are neither in the folder nor in the file, and write all there are into the file.

    It is written after an interruption, too. kept: as `write_lean` writes it, with these keys. folder: for the database.
    play: False to write what the folder has. The others are as for `run_study`, whose errors are raised.
    """
    try:
        if play:
            begun = kept if kept.exists() else None
            run_study(study, folder=folder, only=only, blocks=blocks, start_from=begun, jobs=jobs, say=say)
    finally:
        if (folder / DATABASE_NAME).exists():
            with study_store(folder, None) as store:
                say(f"{kept.stem}: {write_lean(store, find_study(store), kept, keys)} loads")
