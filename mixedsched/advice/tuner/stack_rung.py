"""Rung stack of a search: batches over the seeds of the search, each stored before the next; then the best over new seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.canonical import everything
from mixedsched.advice.tuner.memory import Memory, StoredTrial
from mixedsched.advice.tuner.options import Progress
from mixedsched.advice.tuner.pipe_search import distinct
from mixedsched.advice.tuner.result import RungResult, Scored
from mixedsched.advice.tuner.scoring import Judge, Paints, is_better
from mixedsched.advice.tuner.space import Genome, Space
from mixedsched.advice.tuner.stack_search import BATCH, Known, Params, propose
from mixedsched.advice.tuner.trials import Findings, Trials, note_step, paints_from_json, paints_to_json, ranked
from mixedsched.lab.play.scenario import LEAST_GAIN

STACK, HELD_OUT = "stack", "held out"
FINALISTS, FINALISTS_LEAST = 12, 3  # that are played over new seeds
FINALS_SHARE = 0.4  # of the rung's time, that these may take at most
SMALL_STEPS = 10_000  # to find all candidates of a space, beyond which it is not small

_BASELINES, _SECONDS = "baselines", "stack seconds"


def has_room(trials: Trials, memory: Memory, findings: Findings) -> bool:
    """Whether any order can be better than the best baseline by what is worth a load. findings: of the baselines."""
    judge, findings.baselines = trials.judged(_baselines(trials, memory))
    best = min(item.value for item in findings.baselines.values())
    return trials.floor(judge) + trials.options.penalty < best - LEAST_GAIN


def _baselines(trials: Trials, memory: Memory) -> list[Paints]:
    """Over the seeds of the search; played once."""
    kept = memory.note(_BASELINES)
    if kept is not None:
        return [paints_from_json(item) for item in kept]
    began_s = trials.clock_s()
    paints = trials.play(list(trials.baselines.values()), "stack", trials.options.search_seeds)
    memory.keep(_BASELINES, [paints_to_json(item) for item in paints])
    memory.keep(_SECONDS, trials.clock_s() - began_s)
    return paints


class StackRung:
    """starts: played first, in their order; then what `stack_search` proposes. findings: kept up to date after each batch.

    Where the space is small, what is left of it comes after the proposals, so that nothing remains untried.
    """

    def __init__(self, trials: Trials, memory: Memory, findings: Findings, starts: Sequence[Genome]) -> None:
        self._trials = trials
        self._memory = memory
        self._findings = findings
        self._starts = list(starts)
        self._params = Params.of(trials.space)
        self._seeds = trials.options.search_seeds
        self._stored: dict[int, list[StoredTrial]] = {}
        for trial in memory.trials():
            self._stored.setdefault(trial.batch, []).append(trial)
        self._known: list[Known] = []
        self._scored: list[tuple[Genome, Scored | None]] = []
        self._untried = _small(trials.space, trials.options.stack.trials)
        self._history: list[tuple[int, float]] = []
        self._started_s = trials.clock_s()
        self._played_s = 0.0  # how long all of it took, of earlier starts too

    def run(self) -> None:
        """To the end of its limit, or of the space. Raises MixedschedError if no load of any baseline ends somewhere."""
        judge, self._findings.baselines = self._trials.judged(_baselines(self._trials, self._memory))
        self._findings.ranking = []
        self._played_s = float(self._memory.note(_SECONDS) or 0.0)
        limit, enough = self._trials.options.stack.trials, self._trials.floor(judge) + self._trials.options.penalty
        batch = 0
        while len(self._known) < limit and not self._is_down_to(enough) and (batch in self._stored or self._has_time()):
            genomes = self._genomes(batch, min(BATCH, limit - len(self._known)))
            if not genomes:
                break
            self._take(batch, genomes, judge)
            batch += 1

    @property
    def finalists(self) -> int:
        """How many there is time to play over the new seeds."""
        if math.isinf(self.left_s):
            return FINALISTS
        fitting = self.left_s / max(1e-9, self.each_s * _longer(self._trials)) - len(self._trials.baselines)
        return max(FINALISTS_LEAST, min(FINALISTS, int(fitting)))

    def conclude(self) -> None:
        """Write down what the rung came to, as far as it went."""
        loads = (len(self._known) + len(self._trials.baselines)) * self._trials.loads("stack", self._seeds)
        history, best = tuple(self._history), self._findings.best
        is_whole = self._untried is not None and not self._untried
        self._findings.rungs.append(
            RungResult(STACK, len(self._known), loads, self._played_s, best, history, is_whole=is_whole)
        )

    @property
    def each_s(self) -> float:
        """How long a candidate takes, as far as it is known."""
        return self._played_s / max(1, len(self._trials.baselines) + len(self._known))

    @property
    def left_s(self) -> float:
        """Of the rung's limit; infinite without one."""
        limit_s = self._trials.options.stack.seconds
        return math.inf if limit_s is None else limit_s - (self._trials.clock_s() - self._started_s)

    def _is_down_to(self, enough: float) -> bool:
        """Whether the best is so good that any other, which departs from the browser's signals too, can be no better."""
        best = self._findings.best
        return best is not None and not is_better(enough, best.score)

    def _has_time(self) -> bool:
        """Whether another batch, and the finalists after it, will be over by the limit. The first batch is always played."""
        trials = self._trials
        limit_s = trials.options.stack.seconds
        if limit_s is None or not self._known:
            return True
        each_s = self.each_s
        finals_s = 0.0
        if trials.have_seeds:
            finals_s = min((FINALISTS + len(trials.baselines)) * _longer(trials) * each_s, FINALS_SHARE * limit_s)
        return BATCH * each_s + finals_s <= self.left_s

    def _genomes(self, batch: int, count: int) -> list[Genome]:
        """Of a batch: as stored, if all of it is; else made again, which gives the same."""
        stored = self._stored.get(batch, [])
        if stored and len(stored) == stored[0].size:
            return [self._params.decode(trial.params) for trial in stored]
        starts = self._starts[len(self._known) : len(self._known) + count]
        if starts or self._untried == {}:
            return starts
        proposed = propose(self._params, self._known, count, self._trials.options.seed, batch)
        rest = [genome for genome in self._untried or () if genome not in proposed]
        return [*proposed, *rest[: count - len(proposed)]]

    def _take(self, batch: int, genomes: Sequence[Genome], judge: Judge) -> None:
        """Play what of a batch is not stored, store it, and learn from all of it."""
        candidates = [self._trials.space.candidate(genome) for genome in genomes]
        paints = {trial.code: trial.paints for trial in self._stored.get(batch, [])}
        missing = [place for place, candidate in enumerate(candidates) if candidate.code not in paints]
        if missing:
            began_s = self._trials.clock_s()
            found = self._trials.play([candidates[place] for place in missing], "stack", self._seeds)
            paints.update((candidates[place].code, item) for place, item in zip(missing, found, strict=True))
        scored = [judge.scored(candidate, paints[candidate.code]) for candidate in candidates]
        if missing:
            self._store(batch, genomes, candidates, paints, scored, missing)
            self._played_s += self._trials.clock_s() - began_s
            self._memory.keep(_SECONDS, self._played_s)
        for genome, item in zip(genomes, scored, strict=True):
            self._known.append(Known(genome, item.score if item is not None else None))
            self._scored.append((genome, item))
            if self._untried is not None:
                self._untried.pop(genome, None)
        self._tell()

    def _store(
        self,
        batch: int,
        genomes: Sequence[Genome],
        candidates: Sequence[Candidate],
        paints: Mapping[str, Paints],
        scored: Sequence[Scored | None],
        missing: Sequence[int],
    ) -> None:
        trials, scores = [], []
        for place in missing:
            code, item = candidates[place].code, scored[place]
            trials.append(StoredTrial(self._params.encode(genomes[place]), batch, len(genomes), code, paints[code]))
            scores.append(item.score if item is not None else None)
        self._memory.add(trials, scores, self._params.distributions)

    def _tell(self) -> None:
        self._findings.ranking = ranked(self._scored)
        note_step(self._history, len(self._known), self._findings.best)
        limit, spent_s = self._trials.options.stack, self._trials.clock_s() - self._started_s
        best = self._findings.best
        self._trials.watch(Progress(STACK, len(self._known), limit.trials, spent_s, limit.seconds, best))


