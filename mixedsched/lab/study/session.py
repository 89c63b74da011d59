"""Begins a study or goes on with it: checks that what is stored belongs to it, plans what is new, and has it carried out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mixedsched.errors import InputError, UsageError
from mixedsched.lab.machine import LOAD_CODE, machine_facts, own_versions
from mixedsched.lab.play.stored import PLAYING_CODE
from mixedsched.lab.results import DATABASE_NAME, folder_of, owned
from mixedsched.lab.study.definition import Changes, Study, changes
from mixedsched.lab.study.places import chosen, open_places, planned, refuse_changed, sites_of
from mixedsched.lab.study.work import StudyObserver, UnobservedStudy, Work, carry_out_study
from mixedsched.world.store import BlockCounts, StoredPlace, StoredStudy, StudyStore

DEFINITION_NAME = "study.toml"

Say = Callable[[str], None]


@dataclass(frozen=True)
class StudyState:
    """A study as it is stored, finished or not."""

    definition: Study
    stored: StoredStudy
    places: Sequence[StoredPlace]
    counts: Mapping[int, BlockCounts]  # by id of the place

    @property
    def is_complete(self) -> bool:
        """Whether all blocks that are wanted have all their loads."""
        return not any(item.open or item.leased or item.failed for item in self.counts.values())


def default_folder(study: Study) -> Path:
    """In runs/, named after the study and the versions of our programs, as loads of several are not mixed."""
    return folder_of(study.name, study.name, own_versions(code_of(study)))


def code_of(study: Study) -> tuple[str, ...]:
    """The parts of our source on which its loads depend."""
    return PLAYING_CODE if study.is_simulated else LOAD_CODE


@contextmanager
def study_store(folder: Path | None, url: str | None) -> Iterator[StudyStore]:
    """The database of a folder, or the one at an address. Raises MixedschedError if it cannot be used."""
    with StudyStore(url if url is not None else f"sqlite:///{folder / DATABASE_NAME}") as store:  # type: ignore[operator]
        yield store


def run_study(
    study: Study,
    *,
    folder: Path,
    store_url: str | None = None,
    only: str | None = None,
    observer: StudyObserver | None = None,
    say: Say = lambda _: None,
    jobs: int | None = None,
    scheduler: str | None = None,
) -> StudyState:
    """Make the loads of a study that are not stored yet; returns what is known then.

    only: a glob over sites or "site@link", for these places alone. jobs: processes that simulate, by default one per processor.
    scheduler: of dask, whose machines do the work instead of this process; they share the database of store_url.
    Raises UsageError if what is stored is of another study or of other versions; StudyError, PageError, SiteError,
    ProfileError, MissingPartError.
    """
    sites = sites_of(study)
    wanted = chosen(sites, study, only)
    with owned(folder), study_store(folder, store_url) as store:
        before = _stored(store, study.name)
        if before is not None:
            _refuse_other(Study.from_dict(before.definition), study, say)
        opened = open_places(study, wanted, say)
        facts = _facts(study, before)
        if before is not None:
            refuse_changed(opened.values(), store.places(before.id))
            if set(study.arms) - set(before.definition["arms"]):  # first, as an interruption may follow
                store.continue_done(before.id)
        study_id = store.save_study(study.name, study.to_dict(), facts)
        store.add_places(study_id, planned(study, opened))
        ids = {(item.site, item.link): item.id for item in store.places(study_id)}
        places = {ids[place.site.name, place.link]: place for place in opened.values()}
        work = Work(store, study_id, study, places, only is None, folder, observer or UnobservedStudy(), jobs)
        if scheduler is None:
            carry_out_study(work, {"machine": machine_facts()}, say)
        else:
            from mixedsched.lab.study.cluster import carry_out_on_cluster  # here, because few have dask

            assert store_url is not None, "machines share a database"
            carry_out_on_cluster(work, store_url, scheduler, say)
        return read_state(store, study.name)


def read_state(store: StudyStore, name: str | None = None) -> StudyState:
    """A stored study. name: needed where there are several. Raises InputError if there is none."""
    studies = store.studies()
    found = [item for item in studies if name in (None, item.name)]
    if len(found) != 1:
        names = ", ".join(item.name for item in studies)
        raise InputError(
            f"there is no study '{name}'" if name else f"there are {len(found)} studies",
            why=f"stored are {names}" if names else "none was begun there",
        )
    counts = {item.place_id: item for item in store.counts(found[0].id)}
    return StudyState(Study.from_dict(found[0].definition), found[0], store.places(found[0].id), counts)


def _stored(store: StudyStore, name: str) -> StoredStudy | None:
    return next((item for item in store.studies() if item.name == name), None)


def _refuse_other(before: Study, study: Study, say: Say) -> None:
    """Raises UsageError unless nothing has changed but for what is added."""
    found: Changes = changes(before, study)
    if not found.only_add:
        raise UsageError(
            f"the study '{study.name}' has changed since it began",
            why="; ".join(found.words),
            fix="only sites, links, blocks and simulated arms can be added; start anew with another --out or name",
        )
    for word in found.words:
        say(f"added to the study: {word}")


def _facts(study: Study, before: StoredStudy | None) -> dict[str, Any]:
    """What all loads of the study share. Raises UsageError if earlier ones share something else."""
    facts: dict[str, Any] = {
        "versions": own_versions(code_of(study)),
        "tables": {arm.label: arm.table_digest for arm in study.read_arms() if arm.table_digest is not None},
    }
    if before is None:
        return facts
    then = before.facts
    for key, what in (("versions", "were made with other versions"), ("tables", "were made with other mapping tables")):
        changed = [
            f"{name} {then[key][name]} -> {now}" for name, now in facts[key].items() if then[key].get(name, now) != now
        ]
        if changed:
            raise UsageError(
                f"the stored loads {what}",
                why=", ".join(changed),
                fix="start anew with another --out, or bring back what was there",
            )
    return {**then, **facts}
