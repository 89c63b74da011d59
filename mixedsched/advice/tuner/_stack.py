"""Rung stack: a few hundred candidates, whose loads take a good part of a second each; then the best over held-out seeds.

Candidates come in batches of a fixed size, and each batch is stored before the next. A batch depends on the trials before it,
the seed and its number alone: so results do not depend on how many processes play it, nor on whether the search was
interrupted in between. optuna proposes them. As its estimator of densities is good at finding regions, but slow to settle the
last urgency, some of every batch are neighbours of the best so far, and the best without one of its departures.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import TPESampler

from mixedsched.advice.tuner._canonical import canonical, everything
from mixedsched.advice.tuner._proposals import crossed, mutated, neighbour, simpler
from mixedsched.advice.tuner.objective import Paints, Scorer, is_better
from mixedsched.advice.tuner.result import RungResult, Scored
from mixedsched.advice.tuner.space import OFF, Genome, Space, signal_code
from mixedsched.advice.tuner.trials import (
    SearchState,
    StoredTrial,
    Trials,
    distinct,
    frozen,
    note_step,
    paints_from_json,
    paints_to_json,
)
from mixedsched.lab.play.scenario import LEAST_GAIN
from mixedsched.model.priority import URGENCY_MAX

STACK: Final = "stack"
HELD_OUT = "held out"
FINALISTS, FINALISTS_LEAST = 12, 3  # that are played over held-out seeds
FINALS_SHARE = 0.4  # of the rung's time, that these may take at most
SMALL_STEPS = 10_000  # to find all candidates of a space, beyond which it is not small

BATCH = 8
BY_HAND = 3  # of a batch: simpler ones, and neighbours
LEADERS = 6  # whose neighbours are tried
ATTEMPTS = 40  # to find a candidate that was not tried
FLAGS = ("N", "I")

_BASELINES, _SECONDS = "baselines", "stack seconds"

Tried = list[tuple[Genome, Scored | None]]
"""Candidates that were played in this rung, in order; None: a load never ended."""


def has_room(trials: Trials) -> bool:
    """Whether any order can be better than the best baseline by enough to matter."""
    scorer = trials.score_baselines(_baselines(trials))
    best = min(item.value for item in trials.scored_baselines.values())
    return trials.floor(scorer) + trials.options.penalty < best - LEAST_GAIN


def _baselines(trials: Trials) -> list[Paints]:
    """Over the seeds of the search; played once."""
    kept = trials.memory.note(_BASELINES)
    if kept is not None:
        return [paints_from_json(item) for item in kept]
    began_s = trials.clock_s()
    paints = trials.play(list(trials.baselines.values()), STACK, trials.options.search_seeds)
    trials.memory.keep(_BASELINES, [paints_to_json(item) for item in paints])
    trials.memory.keep(_SECONDS, trials.clock_s() - began_s)
    return paints


class StackRung:
    """starts: played first, in their order; then proposals. trials: kept up to date after each batch.

    Where the space is small, the rest of it comes after the proposals, so that everything is tried.
    """

    def __init__(self, trials: Trials, starts: Sequence[Genome]) -> None:
        self._trials = trials
        self._starts = list(starts)
        self._params = Params.of(trials.space)
        self._stored: dict[int, list[StoredTrial]] = {}
        for trial in trials.memory.trials():
            self._stored.setdefault(trial.batch, []).append(trial)
        self._tried: Tried = []
        self._untried = _small(trials.space, trials.options.stack.trials)
        self._history: list[tuple[int, float]] = []
        self._started_s = trials.clock_s()
        self._played_s = 0.0  # how long all of it took, including earlier starts

    def run(self) -> None:
        """To the end of its limit, or of the space. Raises MixedschedError if no load of any baseline ends somewhere."""
        trials = self._trials
        scorer = trials.score_baselines(_baselines(trials))
        trials.ranking = []
        self._played_s = float(trials.memory.note(_SECONDS) or 0.0)
        limit, enough = trials.options.stack.trials, trials.floor(scorer) + trials.options.penalty
        batch = 0
        while len(self._tried) < limit and not self._is_down_to(enough) and (batch in self._stored or self._has_time()):
            genomes = self._genomes(batch, min(BATCH, limit - len(self._tried)))
            if not genomes:
                break
            self._take(batch, genomes, scorer)
            batch += 1

    @property
    def finalists(self) -> int:
        """How many there is time to play over the held-out seeds."""
        if math.isinf(self._left_s):
            return FINALISTS
        fitting = self._left_s / max(1e-9, self._each_s * _longer(self._trials)) - len(self._trials.baselines)
        return max(FINALISTS_LEAST, min(FINALISTS, int(fitting)))

    def conclude(self) -> None:
        """Note the result of the rung, as far as it went."""
        trials, tried = self._trials, len(self._tried)
        loads = (tried + len(trials.baselines)) * trials.loads(STACK, trials.options.search_seeds)
        is_whole = self._untried is not None and not self._untried
        trials.rungs.append(
            RungResult(STACK, tried, loads, self._played_s, trials.best, tuple(self._history), is_whole=is_whole)
        )

    @property
    def _each_s(self) -> float:
        """How long a candidate takes, as far as it is known."""
        return self._played_s / max(1, len(self._trials.baselines) + len(self._tried))

    @property
    def _left_s(self) -> float:
        """Time left of the rung's limit; infinite without one."""
        limit_s = self._trials.options.stack.seconds
        return math.inf if limit_s is None else limit_s - (self._trials.clock_s() - self._started_s)

    def _is_down_to(self, enough: float) -> bool:
        """Whether the best is so good that any other, which departs from the browser's signals too, can be no better."""
        best = self._trials.best
        return best is not None and not is_better(enough, best.score)

    def _has_time(self) -> bool:
        """Whether another batch, and the finalists after it, will be over by the limit. The first batch is always played."""
        trials = self._trials
        limit_s = trials.options.stack.seconds
        if limit_s is None or not self._tried:
            return True
        finals_s = 0.0
        if trials.have_seeds:
            finals_s = (FINALISTS + len(trials.baselines)) * _longer(trials) * self._each_s
        return BATCH * self._each_s + min(finals_s, FINALS_SHARE * limit_s) <= self._left_s

    def _genomes(self, batch: int, count: int) -> list[Genome]:
        """A batch: as stored, if all of it is; else made again, which gives the same."""
        stored = self._stored.get(batch, [])
        if stored and len(stored) == stored[0].size:
            return [self._params.decode(trial.params) for trial in stored]
        starts = self._starts[len(self._tried) : len(self._tried) + count]
        if starts or self._untried == {}:
            return starts
        proposed = propose(self._params, self._tried, count, self._trials.options.seed, batch)
        rest = [genome for genome in self._untried or () if genome not in proposed]
        return [*proposed, *rest[: count - len(proposed)]]

    def _take(self, batch: int, genomes: Sequence[Genome], scorer: Scorer) -> None:
        """Play what of a batch is not stored, store it, and learn from all of it."""
        trials = self._trials
        candidates = [trials.space.candidate(genome) for genome in genomes]
        paints = {trial.code: trial.paints for trial in self._stored.get(batch, [])}
        missing = [place for place, candidate in enumerate(candidates) if candidate.code not in paints]
        began_s = trials.clock_s()
        if missing:
            played = trials.play([candidates[place] for place in missing], STACK, trials.options.search_seeds)
            paints |= {candidates[place].code: item for place, item in zip(missing, played, strict=True)}
        scored = [scorer.scored(candidate, paints[candidate.code]) for candidate in candidates]
        if missing:
            new = [
                StoredTrial(self._params.encode(genomes[place]), batch, len(genomes), code, paints[code])
                for place, code in ((place, candidates[place].code) for place in missing)
            ]
            scores = [item.score if (item := scored[place]) is not None else None for place in missing]
            trials.memory.add(new, scores, self._params.distributions)
            self._played_s += trials.clock_s() - began_s
            trials.memory.keep(_SECONDS, self._played_s)
        self._tried += zip(genomes, scored, strict=True)
        if self._untried is not None:
            for genome in genomes:
                self._untried.pop(genome, None)
        trials.rank(self._tried)
        note_step(self._history, len(self._tried), trials.best)
        limit, spent_s = trials.options.stack, trials.clock_s() - self._started_s
        trials.watch(SearchState(STACK, len(self._tried), limit.trials, spent_s, limit.seconds, trials.best))