def _small(space: Space, most: int) -> dict[Genome, None] | None:
    """The whole space in its order, if these are no more candidates than may be tried."""
    found = everything(space, SMALL_STEPS)
    return dict.fromkeys(found) if found is not None and len(found) <= most else None


def _longer(trials: Trials) -> float:
    """How many times as long a candidate takes over the new seeds."""
    return trials.loads("stack", trials.options.held_out_seeds) / trials.loads("stack", trials.options.search_seeds)


def run_held_out(trials: Trials, memory: Memory, findings: Findings, most: int = FINALISTS) -> None:
    """The best of rung stack, and the baselines, over seeds that are new to them: luck with the old ones is no merit.

    most: of them, where they were not played before. Where loads do not differ by seed there is nothing to be learnt, and it is
    left out.
    """
    if not trials.have_seeds:
        return
    started_s, seeds = trials.clock_s(), trials.options.held_out_seeds
    finalists = [genome for genome, _ in distinct(findings.ranking, FINALISTS)]
    candidates = [*trials.baselines.values(), *map(trials.space.candidate, finalists)]
    codes = [item.code for item in candidates]
    kept = memory.note(HELD_OUT)
    if kept is None or kept["codes"] != codes[: len(kept["codes"])]:
        candidates = candidates[: len(trials.baselines) + most]
        codes = codes[: len(candidates)]
        paints = trials.play(candidates, "stack", seeds)
        spent_s = trials.clock_s() - started_s
        kept = {"codes": codes, "paints_ms": [paints_to_json(item) for item in paints], "seconds": spent_s}
        memory.keep(HELD_OUT, kept)
    paints = [paints_from_json(item) for item in kept["paints_ms"]]
    count = len(trials.baselines)
    judge, findings.baselines = trials.judged(paints[:count])
    findings.ranking = ranked(
        (genome, judge.scored(candidate, item))
        for genome, candidate, item in zip(finalists, candidates[count:], paints[count:], strict=False)
    )
    best, played = findings.best, len(paints) - count
    history = ((played, best.score),) if best is not None else ()
    loads = len(paints) * trials.loads("stack", seeds)
    findings.rungs.append(RungResult(HELD_OUT, played, loads, kept["seconds"], best, history))
    trials.watch(Progress(HELD_OUT, played, played, kept["seconds"], None, best))
