"""Begins or continues a study: checks that the stored loads belong to it, plans the new ones, and has them made."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mixedsched.errors import InputError, StudyError, UsageError
from mixedsched.lab.gates import note_on_gates
from mixedsched.lab.machine import LOAD_CODE, machine_facts, own_versions
from mixedsched.lab.plan import refuse_missing_servers
from mixedsched.lab.play.stored import PLAYING_CODE
from mixedsched.lab.results import DATABASE_NAME, folder_of, owned, writing_to
from mixedsched.lab.study._work import LABORATORY
from mixedsched.lab.study.definition import Study, changes, dump_study, read_study
from mixedsched.lab.study.gates import StudyQuestions
from mixedsched.lab.study.places import Place, chosen, open_places, planned, refuse_changed, sites_of
from mixedsched.lab.study.results import StudyResult, study_results
from mixedsched.lab.study.work import StudyObserver, UnobservedStudy, Work, carry_out_study
from mixedsched.world.store import StoredStudy, StoredWorker, StudyStore, file_address, shown_address
from mixedsched.world.system.files import write_whole

DEFINITION_NAME = "study.toml"
STUDY_FILE = (
    "file"  # a fact: the study file that was run last, if there was one, with names of files as seen from there
)
STUDY_FOLDER = "folder"  # a fact: where names of files are seen from, for workers on the same machine

Say = Callable[[str], None]


def run_study(
    study: Study | Path | str,
    *,
    folder: Path | str | None = None,
    store: str | None = None,
    only: str | None = None,
    blocks: int | None = None,
    until: str | None = None,
    max_blocks: int | None = None,
    fail_if: Sequence[str] = (),
    start_from: Path | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    observer: StudyObserver | None = None,
    say: Say = lambda _: None,
) -> StudyResult:
    """Make the loads of a study that are not stored yet, and return the results of all.

    Every load is stored at once: after an interruption the same call continues where it stopped, and with more blocks,
    sites, links or simulated arms it adds to the stored ones.

    Args:
        study: A study, or its file.
        folder: For the results; by default one in runs/ that is named after the study.
        store: Address of a database that several machines share: "postgresql://USER@HOST/NAME"; by default one in the folder.
        only: A glob over sites or "site@link", to make the loads of these places alone.
        blocks: Their number, instead of the study's.
        until: "decided" to make more blocks at each place until its primary effects, or its gates, are decided.
        max_blocks: With `until`: the maximum at a place; three times the blocks of the study by default.
        fail_if: Gates, such as "lcp > +2%", for each place; StudyResult.gates has their outcome.
        start_from: Loads of the same study, format `mixedsched.loads/1`, whose complete blocks are taken first.
        jobs: Processes that simulate; by default one per processor.
        scheduler: Address of a dask scheduler, whose machines do the work instead of this process; they share `store`.
        observer: Follows the progress.
        say: Receives remarks, a line each.

    Raises:
        MixedschedError: StudyError for errors in the study; UsageError if stored loads are of another study or version;
            MissingPartError without Node or Chromium; others if results cannot be stored.
    """
    definition = with_blocks(read_study(study) if isinstance(study, Path | str) else study, blocks)
    StudyQuestions.of(definition, until, max_blocks, fail_if, 0)
    _refuse_at_once(definition, store, start_from, scheduler)
    wanted = chosen(sites_of(definition), definition, only)
    place = default_folder(definition) if folder is None else Path(folder)
    with owned(place), study_store(place, store) as opened:
        try:
            work = planned_work(definition, lambda: open_places(definition, wanted, say), opened, place, say)
            work = replace(work, observer=observer or UnobservedStudy(), jobs=jobs)
            _take_loads(start_from, work, say)
            questions = _asked(work, until, max_blocks, fail_if, say)
            for count in questions.rounds(definition.blocks):
                if questions.looks is not None and not _add_blocks(work, count):
                    break
                _carry_out(work, store, scheduler, say)
        except KeyboardInterrupt:
            where = shown_address(store or "") or place
            say(f"stopped; all finished loads are stored in {where}, the same command continues")
            raise
        return stored_results(opened, definition.name)


def with_blocks(study: Study, blocks: int | None) -> Study:
    """The study with another number of blocks, if one is given. Raises StudyError for one that it cannot have."""
    if blocks is None:
        return study
    changed = Study.from_dict({**study.to_dict(), "blocks": blocks}, study.folder)
    return changed.model_copy(update={"file": study.file})


def _refuse_at_once(study: Study, store: str | None, start_from: Path | None, scheduler: str | None) -> None:
    """What is not there, before any site is opened, or even recorded: to begin from, to work with."""
    if start_from is not None and not start_from.is_file():
        raise StudyError(
            f"{start_from} contains no loads of a study",
            why="there is no such file",
            fix="export it from the study again",
        )
    if scheduler is None:
        refuse_missing_servers(study.read_arms())
    elif store is None:
        raise UsageError("the machines of a scheduler share a database", fix="name one with --store")


def _take_loads(path: Path | None, work: Work, say: Say) -> None:
    if path is not None:
        from mixedsched.lab.study.continuing import go_on_from  # here, because it takes pyarrow

        go_on_from(path, work, say)


def _carry_out(work: Work, store: str | None, scheduler: str | None, say: Say) -> None:
    if scheduler is None:
        carry_out_study(work, {"machine": machine_facts()}, say)
        return
    from mixedsched.lab.study.cluster import carry_out_on_cluster  # here, because few have dask

    assert store is not None, "it was refused"
    carry_out_on_cluster(work, store, scheduler, say)


def _asked(work: Work, until: str | None, max_blocks: int | None, fail_if: Sequence[str], say: Say) -> StudyQuestions:
    """What is to be decided, stored with the study. Raises UsageError, also where blocks were looked at otherwise before."""
    stored = find_study(work.store, work.study.name)
    places = work.store.places(work.study_id)
    random_places = sum(not place.facts.get("exact") for place in places)
    asked = StudyQuestions.of(work.study, until, max_blocks, fail_if, random_places)
    note = note_on_gates(asked.gates, work.study.blocks, len(work.study.arms), len(places))
    if note and asked.looks is None and random_places:
        say(f"warning: {note}")
    was_begun = any(item.done for item in work.store.counts(work.study_id))
    if was_begun and StudyQuestions.from_dict(stored.facts).looks != asked.looks:
        raise UsageError(
            "the study was begun with another --until, --max-blocks or number of blocks",
            why="its error rate is valid only for the planned looks",
            fix="give the same, or start anew with another --out or name",
        )
    work.store.change_facts(work.study_id, lambda facts: {**facts, **asked.to_dict()})
    return asked


def _add_blocks(work: Work, count: int) -> bool:
    """Have so many blocks at each place that is undecided; whether there is one."""
    undecided = {place.id for place in stored_results(work.store, work.study.name).undecided()}
    # Not by their stored numbers: of a site that was added before others, they are those of another place, too.
    ids = [item.id for item in work.store.places(work.study_id) if item.id in undecided and item.id in work.places]
    places = {number: work.places[place] for number, place in enumerate(ids)}
    work.store.add_places(work.study_id, planned(work.study.model_copy(update={"blocks": count}), places))
    return bool(places)


def default_folder(study: Study) -> Path:
    """In runs/, named after the study and the versions of our programs, as loads of several are not mixed."""
    return folder_of(study.name, study.name, own_versions(code_of(study)))


def code_of(study: Study) -> tuple[str, ...]:
    """The parts of our source on which its loads depend."""
    return PLAYING_CODE if study.is_simulated else LOAD_CODE


def study_store(folder: Path, address: str | None) -> StudyStore:
    """The database at an address, by default that of a folder. Raises MixedschedError if it cannot be used."""
    return StudyStore(address or file_address(folder / DATABASE_NAME))


def stored_results(store: StudyStore, name: str | None = None) -> StudyResult:
    """What the loads of a stored study show so far. Raises as `find_study`."""
    study = find_study(store, name)
    found = study_results(
        Study.from_dict(study.definition, Path(study.facts.get(STUDY_FOLDER, ""))),
        store.places(study.id),
        store.counts(study.id),
        store.loads(study.id),
        StudyQuestions.from_dict(study.facts),
    )
    return replace(found, facts=_circumstances(store, study, found.machines))


def _circumstances(store: StudyStore, study: StoredStudy, machines: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """For reports: versions of programs, and of the machines that took part what bears on results."""
    workers = [worker for worker in store.workers() if "machine" in worker.facts]
    known = {worker.machine: {**worker.facts["machine"], **_judgement(worker)} for worker in workers}
    shared = {key: study.facts[key] for key in ("versions", LABORATORY) if study.facts.get(key)}
    return shared | {f"machine {name}": known[name] for name in machines if name in known}


def _judgement(worker: StoredWorker) -> dict[str, str]:
    return {"quarantined": worker.reason} if worker.state == "quarantined" else {}


def find_study(store: StudyStore, name: str | None = None) -> StoredStudy:
    """A stored study. name: needed where there are several. Raises InputError if there is none."""
    studies = store.studies()
    found = [item for item in studies if name in (None, item.name)]
    if len(found) != 1:
        names = ", ".join(item.name for item in studies)
        raise InputError(
            f"there is no study '{name}'" if name else f"there are {len(found)} studies",
            why=f"stored are {names}" if names else "none was begun there",
            fix="name one of them with --study" if names else "begin one with `mixedsched study run`",
        )
    return found[0]


def planned_work(
    study: Study, open_all: Callable[[], Mapping[int, Place]], store: StudyStore, folder: Path, say: Say
) -> Work:
    """The study as it is stored now, with what is new in it.

    open_all: gives its places by number, once it is clear that they are wanted. Raises UsageError if the study does not belong
    to what was stored.
    """
    before = _stored(store, study.name)
    if before is not None:
        _refuse_other(Study.from_dict(before.definition), study, say)
    opened = open_all()
    facts = _facts(study, before)
    if before is not None:
        refuse_changed(opened.values(), store.places(before.id))
    with writing_to(folder):
        write_whole(folder / DEFINITION_NAME, dump_study(study))
    study_id = store.save_study(study.name, study.to_dict(), facts)
    store.add_places(study_id, planned(study, opened))
    if study.is_simulated:  # arms may have been added, also while a worker went on that knew nothing of them
        store.continue_done(study_id, study.arms)
    else:
        # By looks, blocks count in their order: one that comes late would change what earlier looks have seen.
        store.reopen(study_id, in_order=before is not None and bool(before.facts.get("looks")))
    ids = {(item.site, item.link): item.id for item in store.places(study_id)}
    places = {ids[place.site.name, place.link]: place for place in opened.values()}
    return Work(store, study_id, study, places, folder)


def _stored(store: StudyStore, name: str) -> StoredStudy | None:
    return next((item for item in store.studies() if item.name == name), None)


def _refuse_other(before: Study, study: Study, say: Say) -> None:
    """Raises UsageError unless nothing has changed but for what is added."""
    found = changes(before, study)
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
        STUDY_FOLDER: str(study.folder.absolute()),
        "versions": own_versions(code_of(study)),
        "tables": {arm.label: arm.table_digest for arm in study.read_arms() if arm.table_digest is not None},
    }
    facts |= {} if study.file is None else {STUDY_FILE: str(study.file.absolute())}
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
                fix="start again with another --out, or restore what was there",
            )
    return facts
