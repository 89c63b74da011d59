"""A study that is played bit by bit: its loads are in a small file that is committed, from which it goes on anywhere."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from mixedsched.lab.results import DATABASE_NAME, owned
from mixedsched.lab.study._collecting import collect
from mixedsched.lab.study.continuing import go_on_from
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.lean import read_lean, write_lean
from mixedsched.lab.study.places import chosen, open_places, sites_of
from mixedsched.lab.study.session import Say, find_study, planned_work, run_study, study_store, with_blocks
from mixedsched.units import counted
from mixedsched.world.store import StoredLoad, StoredPlace, StoredStudy, StudyStore


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

    It is written after an interruption, too, but stays as it is where it has complete blocks that the folder lacks: the folder
    was not begun from it, or its loads were refused.

    kept: as `write_lean` writes it, with these keys. folder: for the database. play: False to write what the folder has. The
    others are as for `run_study`, whose errors are raised.
    """
    try:
        if play:
            study, begun = with_blocks(study, blocks), kept if kept.exists() else None
            if begun is not None and only is not None:
                _take_in(study, begun, folder, jobs, say)
            run_study(study, folder=folder, only=only, start_from=begun, jobs=jobs, say=say)
    finally:
        if (folder / DATABASE_NAME).exists():
            with study_store(folder, None) as store:
                if store.studies():  # else it ended before it began
                    _write(store, find_study(store), kept, keys, say)


def _take_in(study: Study, kept: Path, folder: Path, jobs: int | None, say: Say) -> None:
    """Have all blocks of the file in the folder, of whatever places, so that what is played at some is added to them."""
    places = chosen(sites_of(study), study, None)
    with owned(folder), study_store(folder, None) as store:
        work = planned_work(study, lambda: open_places(study, places, say), store, folder, say)
        go_on_from(kept, replace(work, jobs=jobs), say)


def _write(store: StudyStore, stored: StoredStudy, kept: Path, keys: Sequence[str], say: Say) -> None:
    if kept.exists():
        lean = read_lean(kept)
        arms = lean.result.study.arms
        there = _complete(store.places(stored.id), store.loads(stored.id), arms)
        if lacking := len(_complete(lean.places, lean.loads, arms) - there):
            say(
                f"{kept} stays as it is: the database lacks {counted(lacking, 'block')} of it, which are taken in before "
                "anything is played"
            )
            return
    say(f"{kept.stem}: {write_lean(store, stored, kept, keys)} loads")


def _complete(
    places: Sequence[StoredPlace], loads: Iterable[StoredLoad], arms: Sequence[str]
) -> set[tuple[str, str, int]]:
    """Site, link and number of each block that is complete."""
    found = collect(loads, (place.id for place in places), arms)
    return {(place.site, place.link, block) for place in places for block in found[place.id].complete()}
