"""The questions that were put to an experiment or a study, and the words of their answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from mixedsched.lab.comparison import Effect, MetricFamily, Verdict
from mixedsched.lab.gates import GateResult, GateVerdict
from mixedsched.report._words import change_text
from mixedsched.units import counted

_OF_GATES = {GateVerdict.MET: "met", GateVerdict.FAILED: "FAILED", GateVerdict.UNDECIDED: "undecided"}
_OUTCOMES = {Verdict.WORSE: GateVerdict.FAILED, Verdict.UNDECIDED: GateVerdict.UNDECIDED}


@dataclass(frozen=True, slots=True)
class Question:
    """A gate with its answer; or a primary effect, which fails where the arm is worse."""

    name: str  # "lcp > +2%", or "LCP"
    subject: str  # "mixed against sequential", with the place if there are several
    answer: str  # the change and its interval
    verdict: str
    outcome: GateVerdict
    blocks: int


@dataclass(frozen=True, slots=True)
class CheckedQuestions:
    """All that was asked: gates where there are any, else primary effects."""

    title: str
    questions: tuple[Question, ...]
    stopping: str  # how it was decided when to stop
    report: str  # path of the HTML report
    cost_s: float  # of all loads

    @classmethod
    def of(
        cls,
        title: str,
        gates: Sequence[GateResult],
        effects: Sequence[tuple[str, Effect]],
        *,
        stopping: str = "",
        report: str,
        cost_s: float = 0.0,
    ) -> "CheckedQuestions":
        """effects: with their places, "" where there is one only."""
        asked = [_of_gate(item) for item in gates] or [
            _of_effect(place, effect) for place, effect in effects if effect.family is MetricFamily.PRIMARY
        ]
        return cls(title, tuple(asked), stopping, report, cost_s)


def _of_gate(result: GateResult) -> Question:
    place = "" if result.place is None else " over ".join(result.place)
    return Question(
        name=result.gate.condition,
        subject=_subject(place, result.effect),
        answer=interval_of(result),
        verdict=_OF_GATES[result.verdict],
        outcome=result.verdict,
        blocks=result.effect.blocks,
    )


def _of_effect(place: str, effect: Effect) -> Question:
    return Question(
        name=effect.metric.short,
        subject=_subject(place, effect),
        answer=change_text(effect),
        verdict=effect.verdict.value,
        outcome=_OUTCOMES.get(effect.verdict, GateVerdict.MET),
        blocks=effect.blocks,
    )


def _subject(place: str, effect: Effect) -> str:
    return f"{place + ': ' if place else ''}{effect.arm} against {effect.baseline}"


def interval_of(result: GateResult) -> str:
    """For example "−12.3 % (−16.4 % to −8.1 %)"."""
    change, metric = result.effect.change, result.gate.metric
    if change is None:
        return "no paired value"
    return f"{metric.format_change(change)} ({metric.format_range(result.low, result.high) or 'no interval yet'})"


def gate_text(result: GateResult) -> str:
    """One line: the verdict, the gate, and what it is about."""
    asked = _of_gate(result)
    return f"gate {asked.verdict}: {asked.name}; {asked.subject}: {asked.answer}, {counted(asked.blocks, 'block')}"
