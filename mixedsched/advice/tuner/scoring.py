"""From simulated paints to scores: a judge knows the objective, the baselines and what they came to."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Self

from mixedsched.advice.tuner.candidate import Candidate
from mixedsched.advice.tuner.complexity import departures
from mixedsched.advice.tuner.objective import Objective
from mixedsched.advice.tuner.result import Estimates, Scored
from mixedsched.errors import MixedschedError
from mixedsched.model.page import Page

BASELINES: Mapping[str, Candidate] = MappingProxyType(
    {
        "sequential": Candidate("sequential"),
        "stock": Candidate("stock"),
        "eps": Candidate("eps", published="chromium"),
        "mixed": Candidate("mixed", published="gupta2024"),
    }
)
"""What a tuned result has to beat, by label: what servers do today, and the published table."""


SEQUENTIAL = "sequential"  # the baseline than which nothing may be worse, not in its first paint either

Paints = tuple[tuple[Estimates | None, ...], ...]  # by scene, then seed; None = the load never ended


@dataclass(frozen=True, slots=True)
class Judge:
    """Scores candidates against the best baseline of each scene.

    names: of scenes. references: the best baseline's paints by scene; limits: first and largest paints that must not be
    exceeded by what the objective does not count. Both have one value a seed, in the order of those of candidates.
    """

    objective: Objective
    pages: tuple[Page, ...]
    penalty: float
    names: tuple[str, ...]
    references: tuple[tuple[Estimates, ...], ...] = ()
    limits: tuple[tuple[Estimates, ...], ...] = ()
    labels: tuple[str, ...] = field(default=())

    @classmethod
    def of(
        cls,
        objective: Objective,
        pages: tuple[Page, ...],
        penalty: float,
        names: tuple[str, ...],
        baselines: Mapping[str, Paints],
    ) -> Self:
        """Raises MixedschedError if on some scene no load of any baseline came to an end."""
        references, limits, labels = [], [], []
        for place, name in enumerate(names):
            ended = {label: _complete(paints[place]) for label, paints in baselines.items()}
            good = {label: paints for label, paints in ended.items() if paints is not None}
            if not good:
                raise MixedschedError(
                    f"no load of the page comes to its end over {name}",
                    why="the network loses too much, or is too slow for it",
                    fix="choose a network that loses less, or a faster one",
                )
            best = min(good, key=lambda label: _reference_key(objective, good[label], good))
            references.append(good[best])
            limits.append(_lower(good[best], good.get(SEQUENTIAL, good[best])))
            labels.append(best)
        return cls(objective, pages, penalty, names, tuple(references), tuple(limits), tuple(labels))

    def value(self, paints: Paints) -> float | None:
        """The objective over all scenes and seeds, without the penalty; None if a load never ended."""
        values = []
        for place, of_scene in enumerate(paints):
            complete = _complete(of_scene)
            if complete is None:
                return None
            values.append(self._value_on(place, complete))
        return statistics.fmean(values)

    def _value_on(self, place: int, paints: Sequence[Estimates]) -> float:
        """Each seed is compared with the same seed: it loses the same packets."""
        counted = statistics.fmean(map(self.objective.value, paints, self.references[place]))
        return counted + self.objective.guard(typical(paints), typical(self.limits[place]))

    def floor(self, bounds: Mapping[str, Estimates]) -> float:
        """The least value that any order can come to, given the earliest paints by scene."""
        return statistics.fmean(
            self.objective.value(bounds[name], typical(self.references[place])) for place, name in enumerate(self.names)
        )

    def scored(self, candidate: Candidate, paints: Paints) -> Scored | None:
        """None if a load never ended."""
        value = self.value(paints)
        if value is None:
            return None
        penalty = self.penalty * departures(candidate, self.pages)
        by_network = {
            name: typical([item for item in of_scene if item is not None])
            for name, of_scene in zip(self.names, paints, strict=True)
        }
        return Scored(candidate, value + penalty, penalty, MappingProxyType(by_network))


def typical(paints: Sequence[Estimates]) -> Estimates:
    """Medians over seeds."""
    return Estimates(
        statistics.median(item.fcp_ms for item in paints),
        statistics.median(item.lcp_ms for item in paints),
        statistics.median(item.si_ms for item in paints),
    )


def _complete(paints: Sequence[Estimates | None]) -> tuple[Estimates, ...] | None:
    ended = tuple(item for item in paints if item is not None)
    return ended if len(ended) == len(paints) else None


def _reference_key(
    objective: Objective, paints: tuple[Estimates, ...], all_paints: Mapping[str, tuple[Estimates, ...]]
) -> float:
    """For choosing the best baseline: its objective against any fixed one; without guards, which need a reference."""
    fixed = next(iter(all_paints.values()))
    return statistics.fmean(map(objective.value, paints, fixed))


def _lower(ours: Sequence[Estimates], others: Sequence[Estimates]) -> tuple[Estimates, ...]:
    return tuple(
        Estimates(min(one.fcp_ms, other.fcp_ms), min(one.lcp_ms, other.lcp_ms), min(one.si_ms, other.si_ms))
        for one, other in zip(ours, others, strict=True)
    )


def is_better(score: float, other: float | None) -> bool:
    """Whether a score beats another; any beats none. Differences of rounding are none."""
    return other is None or (score < other and not math.isclose(score, other, abs_tol=1e-12))
