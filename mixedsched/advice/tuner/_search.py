"""The search from its first candidate to a diverse handful: rung pipe screens, rung stack refines, new seeds re-rank.

Every batch of rung stack is stored, so that the same search continues where it was interrupted, and ends with the same result.
Without limits of time, results depend on the arguments alone.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from mixedsched.advice.tuner._canonical import enumerated
from mixedsched.advice.tuner._proposals import anyone, crossed, informed, mutated, neighbour, simpler
from mixedsched.advice.tuner._stack import STACK, StackRung, has_room, run_held_out
from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.objective import BASELINES, Objective
from mixedsched.advice.tuner.result import RungResult, Scored
from mixedsched.advice.tuner.space import Genome, Space
from mixedsched.advice.tuner.trials import (
    Options,
    Ranking,
    SearchState,
    Trials,
    Watch,
    distinct,
    note_step,
    paints_from_json,
    paints_to_json,
)
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.play.scenario import Scenario
from mixedsched.lab.play.task import PaintReader, Player, Simulator, Task

# Rung pipe: thousands of candidates, a few milliseconds each. Small families are tried out, the rest evolves. Candidates that
# are the same in effect are played once. Generations have a fixed size and come from a seeded generator, so the result depends
# on the seed and the number of candidates alone, not on how many processes play them.


PIPE: Final = "pipe"
_PART = "part of pipe"
STARTS = 24  # of rung stack
OF_A_FAMILY = 2  # of them at least, where there are so many

GENERATION, FIRST_GENERATION = 192, 48  # the first is small, as it is played however little time there is
PARENTS = 32
ATTEMPTS = 12  # to find a candidate that was not tried, for each that a generation has room for
ENUMERATION_STEPS = 40_000  # beyond which a family's candidates are not even counted
KEPT = 400  # scored candidates that are remembered; more would not be used


def run_pipe(trials: Trials) -> list[Genome]:
    """The candidates with which rung stack begins.

    A rung that was finished before is not played again. One that was interrupted begins anew, which gives the same and takes a
    minute at most, but its results so far are kept.
    """
    kept = trials.memory.note(PIPE)
    if kept is None:
        kept = _play(trials)
        trials.memory.keep(PIPE, kept)
    return _recalled(trials, kept)


def recall_part(trials: Trials) -> None:
    """The results of a rung that was interrupted, if there were any."""
    kept = trials.memory.note(_PART)
    if kept is not None:
        _recalled(trials, kept)


def _play(trials: Trials) -> dict[str, Any]:
    """The outcome of the rung, as JSON. Interrupted, it keeps the outcome so far."""
    limit, seeds, started_s = trials.options.pipe, trials.options.search_seeds, trials.clock_s()
    baselines = trials.play(list(trials.baselines.values()), PIPE, seeds)
    scorer = trials.score_baselines(baselines)
    evolution = Evolution(trials.space, random.Random(f"search {trials.options.seed}"), limit.trials)
    history: list[tuple[int, float]] = []

    def play(genomes: Sequence[Genome]) -> list[Scored | None]:
        candidates = [trials.space.candidate(genome) for genome in genomes]
        return list(map(scorer.scored, candidates, trials.play(candidates, PIPE, seeds)))

    def has_time() -> bool:
        tried, spent_s = len(evolution.tried), trials.clock_s() - started_s
        trials.ranking = evolution.best
        note_step(history, tried, trials.best)
        trials.watch(SearchState(PIPE, tried, limit.trials, spent_s, limit.seconds, trials.best))
        return limit.seconds is None or spent_s < limit.seconds

    def outcome() -> dict[str, Any]:
        return {
            "tried": len(evolution.tried),
            "loads": (len(evolution.tried) + len(baselines)) * trials.loads(PIPE, seeds),
            "seconds": trials.clock_s() - started_s,
            "history": history,
            "baselines_ms": [paints_to_json(item) for item in baselines],
            "starts": [genome for genome, _ in distinct(evolution.best, STARTS, of_a_family=OF_A_FAMILY)],
        }

    try:
        while (has_time() or not evolution.tried) and evolution.grow(play):
            pass
    except KeyboardInterrupt:
        trials.memory.keep(_PART, outcome())
        raise
    return outcome()


def _recalled(trials: Trials, kept: dict[str, Any]) -> list[Genome]:
    """The state after the rung; its best candidates are played again, which takes milliseconds."""
    scorer = trials.score_baselines([paints_from_json(item) for item in kept["baselines_ms"]])
    starts = [
        Genome(family, tuple(values), tuple(cells), tuple(targets)) for family, values, cells, targets in kept["starts"]
    ]
    candidates = [trials.space.candidate(genome) for genome in starts]
    paints = trials.play(candidates, PIPE, trials.options.search_seeds)
    trials.rank(zip(starts, map(scorer.scored, candidates, paints), strict=True))
    history = tuple((tried, score) for tried, score in kept["history"])
    trials.rungs.append(RungResult(PIPE, kept["tried"], kept["loads"], kept["seconds"], trials.best, history))
    return starts


@dataclass(slots=True)
class Evolution:
    """Generations of candidates, each bred from the best so far."""

    space: Space
    rng: random.Random
    trials: int  # candidates at most
    tried: dict[Genome, None] = field(default_factory=dict)
    best: Ranking = field(default_factory=list)  # by score, then in the order in which they were tried
    queue: list[Genome] = field(default_factory=list)  # to be tried before any is bred

    def __post_init__(self) -> None:
        """Small families are tried out, smallest first, as far as they take no more than half of the trials."""
        self.queue = informed(self.space)
        families = [enumerated(self.space, family, ENUMERATION_STEPS) for family in range(len(self.space.families))]
        whole = [found for found in families if found is not None]
        room = self.trials if len(whole) == len(families) else self.trials // 2
        for found in sorted(whole, key=len):
            if len(found) <= room:
                self.queue += found
                room -= len(found)
        self.queue = list(dict.fromkeys(self.queue))

    def grow(self, play: Callable[[Sequence[Genome]], Sequence[Scored | None]]) -> bool:
        """Propose a generation, play it and learn from it; False if the trials are used up, or there is nothing new to try."""
        size = GENERATION if self.tried else FIRST_GENERATION
        genomes = self.propose(min(size, self.trials - len(self.tried)))
        if not genomes:
            return False
        self.best += [(genome, item) for genome, item in zip(genomes, play(genomes), strict=True) if item is not None]
        self.best.sort(key=lambda entry: entry[1].score)  # stable: among equals the first stays first
        del self.best[KEPT:]
        return True

    def propose(self, count: int) -> list[Genome]:
        """Candidates that were not proposed before; fewer than asked for, or none, if there are hardly any left."""
        chosen: list[Genome] = []
        while self.queue and len(chosen) < count:
            self._take(self.queue.pop(0), chosen)
        parents = [genome for genome, _ in distinct(self.best, PARENTS, of_a_family=2)]
        for genome in simpler(self.space, parents[0]) if parents else ():
            if len(chosen) < count:
                self._take(genome, chosen)
        for _ in range(ATTEMPTS * (count - len(chosen))):
            if len(chosen) == count:
                break
            self._take(self._bred(parents), chosen)
        return chosen

    def _take(self, genome: Genome, chosen: list[Genome]) -> None:
        if genome not in self.tried:
            self.tried[genome] = None
            chosen.append(genome)

    def _bred(self, parents: Sequence[Genome]) -> Genome:
        rng, space = self.rng, self.space
        dice = rng.random()
        if not parents or dice < 0.1:
            return anyone(space, rng)
        # the lower of two draws: the better, the more children
        one = parents[min(rng.randrange(len(parents)), rng.randrange(len(parents)))]
        if dice < 0.5:
            return neighbour(space, one, rng)
        if dice < 0.75:
            return crossed(space, one, rng.choice(parents), rng)
        return mutated(space, one, rng)


# All rungs


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
    def load_s(self) -> float:
        """Time of a load of rung stack, all processes together; 0 where none was played."""
        stack = [item for item in self.rungs if item.rung == STACK]
        return sum(item.seconds for item in stack) / max(1, sum(item.loads for item in stack))

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
    bounds: Mapping[str, PaintEstimate] = MappingProxyType({}),
    baselines: Mapping[str, Candidate] = BASELINES,
) -> SearchResult:
    """Search, or continue a search that is stored. With no trials for rung stack it ends with rung pipe.

    bounds: the earliest paints on rung stack, by scene; where they are known, it ends as soon as nothing better can follow,
    without any rung if the best baseline is as good as that already. Whatever interrupts it, finished batches are stored
    before. baselines: to be beaten, by label. Raises MixedschedError if on some network no load ends, or the database cannot be
    used.
    """
    trials = Trials(space, tuple(scenes), objective, simulator, options, clock_s, watch, baselines, bounds)
    _search(trials)
    result = _result(trials)
    assert result is not None, "a baseline ended, or there was an error"
    return result


def best_so_far(
    space: Space, scenes: Sequence[Scenario], objective: Objective, options: Options
) -> SearchResult | None:
    """The stored part of a search, without continuing it; None if nothing is stored yet."""
    trials = Trials(space, tuple(scenes), objective, _StoredOnly(), options, lambda: 0.0, lambda _: None, BASELINES)
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