def _small(space: Space, most: int) -> dict[Genome, None] | None:
    """The whole space in its order, if it has no more candidates than may be tried."""
    found = everything(space, SMALL_STEPS)
    return dict.fromkeys(found) if found is not None and len(found) <= most else None


def _longer(trials: Trials) -> float:
    """How many times as long a candidate takes over the held-out seeds."""
    return trials.loads(STACK, trials.options.held_out_seeds) / trials.loads(STACK, trials.options.search_seeds)


def run_held_out(trials: Trials, most: int = FINALISTS) -> None:
    """The best of rung stack, and the baselines, over seeds that are new to them: luck with the old ones does not count.

    most: finalists, where they were not played before. Where loads do not differ by seed, this is left out.
    """
    if not trials.have_seeds:
        return
    started_s, seeds, count = trials.clock_s(), trials.options.held_out_seeds, len(trials.baselines)
    finalists = [genome for genome, _ in distinct(trials.ranking, FINALISTS)]
    candidates = [*trials.baselines.values(), *map(trials.space.candidate, finalists)]
    codes = [item.code for item in candidates]
    kept = trials.memory.note(HELD_OUT)
    if kept is None or kept["codes"] != codes[: len(kept["codes"])]:
        paints = trials.play(candidates[: count + most], STACK, seeds)
        spent_s = trials.clock_s() - started_s
        stored = [paints_to_json(item) for item in paints]
        kept = {"codes": codes[: count + most], "paints_ms": stored, "seconds": spent_s}
        trials.memory.keep(HELD_OUT, kept)
    paints = [paints_from_json(item) for item in kept["paints_ms"]]
    scorer = trials.score_baselines(paints[:count])
    trials.rank(zip(finalists, map(scorer.scored, candidates[count:], paints[count:]), strict=False))
    best, played = trials.best, len(paints) - count
    history = ((played, best.score),) if best is not None else ()
    loads = len(paints) * trials.loads(STACK, seeds)
    trials.rungs.append(RungResult(HELD_OUT, played, loads, kept["seconds"], best, history))
    trials.watch(SearchState(HELD_OUT, played, played, kept["seconds"], None, best))


