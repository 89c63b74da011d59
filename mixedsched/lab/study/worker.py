"""A worker: works on whatever studies a database holds. As a program of its own it is what a cluster starts on a machine."""

import os
import platform
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mixedsched.errors import ExitCode, MissingPartError, MixedschedError, UsageError
from mixedsched.lab.machine import machine_facts, own_versions
from mixedsched.lab.study._keeper import LEASE_S
from mixedsched.lab.study.definition import Study
from mixedsched.lab.study.places import OPENED_AS, Place, StudySite, open_places, refuse_changed
from mixedsched.lab.study.session import STUDY_FOLDER, code_of
from mixedsched.lab.study.work import StudyObserver, UnobservedStudy, Work, carry_out_study
from mixedsched.world.store import QuarantinedError, StoredPlace, StoredStudy, StudyStore, UnreachableDatabaseError

LOOK_EVERY_S = 2.0  # for new work
_STDIN = 0

Say = Callable[[str], None]


@dataclass(frozen=True)
class WorkerOptions:
    """What a worker works on, and as what."""

    store_url: str
    study: str | None = None  # its name; None for all of the database
    machine: str = field(default_factory=platform.node)  # what results call it
    jobs: int | None = None  # processes that simulate; None for one per processor
    waits: bool = True  # for more work when there is none; else it ends
    readmit: bool = False  # works although this machine was quarantined before
    lease_s: float = LEASE_S  # so long after its last sign of life its blocks go to others
    observer: StudyObserver = field(default_factory=UnobservedStudy)


def run_worker(options: WorkerOptions, say: Say) -> None:
    """Work until there is nothing left, or for ever. Ends by KeyboardInterrupt with all blocks given back.

    Raises MixedschedError for a database that cannot be used, and for a study named in the options that cannot be worked on
    here: made by other versions (UsageError), or of sites that this machine does not have.
    """
    memory = _Memory()
    with StudyStore(options.store_url) as store, tempfile.TemporaryDirectory(prefix="mixedsched-") as scratch:
        while True:
            try:
                found = _work_once(store, Path(scratch), options, say, memory)
            except UnreachableDatabaseError as error:
                if not options.waits:
                    raise
                say(f"warning: {error}; trying again")
                found = False
            if not found and not options.waits:
                return
            if not found:
                time.sleep(LOOK_EVERY_S)


@dataclass(frozen=True)
class _Memory:
    """What a worker remembers from one look at the database to the next."""

    told: set[str] = field(default_factory=set)
    left: set[int] = field(default_factory=set)  # ids of places that others may work on, as they have failed here


def _work_once(store: StudyStore, folder: Path, options: WorkerOptions, say: Say, memory: _Memory) -> bool:
    """Work on each study that has work; whether there was any."""
    studies = [item for item in store.studies() if options.study in (None, item.name)]
    if options.study is not None and not studies and not options.waits:
        raise UsageError(
            f"the database contains no study '{options.study}'", fix="begin it with `mixedsched study run`"
        )
    found = False
    for stored in studies:
        with_work = {item.place_id for item in store.counts(stored.id) if item.open or item.leased}
        if not with_work - memory.left:
            continue
        try:
            _work_on(store, stored, folder, options, say, memory)
        except (UnreachableDatabaseError, QuarantinedError):
            raise
        except MixedschedError as error:
            if options.study is not None:
                raise
            if str(error) not in memory.told:
                say(f"the study '{stored.name}' is left to others: {error}")
            memory.told.add(str(error))
        else:
            found = True
    return found


def _work_on(
    store: StudyStore, stored: StoredStudy, folder: Path, options: WorkerOptions, say: Say, memory: _Memory
) -> None:
    work = _opened(store, stored, folder, options, say, memory)
    say(f"working on {stored.name} as {options.machine}")
    try:
        memory.left.update(carry_out_study(work, {"machine": machine_facts()}, say, options.machine))
    except (UsageError, MissingPartError):  # another browser than the study's, or none
        memory.left.update(work.places)
        raise


def _opened(
    store: StudyStore, stored: StoredStudy, folder: Path, options: WorkerOptions, say: Say, memory: _Memory
) -> Work:
    """The study with those of its places that this machine can open; the others are left to others from now on.

    Raises MixedschedError where it can open none.
    """
    study = Study.from_dict(stored.definition, Path(stored.facts.get(STUDY_FOLDER, "")), f"the study '{stored.name}'")
    _refuse_other_versions(stored, study)
    places: dict[int, Place] = {}
    refused: dict[int, MixedschedError] = {}
    planned = [item for item in store.places(stored.id) if item.id not in memory.left]
    for item in planned:
        try:
            places[item.id] = _place(study, item, say)
        except MixedschedError as error:
            refused[item.id] = error
    if not places:
        raise next(iter(refused.values()))
    if refused:
        one = next(iter(refused.values()))
        say(f"{len(refused)} of {len(planned)} places are left to others, one of them because {one}")
        memory.left.update(refused)
    return Work(
        store,
        stored.id,
        study,
        places,
        folder,
        observer=options.observer,
        jobs=options.jobs,
        lease_s=options.lease_s,
        readmit=options.readmit,
    )


def _place(study: Study, stored: StoredPlace, say: Say) -> Place:
    """Raises MixedschedError if it is not here, or is not what it was when the study began."""
    site = StudySite(stored.site, stored.facts[OPENED_AS])
    place = open_places(study, [(stored.number, site, stored.link)], say)[stored.number]
    refuse_changed([place], [stored])
    return place


def _refuse_other_versions(stored: StoredStudy, study: Study) -> None:
    """Raises UsageError with both versions."""
    ours, theirs = own_versions(code_of(study)), stored.facts.get("versions", {})
    other = [f"{name} {theirs[name]} there, {ours.get(name)} here" for name in theirs if ours.get(name) != theirs[name]]
    if other:
        raise UsageError(
            f"this worker cannot take part in '{stored.name}'",
            why="its loads are made with other versions: " + ", ".join(other),
            fix="install the same version of everything on all machines",
        )


def words_of_machine(options: WorkerOptions) -> list[str]:
    """What `main` is told of the machine on which it runs."""
    jobs = "" if options.jobs is None else str(options.jobs)
    return [options.machine, str(options.lease_s), jobs, "readmit" if options.readmit else ""]


def main() -> int:
    """Work on a study to its end, or until standard input ends: the arguments are database, study and `words_of_machine`."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    signal.signal(signal.SIGTERM, _interrupt)
    store_url, study, machine, lease_s, jobs, readmit = sys.argv[1:]
    options = WorkerOptions(
        store_url,
        study,
        machine,
        jobs=int(jobs) if jobs else None,
        waits=False,
        readmit=bool(readmit),
        lease_s=float(lease_s),
    )
    try:
        run_worker(options, lambda _: None)
    except MixedschedError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return ExitCode.DONE


def _end_with_input() -> None:
    # Not by sys.stdin: where this thread waits in it, the end of the program would be a crash.
    while os.read(_STDIN, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
