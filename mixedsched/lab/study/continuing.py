"""Goes on with a study from the loads of a file (format `mixedsched.loads/1`), which may have been made on another machine."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mixedsched.errors import UsageError
from mixedsched.lab.model import RunStatus
from mixedsched.lab.play.pool import Pool
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import Task
from mixedsched.lab.play.values import SimulatedValues
from mixedsched.lab.study._playing import schemes_of
from mixedsched.lab.study._work import LABORATORY, Work
from mixedsched.lab.study.definition import changes
from mixedsched.lab.study.gates import StudyQuestions
from mixedsched.lab.study.lean import EARLIER_VERSIONS, LeanStudy, read_lean
from mixedsched.lab.study.places import SimulatedPlace, planned, refuse_changed, seed_of
from mixedsched.lab.study.session import find_study
from mixedsched.units import counted
from mixedsched.world.store import AdoptedBlock, NewLoad

PROVED_BLOCKS = 6  # of as many places: what is simulated is the same to the last digit, or is found out soon
_ANEW = "start anew, without --from and with another --out"


def go_on_from(path: Path, work: Work, say: Callable[[str], None]) -> int:
    """Take the complete blocks of a file for blocks of the study that are planned and have no load; returns how many.

    Simulated loads may be of another version of the programs: a sample of the blocks is played again, and must be the same.
    Measured ones must be of the same browser, which is made sure of before the next load.

    Raises StudyError for a file that holds no loads of a study, UsageError for one of another study or with other loads,
    and MissingPartError without pyarrow.
    """
    lean = read_lean(path)
    _refuse_other(lean, work, path)
    made = {(load.place_id, load.block) for load in work.store.loads(work.study_id)}
    blocks = [block for block in _complete(lean, work) if (block.place_id, block.number) not in made]
    if not blocks:
        return 0
    _note_looks(lean, blocks, work, path)
    if work.study.is_simulated:
        _prove(blocks, work, path, say)
    elif lean.laboratory:
        work.store.pin(work.study_id, {LABORATORY: dict(lean.laboratory)})
    _adopt(blocks, work, path)
    _note_versions(lean, work)
    say(f"{counted(len(blocks), 'block')} {'is' if len(blocks) == 1 else 'are'} taken from {path}")
    return len(blocks)


def _refuse_other(lean: LeanStudy, work: Work, path: Path) -> None:
    found = changes(lean.result.study, work.study)
    if not found.only_add:
        raise UsageError(f"{path} belongs to another study", why="; ".join(found.words), fix=_ANEW)
    refuse_changed(work.places.values(), [place for place in lean.places if "site" in place.facts])


def _note_looks(lean: LeanStudy, blocks: Sequence[_CompleteBlock], work: Work, path: Path) -> None:
    """Blocks that were made until it was decided stay such, and those beyond the least number are planned here, too.

    Raises UsageError where the study was begun with other looks.
    """
    looks = lean.result.questions.looks
    if looks is None:
        return
    stored = find_study(work.store, work.study.name)
    is_begun = any(item.done for item in work.store.counts(work.study_id))
    if is_begun and StudyQuestions.from_dict(stored.facts).looks != looks:
        raise UsageError(f"{path} was made with other looks at its blocks than the study", fix=_ANEW)
    work.store.change_facts(work.study_id, lambda facts: {**facts, **StudyQuestions(looks).to_dict()})
    for id_, place in work.places.items():
        most = max((block.number for block in blocks if block.place_id == id_), default=0)
        work.store.add_places(work.study_id, planned(work.study.model_copy(update={"blocks": most}), {0: place}))


@dataclass(frozen=True, slots=True)
class _CompleteBlock:
    """A block that needs nothing more: its last attempt has every arm of the study."""

    place_id: int  # in the store
    number: int
    machine: str
    attempts: Mapping[int, Sequence[NewLoad]]

    @property
    def last(self) -> Sequence[NewLoad]:
        return self.attempts[max(self.attempts)]

    def adopted(self) -> AdoptedBlock:
        is_done = all(load.status == RunStatus.OK for load in self.last)
        return AdoptedBlock(self.place_id, self.number, "done" if is_done else "failed", self.attempts)


def _complete(lean: LeanStudy, work: Work) -> list[_CompleteBlock]:
    stored = {(item.site, item.link): item.id for item in work.store.places(work.study_id)}
    ids = {item.id: stored[item.site, item.link] for item in lean.places if (item.site, item.link) in stored}
    attempts: dict[tuple[int, int], dict[int, list[NewLoad]]] = {}
    machines: dict[tuple[int, int], str] = {}
    looks = lean.result.questions.looks
    last = work.study.blocks if looks is None else looks.last
    for load in lean.loads:
        if load.place_id in ids and load.block <= last:
            block = ids[load.place_id], load.block
            new = NewLoad(load.arm, load.position, load.seed, load.status, load.reason, load.values)
            attempts.setdefault(block, {}).setdefault(load.attempt, []).append(new)
            machines[block] = load.machine
    found = [_CompleteBlock(*block, machines[block], attempts[block]) for block in attempts]
    return [block for block in found if {load.arm for load in block.last} >= set(work.study.arms)]


def _prove(blocks: Sequence[_CompleteBlock], work: Work, path: Path, say: Callable[[str], None]) -> None:
    """Play a sample again. Raises UsageError for a load that is another one."""
    sample = _sample([block for block in blocks if block.place_id in work.places], work.study.seed)
    say(f"playing {counted(len(sample), 'block')} of {path} again, to see that nothing has changed")
    arms = {scheme.spec: scheme for scheme in schemes_of(work.study)}
    asked = [(block, load) for block in sample for load in block.last if load.arm in arms]
    with Pool(work.reader, work.jobs) as pool:
        tasks = (Task(_scenario(work, block), arms[load.arm], load.seed) for block, load in asked)
        for (block, load), played in zip(asked, pool.results(tasks), strict=True):
            difference = _difference(load, played) or (
                "" if load.seed == seed_of(work.study, block.number) else f"its seed is {load.seed}"
            )
            if difference:
                place = work.places[block.place_id]
                raise UsageError(
                    f"the loads of {path} are not those of this version",
                    why=f"{place.site.name} over {place.link}, block {block.number}, {load.arm}: {difference}",
                    fix=f"{_ANEW}, or restore the version that made them",
                )


def _sample(blocks: Sequence[_CompleteBlock], seed: int) -> list[_CompleteBlock]:
    """One block each of some places."""
    rng = random.Random(seed)
    by_place: dict[int, list[_CompleteBlock]] = {}
    for block in blocks:
        by_place.setdefault(block.place_id, []).append(block)
    places = rng.sample(sorted(by_place), min(PROVED_BLOCKS, len(by_place)))
    return [rng.choice(by_place[place]) for place in places]


def _scenario(work: Work, block: _CompleteBlock) -> Scenario:
    place = work.places[block.place_id]
    assert isinstance(place, SimulatedPlace), "a study is of one rung"
    return place.scenario


def _difference(load: NewLoad, played: SimulatedValues) -> str:
    """Between a stored load, whose values are 32-bit floats, and the same one played now; "" if there is none."""
    if (load.status == RunStatus.OK) == bool(played.error):
        return f"it was {load.status}, and now {played.error or 'is ok'}"
    for key, value in load.values.items():
        now = played.values.get(key)
        if value is not None and (now is None or np.float32(value) != np.float32(now)):
            return f"{key} was {value:.6g}, now {'there is none' if now is None else format(now, '.6g')}"
    return ""


def _adopt(blocks: Sequence[_CompleteBlock], work: Work, path: Path) -> None:
    for machine in dict.fromkeys(block.machine for block in blocks):
        worker = work.store.join(f"{path.name} {machine}", machine, {})
        work.store.adopt(worker, [block.adopted() for block in blocks if block.machine == machine])
        work.store.leave(worker)


def _note_versions(lean: LeanStudy, work: Work) -> None:
    """The versions that have played loads, beside the one at work."""

    def with_earlier(facts: Mapping[str, Any]) -> dict[str, Any]:
        known: list[Any] = [facts["versions"], *facts.get(EARLIER_VERSIONS, [])]
        new = [dict(version) for version in (lean.versions, *lean.earlier_versions) if dict(version) not in known]
        return {**facts, **({EARLIER_VERSIONS: [*known[1:], *new]} if new else {})}

    work.store.change_facts(work.study_id, with_earlier)
