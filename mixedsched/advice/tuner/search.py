"""The search from its first candidate to a diverse handful: rung pipe screens, rung stack refines, new seeds re-rank.

Every batch of rung stack is stored, so that the same search goes on where it was interrupted, and comes to the same end. Time
is only what the given clock says; without limits of time, results depend on the arguments alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.memory import Memory
from mixedsched.advice.tuner.objective import Objective
from mixedsched.advice.tuner.options import Limit, Options, Progress, Watch
from mixedsched.advice.tuner.pipe_rung import PIPE, recall_part, run_pipe
from mixedsched.advice.tuner.pipe_search import distinct
from mixedsched.advice.tuner.result import Estimates, RungResult, Scored
from mixedsched.advice.tuner.scoring import BASELINES
from mixedsched.advice.tuner.space import Space
from mixedsched.advice.tuner.stack_rung import STACK, StackRung, has_room, run_held_out
from mixedsched.advice.tuner.trials import Findings, Trials
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import PaintReader, Player, Simulator, Task

HANDFUL = 5

__all__ = ["BASELINES", "Limit", "Options", "Progress", "SearchResult", "Watch", "best_so_far", "run_search"]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """rungs: as far as they went. best: a handful, best first, no two of which come to the same paints; may hold what is also
    a baseline. baselines: by label, those whose loads end, scored like the best. best_baseline: label of the first of them."""

    rungs: tuple[RungResult, ...]
    best: tuple[Scored, ...]
    baselines: Mapping[str, Scored]
    best_baseline: str

    @property
    def tried(self) -> int:
        """Candidates; the rungs after the first try the best of those before, and others."""
        return max((item.tried for item in self.rungs), default=0)

    @property
    def tried_on_stack(self) -> int:
        return next((item.tried for item in self.rungs if item.rung == STACK), 0)

    @property
    def all_tried(self) -> int:
        """How many candidates there are, if all that differ were tried; else 0."""
        return next((item.tried for item in self.rungs if item.is_whole), 0)


def run_search(
    space: Space,
    scenes: Sequence[Scenario],
    objective: Objective,
    workers: Simulator[Estimates | None],
    options: Options,
    *,
    clock_s: Callable[[], float],
    watch: Watch = lambda _: None,
    baselines: Mapping[str, Candidate] = BASELINES,
    bounds: Mapping[str, Estimates] = MappingProxyType({}),
) -> SearchResult:
    """Search, or go on with a search that is stored. With no trials for rung stack it ends with rung pipe.

    bounds: the earliest paints on rung stack, by scene; where they are known, it ends as soon as nothing better can follow,
    without any rung if the best baseline is as good as that already. Whatever interrupts it, finished batches are stored
    before. Raises MixedschedError if on some network no load comes to an end, or the database cannot be used.
    """
    trials = Trials(space, tuple(scenes), objective, workers, options, clock_s, watch, baselines, bounds)
    memory, findings = Memory(options.storage, trials.name), Findings()
    _search(trials, memory, findings)
    result = _result(findings)
    assert result is not None, "a baseline ended, or there was an error"
    return result


def best_so_far(
    space: Space,
    scenes: Sequence[Scenario],
    objective: Objective,
    options: Options,
    *,
    baselines: Mapping[str, Candidate] = BASELINES,
) -> SearchResult | None:
    """What is stored of a search, without going on with it; None if that is nothing yet."""
    nobody, no_time = _StoredOnly(), lambda: 0.0
    trials = Trials(space, tuple(scenes), objective, nobody, options, no_time, lambda _: None, baselines)
    memory, findings = Memory(options.storage, trials.name), Findings()
    try:
        if memory.note(PIPE) is None:
            recall_part(trials, memory, findings)
        else:
            _search(trials, memory, findings)
    except _NothingStored:
        pass
    return _result(findings)


def _search(trials: Trials, memory: Memory, findings: Findings) -> None:
    if trials.bounds and not has_room(trials, memory, findings):
        return
    starts = run_pipe(trials, memory, findings)
    if not trials.options.stack.trials:
        return
    stack = StackRung(trials, memory, findings, starts)
    try:
        stack.run()
    finally:
        stack.conclude()
    run_held_out(trials, memory, findings, stack.finalists)


def _result(findings: Findings) -> SearchResult | None:
    if not findings.baselines:
        return None
    best = tuple(item for _, item in distinct(findings.ranking, HANDFUL))
    first = min(findings.baselines.items(), key=lambda pair: pair[1].value)[0]
    return SearchResult(tuple(findings.rungs), best, MappingProxyType(dict(findings.baselines)), first)


class _NothingStored(Exception):  # noqa: N818 - an end, no error
    pass


class _StoredOnly:
    """Plays what takes milliseconds, and knows nothing of rung stack but what is stored."""

    def __init__(self) -> None:
        self._player = Player(PaintReader)

    def play(self, tasks: Sequence[Task]) -> list[Estimates | None]:
        if any(task.scenario.rung == "stack" for task in tasks):
            raise _NothingStored
        return [self._player.play(task) for task in tasks]
