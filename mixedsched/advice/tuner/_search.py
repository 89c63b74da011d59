"""The search from its first candidate to a diverse handful: rung pipe screens, rung stack refines, new seeds re-rank.

Every batch of rung stack is stored, so that the same search continues where it was interrupted, and ends with the same result.
Without limits of time, results depend on the arguments alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from mixedsched.advice.tuner._pipe import PIPE, recall_part, run_pipe
from mixedsched.advice.tuner._scoring import BASELINES
from mixedsched.advice.tuner._stack import STACK, StackRung, has_room, run_held_out
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.objective import Objective
from mixedsched.advice.tuner.result import RungResult, Scored
from mixedsched.advice.tuner.space import Space
from mixedsched.advice.tuner.trials import Options, Trials, Watch, distinct
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import PaintReader, Player, Simulator, Task

HANDFUL = 5


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search, as far as it went."""

    rungs: tuple[RungResult, ...]
    best: tuple[Scored, ...]  # a handful, best first, no two with the same paints; may hold what is also a baseline
    baselines: Mapping[str, Scored]  # by label, those whose loads end, scored like the best
    best_baseline: str  # label of the first of them

    @property
    def tried(self) -> int:
        """Candidates; the rungs after the first try the best of those before, and others."""
        return max((item.tried for item in self.rungs), default=0)

    @property
    def tried_on_stack(self) -> int:
        return next((item.tried for item in self.rungs if item.rung == STACK), 0)

    @property
    def all_tried(self) -> int:
        """How many different candidates there are, if all of them were tried; else 0."""
        return next((item.tried for item in self.rungs if item.is_whole), 0)


def run_search(
    space: Space,
    scenes: Sequence[Scenario],
    objective: Objective,
    simulator: Simulator[PaintEstimate | None],
    options: Options,
    *,
    clock_s: Callable[[], float],
    watch: Watch = lambda _: None,
    baselines: Mapping[str, Candidate] = BASELINES,
    bounds: Mapping[str, PaintEstimate] = MappingProxyType({}),
) -> SearchResult:
    """Search, or continue a search that is stored. With no trials for rung stack it ends with rung pipe.

    bounds: the earliest paints on rung stack, by scene; where they are known, it ends as soon as nothing better can follow,
    without any rung if the best baseline is as good as that already. Whatever interrupts it, finished batches are stored
    before. Raises MixedschedError if on some network no load ends, or the database cannot be used.
    """
    trials = Trials(space, tuple(scenes), objective, simulator, options, clock_s, watch, baselines, bounds)
    _search(trials)
    result = _result(trials)
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
    """The stored part of a search, without continuing it; None if nothing is stored yet."""
    trials = Trials(space, tuple(scenes), objective, _StoredOnly(), options, lambda: 0.0, lambda _: None, baselines)
    try:
        if trials.memory.note(PIPE) is None:
            recall_part(trials)
        else:
            _search(trials)
    except _NothingStored:
        pass
    return _result(trials)


def _search(trials: Trials) -> None:
    if trials.bounds and not has_room(trials):
        return
    starts = run_pipe(trials)
    if not trials.options.stack.trials:
        return
    stack = StackRung(trials, starts)
    try:
        stack.run()
    finally:
        stack.conclude()
    run_held_out(trials, stack.finalists)


def _result(trials: Trials) -> SearchResult | None:
    baselines = trials.scored_baselines
    if not baselines:
        return None
    best = tuple(item for _, item in distinct(trials.ranking, HANDFUL))
    first = min(baselines, key=lambda label: baselines[label].value)
    return SearchResult(tuple(trials.rungs), best, MappingProxyType(dict(baselines)), first)


class _NothingStored(Exception):  # noqa: N818 - an end, not an error
    pass


class _StoredOnly:
    """Plays what takes milliseconds; of rung stack there is only what is stored."""

    def __init__(self) -> None:
        self._player = Player(PaintReader)

    def play(self, tasks: Sequence[Task]) -> list[PaintEstimate | None]:
        if any(task.scenario.rung == "stack" for task in tasks):
            raise _NothingStored
        return [self._player.play(task) for task in tasks]