# Proposals


@dataclass(frozen=True, slots=True)
class Params:
    """The space as optuna sees it: every trial has every parameter; those that its scheme does not have are as usual."""

    space: Space
    labels: tuple[str, ...]  # of the families
    places: tuple[str, ...]  # names of cells, then of targets; none where no family has a table
    distributions: dict[str, BaseDistribution]

    @classmethod
    def of(cls, space: Space) -> Params:
        labels = tuple(f"{family.name}:{family.fixed}" if family.fixed else family.name for family in space.families)
        found: dict[str, BaseDistribution] = {"scheme": CategoricalDistribution(labels)}
        for label, family in zip(labels, space.families, strict=True):
            for step in family.steps:
                found[f"{label} {step.name}"] = IntDistribution(0, len(step.values) - 1)
        places: tuple[str, ...] = ()
        if any(family.has_table for family in space.families):
            cells = [f"{priority}.{kind}" for priority, kind in space.cells]
            places = (*cells, *(target.match for target in space.targets))
        for number, place in enumerate(places):
            found[f"{place} u"] = IntDistribution(0 if number < len(space.cells) else OFF, URGENCY_MAX)
            found[f"{place} i"] = CategoricalDistribution(FLAGS)
        return cls(space, labels, places, found)

    def encode(self, genome: Genome) -> dict[str, Any]:
        space = self.space
        found: dict[str, Any] = {"scheme": self.labels[genome.family]}
        for number, (label, family) in enumerate(zip(self.labels, space.families, strict=True)):
            for place, step in enumerate(family.steps):
                found[f"{label} {step.name}"] = genome.values[place] if number == genome.family else step.usual
        cells = genome.cells or tuple(map(signal_code, space.cells))
        targets = genome.targets or (OFF,) * len(space.targets)
        for name, code in zip(self.places, (*cells, *targets), strict=False):
            found[f"{name} u"], found[f"{name} i"] = (OFF, FLAGS[0]) if code == OFF else (code // 2, FLAGS[code % 2])
        return found

    def decode(self, params: Mapping[str, Any]) -> Genome:
        family = self.labels.index(params["scheme"])
        chosen = self.space.families[family]
        values = tuple(params[f"{self.labels[family]} {step.name}"] for step in chosen.steps)
        if not chosen.has_table:
            return Genome(family, values)
        codes = tuple(
            OFF if params[f"{name} u"] == OFF else 2 * params[f"{name} u"] + FLAGS.index(params[f"{name} i"])
            for name in self.places
        )
        cells = len(self.space.cells)
        return Genome(family, values, codes[:cells], codes[cells:])


def propose(params: Params, tried: Tried, count: int, seed: int, batch: int) -> list[Genome]:
    """New candidates in canonical form, as many as asked for unless there are hardly any left."""
    space, rng = params.space, random.Random(f"search {seed} batch {batch}")
    ended = [(genome, item.score) for genome, item in tried if item is not None]
    ranked = [genome for genome, _ in sorted(ended, key=lambda pair: pair[1])]
    known = {genome for genome, _ in tried}
    chosen: list[Genome] = []

    def take(genome: Genome) -> None:
        if genome not in known and len(chosen) < count:
            known.add(genome)
            chosen.append(genome)

    def fill(most: int, make: Callable[[], Genome]) -> None:
        for _ in range(ATTEMPTS * most):
            if len(chosen) >= most:
                return
            take(make())

    if ranked:
        by_hand = min(BY_HAND, count)
        for genome in simpler(space, ranked[0]):
            if len(chosen) < by_hand - 1:
                take(genome)
        fill(by_hand, lambda: neighbour(space, rng.choice(ranked[:2]), rng))
    for genome in _by_optuna(params, ended, count - len(chosen), rng.getrandbits(31)):
        take(genome)
    if ranked:
        fill(count, lambda: _bred(space, ranked[:LEADERS], rng))
    return chosen


def _bred(space: Space, leaders: Sequence[Genome], rng: random.Random) -> Genome:
    one = rng.choice(leaders)
    dice = rng.random()
    if dice < 0.5:
        return neighbour(space, one, rng)
    return crossed(space, one, rng.choice(leaders), rng) if dice < 0.7 else mutated(space, one, rng)


def _by_optuna(params: Params, ended: Sequence[tuple[Genome, float]], count: int, seed: int) -> list[Genome]:
    """Proposals of a fresh sampler that has seen these trials; those of one batch count as running for each other."""
    if not count:
        return []
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        sampler = TPESampler(seed=seed, multivariate=True, constant_liar=True)
        study = optuna.create_study(sampler=sampler)
        for genome, score in ended:
            study.add_trial(frozen(params.encode(genome), score, params.distributions))
        asked = [study.ask(params.distributions) for _ in range(count)]
    return [canonical(params.space, params.decode(trial.params)) for trial in asked]
