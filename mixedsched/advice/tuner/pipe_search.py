"""Rung pipe: thousands of candidates, a few milliseconds each. What is small is tried out, the rest evolves.

Candidates that are the same in effect are played once. Generations have a fixed size and come from a seeded generator, so
what is found depends on the seed and the number of candidates alone, not on how many processes play them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mixedsched.advice.tuner.canonical import enumerated
from mixedsched.advice.tuner.proposals import anyone, crossed, informed, mutated, neighbour, simpler
from mixedsched.advice.tuner.result import Scored
from mixedsched.advice.tuner.space import Genome, Space

GENERATION, FIRST_GENERATION = 192, 48  # the first is small, as it is played however little time there is
PARENTS = 32
ATTEMPTS = 12  # to find a candidate that was not tried, for each that a generation has room for
ENUMERATION_STEPS = 40_000  # beyond which a family's candidates are not even counted
KEPT = 400  # scored candidates that are remembered; more would be of no use to anybody


@dataclass(slots=True)
class Evolution:
    """What is known so far. best: by score, then in the order in which they were tried."""

    space: Space
    rng: random.Random
    trials: int
    tried: dict[Genome, None] = field(default_factory=dict)
    best: list[tuple[Genome, Scored]] = field(default_factory=list)
    queue: list[Genome] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Small families are tried out, smallest first, as far as they take no more than half of the trials."""
        self.queue = informed(self.space)
        whole = [
            found
            for family in range(len(self.space.families))
            if (found := enumerated(self.space, family, ENUMERATION_STEPS)) is not None
        ]
        everything = len(whole) == len(self.space.families)
        room = self.trials if everything else self.trials // 2
        for found in sorted(whole, key=len):
            if len(found) <= room:
                self.queue += found
                room -= len(found)
        self.queue = list(dict.fromkeys(self.queue))

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

    def learn(self, genomes: Sequence[Genome], scored: Sequence[Scored | None]) -> None:
        self.best += [(genome, item) for genome, item in zip(genomes, scored, strict=True) if item is not None]
        self.best.sort(key=lambda entry: entry[1].score)  # stable: among equals the first stays first
        del self.best[KEPT:]

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


def distinct(
    ranked: Sequence[tuple[Genome, Scored]], count: int, *, of_a_family: int = 0
) -> list[tuple[Genome, Scored]]:
    """The first `count` that differ in what they come to, and the first few of each family beyond these."""
    chosen: dict[Genome, Scored] = {}
    outcomes: dict[tuple[object, ...], None] = {}
    members: dict[int, int] = {}
    for genome, item in ranked:
        outcome = outcome_of(item)
        if outcome in outcomes:
            continue
        if len(chosen) >= count and members.get(genome.family, 0) >= of_a_family:
            continue
        outcomes[outcome] = None
        members[genome.family] = members.get(genome.family, 0) + 1
        chosen[genome] = item
    return list(chosen.items())


def outcome_of(item: Scored) -> tuple[object, ...]:
    """What a candidate comes to, to a tenth of a millisecond: for telling those apart that are the same."""
    return tuple(
        (name, round(paints.fcp_ms, 1), round(paints.lcp_ms, 1), round(paints.si_ms, 1))
        for name, paints in item.by_network.items()
    )


def evolve(
    evolution: Evolution,
    play: Callable[[Sequence[Genome]], Sequence[Scored | None]],
    may_go_on: Callable[[int], bool],
) -> None:
    """Generation by generation, until the trials are used up, `may_go_on` (told how many were tried) says no, or there is
    nothing new to try. The first is played in any case."""
    while len(evolution.tried) < evolution.trials and (may_go_on(len(evolution.tried)) or not evolution.tried):
        size = GENERATION if evolution.tried else FIRST_GENERATION
        genomes = evolution.propose(min(size, evolution.trials - len(evolution.tried)))
        if not genomes:
            return
        evolution.learn(genomes, play(genomes))
