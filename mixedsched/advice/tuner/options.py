"""How long and with which seeds a search goes on, and what it tells meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mixedsched.advice.tuner.complexity import PENALTY
from mixedsched.advice.tuner.result import Scored
from mixedsched.lab.play.scenario import SEEDS

HELD_OUT_SEEDS = 8
SEED_SPACE = 2_000_000  # apart from the seeds of audits, and of measured links, which are drawn from 48 bits
SEEDS_OF_A_SEARCH = 1000


@dataclass(frozen=True, slots=True)
class Limit:
    """Where a rung ends, whichever is first. trials: candidates; seconds: of the clock, None for as long as it takes."""

    trials: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """seed: of proposals and networks. pipe, stack: limits of the rungs; that of `stack` includes the time for the new seeds.

    seeds: of a network with losses, in the search; held_out: others, for the finalists. penalty: for each departure.
    storage: url of the database, None for none. subject: what else the search must not be mixed up with.
    """

    seed: int = 1
    pipe: Limit = field(default=Limit(4000))
    stack: Limit = field(default=Limit(240))
    seeds: int = SEEDS
    held_out: int = HELD_OUT_SEEDS
    penalty: float = PENALTY
    storage: str | None = None
    subject: str = ""

    @property
    def search_seeds(self) -> tuple[int, ...]:
        """Of links, in the search."""
        first = SEED_SPACE + self.seed * SEEDS_OF_A_SEARCH
        return tuple(range(first, first + self.seeds))

    @property
    def held_out_seeds(self) -> tuple[int, ...]:
        """Of links, for the finalists; none of them was used in the search."""
        first = SEED_SPACE + self.seed * SEEDS_OF_A_SEARCH + SEEDS_OF_A_SEARCH // 2
        return tuple(range(first, first + self.held_out))


@dataclass(frozen=True, slots=True)
class Progress:
    """What a search is at.

    rung: as RungResult names it. tried, trials: candidates of this rung, done and at most; seconds, limit_s: likewise. best: so
    far, None if none has ended.
    """

    rung: str
    tried: int
    trials: int
    seconds: float
    limit_s: float | None
    best: Scored | None


Watch = Callable[[Progress], None]
