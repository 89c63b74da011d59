"""Rung stack: a few hundred candidates, whose loads take a good part of a second each. optuna proposes them.

Candidates come in batches of a fixed size. A batch depends on the trials before it, the seed and its number alone: so results
do not depend on how many processes play it, nor on whether the search was interrupted in between. In every batch a few
proposals are neighbours of the best so far, and the best without one of its departures: the estimator of densities is good at
finding regions, and slow to settle the last urgency.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import TPESampler

from mixedsched.advice.tuner.canonical import canonical
from mixedsched.advice.tuner.memory import frozen
from mixedsched.advice.tuner.proposals import crossed, mutated, neighbour, simpler
from mixedsched.advice.tuner.space import OFF, Genome, Space, signal_code
from mixedsched.model.priority import URGENCY_MAX

BATCH = 8
BY_HAND = 3  # of a batch: simpler ones, and neighbours
LEADERS = 6  # whose neighbours are tried
ATTEMPTS = 40  # to find a candidate that was not tried
FLAGS = ("N", "I")


@dataclass(frozen=True, slots=True)
class Params:
    """The space as optuna sees it: every trial has every parameter; those that its scheme does not have are as usual."""

    space: Space
    labels: tuple[str, ...]
    distributions: dict[str, BaseDistribution]

    @classmethod
    def of(cls, space: Space) -> Params:
        labels = tuple(f"{family.name}:{family.fixed}" if family.fixed else family.name for family in space.families)
        found: dict[str, BaseDistribution] = {"scheme": CategoricalDistribution(labels)}
        for label, family in zip(labels, space.families, strict=True):
            for step in family.steps:
                found[f"{label} {step.name}"] = IntDistribution(0, len(step.values) - 1)
        if any(family.has_table for family in space.families):
            for priority, kind in space.cells:
                found[f"{priority}.{kind} u"] = IntDistribution(0, URGENCY_MAX)
                found[f"{priority}.{kind} i"] = CategoricalDistribution(FLAGS)
            for target in space.targets:
                found[f"{target.match} u"] = IntDistribution(OFF, URGENCY_MAX)
                found[f"{target.match} i"] = CategoricalDistribution(FLAGS)
        return cls(space, labels, found)

    def encode(self, genome: Genome) -> dict[str, Any]:
        space = self.space
        found: dict[str, Any] = {"scheme": self.labels[genome.family]}
        for number, (label, family) in enumerate(zip(self.labels, space.families, strict=True)):
            for place, step in enumerate(family.steps):
                found[f"{label} {step.name}"] = genome.values[place] if number == genome.family else step.usual
        if not any(family.has_table for family in space.families):
            return found
        cells = genome.cells or tuple(map(signal_code, space.cells))
        targets = genome.targets or (OFF,) * len(space.targets)
        for (priority, kind), code in zip(space.cells, cells, strict=True):
            found[f"{priority}.{kind} u"], found[f"{priority}.{kind} i"] = code // 2, FLAGS[code % 2]
        for target, code in zip(space.targets, targets, strict=True):
            off = code == OFF
            found[f"{target.match} u"] = OFF if off else code // 2
            found[f"{target.match} i"] = FLAGS[0 if off else code % 2]
        return found

    def decode(self, params: Mapping[str, Any]) -> Genome:
        family = self.labels.index(params["scheme"])
        chosen = self.space.families[family]
        values = tuple(params[f"{self.labels[family]} {step.name}"] for step in chosen.steps)
        if not chosen.has_table:
            return Genome(family, values)
        cells = tuple(
            2 * params[f"{priority}.{kind} u"] + FLAGS.index(params[f"{priority}.{kind} i"])
            for priority, kind in self.space.cells
        )
        targets = tuple(
            OFF
            if (urgency := params[f"{item.match} u"]) == OFF
            else 2 * urgency + FLAGS.index(params[f"{item.match} i"])
            for item in self.space.targets
        )
        return Genome(family, values, cells, targets)


@dataclass(frozen=True, slots=True)
class Known:
    """A candidate that was played in this rung; score None: a load never ended."""

    genome: Genome
    score: float | None


def propose(params: Params, known: Sequence[Known], count: int, seed: int, batch: int) -> list[Genome]:
    """New candidates in canonical form, as many as asked for unless there are hardly any left."""
    rng = random.Random(f"search {seed} batch {batch}")
    tried = dict.fromkeys(item.genome for item in known)
    ranked = [item.genome for item in sorted(_scored(known), key=lambda item: item.score or 0.0)]
    chosen: list[Genome] = []

    def take(genome: Genome) -> None:
        if genome not in tried and len(chosen) < count:
            tried[genome] = None
            chosen.append(genome)

    if ranked:
        by_hand = min(BY_HAND, count)
        for genome in simpler(params.space, ranked[0]):
            if len(chosen) < by_hand - 1:
                take(genome)
        _fill(lambda: take(neighbour(params.space, rng.choice(ranked[:2]), rng)), chosen, by_hand)
    for genome in _by_optuna(params, known, count - len(chosen), rng.getrandbits(31)):
        take(genome)
    leaders = ranked[:LEADERS]
    if leaders:
        _fill(lambda: take(_bred(params.space, leaders, rng)), chosen, count)
    return chosen


def _fill(take_one: Callable[[], None], chosen: list[Genome], count: int) -> None:
    for _ in range(ATTEMPTS * count):
        if len(chosen) >= count:
            return
        take_one()


def _bred(space: Space, leaders: Sequence[Genome], rng: random.Random) -> Genome:
    one = rng.choice(leaders)
    dice = rng.random()
    if dice < 0.5:
        return neighbour(space, one, rng)
    return crossed(space, one, rng.choice(leaders), rng) if dice < 0.7 else mutated(space, one, rng)


def _scored(known: Sequence[Known]) -> list[Known]:
    return [item for item in known if item.score is not None]


def _by_optuna(params: Params, known: Sequence[Known], count: int, seed: int) -> list[Genome]:
    """What a fresh sampler proposes that has seen these trials; those of one batch count as running for each other."""
    if not count:
        return []
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        sampler = TPESampler(seed=seed, multivariate=True, constant_liar=True)
        study = optuna.create_study(sampler=sampler)
        for item in _scored(known):
            study.add_trial(frozen(params.encode(item.genome), item.score, params.distributions))
        asked = [study.ask(params.distributions) for _ in range(count)]
    return [canonical(params.space, params.decode(trial.params)) for trial in asked]
