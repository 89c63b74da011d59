"""Gates of a study: what it is to decide at every place, and how many blocks a place gets until that is decided."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from mixedsched.core.stats import Looks
from mixedsched.errors import ExitCode, UsageError
from mixedsched.lab.comparison import Effect, MetricFamily, Verdict
from mixedsched.lab.gates import Gate, GateResult, GateVerdict, judge, looks_of
from mixedsched.lab.study._studied_place import StudiedPlace
from mixedsched.lab.study.definition import Study

_STEPS = 4  # a round adds the least number of blocks divided by this


@dataclass(frozen=True, slots=True)
class StudyQuestions:
    """What a start of a study is to decide; stored with it."""

    looks: Looks | None = None  # of each place; None to make all blocks first
    gates: tuple[Gate, ...] = ()

    @classmethod
    def of(
        cls, study: Study, until: str | None, max_blocks: int | None, fail_if: Sequence[str], random_places: int
    ) -> Self:
        """random_places: places at which something is random; where nothing is, a block decides.

        Raises UsageError for what makes no sense, and for gates of metrics that the study does not declare as primary.
        """
        gates = tuple(Gate.parse(condition) for condition in fail_if)
        for gate in gates:
            if gate.metric.key not in study.primary:
                raise UsageError(
                    f"the gate '{gate.condition}' asks for what the study does not decide",
                    why=f"its primary metrics are {', '.join(study.primary)}",
                    fix=f"name {gate.metric.key} among the primary ones in the study file",
                )
        questions = len(study.primary) * (len(study.arms) - 1) * random_places
        looks = looks_of(until, study.blocks, max_blocks, questions)
        return cls(looks if random_places else None, gates)

    def to_dict(self) -> dict[str, Any]:
        looks = None if self.looks is None else {"first": self.looks.first, "last": self.looks.last}
        return {"looks": looks, "gates": [gate.condition for gate in self.gates]}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Of a study's facts; earlier versions have stored none."""
        looks = facts.get("looks")
        gates = tuple(Gate.parse(condition) for condition in facts.get("gates", ()))
        return cls(None if looks is None else Looks(**looks), gates)

    def rounds(self, blocks: int) -> Iterator[int]:
        """Numbers of blocks after which to see which places are decided. blocks: of the study, where there are no looks."""
        if self.looks is None:
            yield blocks
            return
        step = max(1, self.looks.first // _STEPS)
        yield from range(self.looks.first, self.looks.last, step)
        yield self.looks.last

    def answers(self, places: Sequence[StudiedPlace], arms: Sequence[str]) -> tuple[GateResult, ...]:
        """By place, then gate and arm. The error rate is shared by all places. arms: labels, as in the places' values."""
        if not self.gates:
            return ()
        keys = {gate.metric.key for gate in self.gates}
        asked = {
            place.id: [_with_blocks(effect, place, arms) for effect in place.effects if effect.metric.key in keys]
            for place in places
        }
        questions = sum(len(effects) for effects in asked.values())
        return tuple(
            replace(result, place=(place.site, place.link))
            for place in places
            for result in judge(self.gates, asked[place.id], self.looks, questions)
        )

    def is_decided(self, place: StudiedPlace, answers: Sequence[GateResult]) -> bool:
        """Whether all gates are at this place; without any, whether each primary effect is better, worse or equivalent."""
        if not place.effects:
            return False
        if self.gates:
            here = [item for item in answers if item.place == (place.site, place.link)]
            return all(item.verdict is not GateVerdict.UNDECIDED for item in here)
        primary = [effect for effect in place.effects if effect.family is MetricFamily.PRIMARY]
        return all(effect.verdict is not Verdict.UNDECIDED for effect in primary)


NO_QUESTIONS = StudyQuestions()


def _with_blocks(effect: Effect, place: StudiedPlace, arms: Sequence[str]) -> Effect:
    """With the changes of single blocks, which a study's effects leave out."""
    before, after = (place.row(arms.index(label), effect.metric.key) for label in (effect.baseline, effect.arm))
    pairs = list(zip(place.blocks, before.tolist(), after.tolist(), strict=True))
    if effect.metric.scale == "ratio":
        changes = [(block, (late / early - 1) * 100) for block, early, late in pairs if early > 0 and late > 0]
    else:
        changes = [(block, late - early) for block, early, late in pairs if not math.isnan(late - early)]
    return replace(effect, differences=tuple(changes))


def exit_code(questions: StudyQuestions, answers: Sequence[GateResult], places: Sequence[StudiedPlace]) -> ExitCode:
    """GATE where one has failed, else INVALID_RUNS where something is undecided or missing that was asked for."""
    if any(item.verdict is GateVerdict.FAILED for item in answers):
        return ExitCode.GATE
    is_asked = bool(questions.gates) or questions.looks is not None
    if is_asked and not all(questions.is_decided(place, answers) for place in places):
        return ExitCode.INVALID_RUNS
    lacks_blocks = questions.looks is None and any(place.missing for place in places)
    return ExitCode.INVALID_RUNS if lacks_blocks else ExitCode.DONE
