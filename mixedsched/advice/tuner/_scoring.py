"""From simulated paints to scores, against the best baseline."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

from mixedsched.advice.tuner.candidate import Candidate, departures
from mixedsched.advice.tuner.objective import Objective
from mixedsched.advice.tuner.result import Scored
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.errors import MixedschedError
from mixedsched.model.page import Page

SEQUENTIAL = "sequential"  # the baseline than which nothing may be worse, not in its first paint either

BASELINES: Mapping[str, Candidate] = MappingProxyType(
    {
        SEQUENTIAL: Candidate("sequential"),
        "stock": Candidate("stock"),
        "eps": Candidate("eps", published="chromium"),
        "mixed": Candidate("mixed", published="gupta2024"),
    }
)
"""The deliveries that a tuned result has to beat, by label: those of today's servers, and the published table."""

Paints = tuple[tuple[PaintEstimate | None, ...], ...]
"""The loads of one candidate by scene, then seed; None: the load never ended."""


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores candidates against the best baseline of each scene."""

    objective: Objective
    pages: tuple[Page, ...]
    penalty: float  # for each departure
    names: tuple[str, ...]  # of scenes
    references: tuple[tuple[PaintEstimate, ...], ...]  # the best baseline's paints by scene and seed
    limits: tuple[tuple[PaintEstimate, ...], ...]
    """First and largest paints, by scene and seed, that must not be exceeded where the objective does not count them."""

    @classmethod
    def of(
        cls,
        objective: Objective,
        pages: tuple[Page, ...],
        penalty: float,
        names: tuple[str, ...],
        baselines: Mapping[str, Paints],
    ) -> Self:
        """Raises MixedschedError if on some scene no load of any baseline ended."""
        references, limits = [], []
        for place, name in enumerate(names):
            good = {
                label: paints for label, item in baselines.items() if (paints := _complete(item[place])) is not None
            }
            if not good:
                raise MixedschedError(
                    f"no load of the page ever ends over {name}",
                    why="the network loses too much, or is too slow for it",
                    fix="choose a network that loses less, or a faster one",
                )
            # The best by its objective against any fixed baseline, without guards, which need a reference.
            fixed = next(iter(good.values()))
            best = min(good.values(), key=lambda paints: statistics.fmean(map(objective.value, paints, fixed)))
            references.append(best)
            limits.append(tuple(map(PaintEstimate.earliest_of, zip(best, good.get(SEQUENTIAL, best), strict=True))))
        return cls(objective, pages, penalty, names, tuple(references), tuple(limits))

    def value(self, paints: Paints) -> float | None:
        """The objective over all scenes and seeds, without the penalty; None if a load never ended."""
        complete = [_complete(of_scene) for of_scene in paints]
        values = [self._value_on(place, item) for place, item in enumerate(complete) if item is not None]
        return statistics.fmean(values) if len(values) == len(paints) else None

    def _value_on(self, place: int, paints: Sequence[PaintEstimate]) -> float:
        """Each seed is compared with the same seed: it loses the same packets."""
        counted = statistics.fmean(map(self.objective.value, paints, self.references[place]))
        return counted + self.objective.guard(
            PaintEstimate.median_of(paints), PaintEstimate.median_of(self.limits[place])
        )

    def floor(self, bounds: Mapping[str, PaintEstimate]) -> float:
        """The least value that any order can reach, given the earliest paints by scene."""
        return statistics.fmean(
            self.objective.value(bounds[name], PaintEstimate.median_of(reference))
            for name, reference in zip(self.names, self.references, strict=True)
        )

    def scored(self, candidate: Candidate, paints: Paints) -> Scored | None:
        """None if a load never ended."""
        value = self.value(paints)
        if value is None:
            return None
        penalty = self.penalty * departures(candidate, self.pages)
        by_network = {
            name: PaintEstimate.median_of([item for item in of_scene if item is not None])
            for name, of_scene in zip(self.names, paints, strict=True)
        }
        return Scored(candidate, value + penalty, penalty, MappingProxyType(by_network))


def is_better(score: float, other: float | None) -> bool:
    """Whether a score beats another; any beats None. Rounding differences do not count."""
    return other is None or (score < other and not math.isclose(score, other, abs_tol=1e-12))


def _complete(paints: Sequence[PaintEstimate | None]) -> tuple[PaintEstimate, ...] | None:
    ended = tuple(item for item in paints if item is not None)
    return ended if len(ended) == len(paints) else None
