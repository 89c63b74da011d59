"""The goal of a search: earlier paints, by weights that people name, or a score like Lighthouse's."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

import scipy

from mixedsched.advice.tuner.candidate import Candidate, departures
from mixedsched.advice.tuner.result import Scored
from mixedsched.core.metrics import METRICS, metric_named
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.errors import MixedschedError, UsageError, nearest_hint
from mixedsched.model.page import Page

SCORE = "score"
KEYS = ("fcp_ms", "lcp_ms", "si_ms")  # metrics of simulated loads
GUARDED = ("fcp_ms", "lcp_ms")  # metrics that must not become worse, whatever the weights say
TIE_WEIGHT = 0.01  # of metrics without a weight, which decide among candidates that are equal in the others

# Lighthouse 12 (core/config/default-config.js) gives FCP, SI and LCP 10, 10 and 25 of its 100 points; the rest is TBT and CLS.
SCORE_WEIGHTS: Mapping[str, float] = {"fcp_ms": 10 / 45, "lcp_ms": 25 / 45, "si_ms": 10 / 45}

# Its control points, in ms: at the first a metric scores 0.9, at the second 0.5.
CONTROL_POINTS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "mobile": {"fcp_ms": (1800, 3000), "lcp_ms": (2500, 4000), "si_ms": (3387, 5800)},
    "desktop": {"fcp_ms": (934, 1600), "lcp_ms": (1200, 2400), "si_ms": (1311, 2300)},
}
_LOG_OF_P10 = 1.2815515655446004  # standard deviations from the median to the best tenth


@dataclass(frozen=True, slots=True)
class Objective:
    """The metrics that are to become better."""

    text: str  # as people wrote it
    weights: Mapping[str, float]  # by metric key, together 1
    points: Mapping[str, tuple[float, float]] | None = None  # of the score by metric; None for plain ratios
    is_guarded: bool = True  # whether metrics without a weight count: as ties, and where they become worse

    @property
    def primary(self) -> str:
        """Key of the metric that counts most; LCP among equals."""
        return max(self.weights, key=lambda key: (self.weights[key], key == "lcp_ms"))

    def value(self, paints: PaintEstimate, reference: PaintEstimate) -> float:
        """How much worse than the reference, without guards; below 0 is better.

        With weights: the weighted logarithm of the ratios, so 0.01 is about one per cent. With points: the loss of score, so
        0.01 is one point of Lighthouse's hundred.
        """
        ours, theirs = paints.to_dict(), reference.to_dict()
        value = 0.0
        for key in KEYS:
            weight = self.weights.get(key, 0.0)
            if self.points is not None:
                value += weight * (score(theirs[key], *self.points[key]) - score(ours[key], *self.points[key]))
            else:
                tie_weight = TIE_WEIGHT if self.is_guarded else 0.0
                value += (weight or tie_weight) * log_ratio(ours[key], theirs[key])
        return value

    def guard(self, paints: PaintEstimate, limit: PaintEstimate) -> float:
        """The cost of a later first or largest paint where it has no weight: all of the logarithm of the ratio."""
        if not self.is_guarded:
            return 0.0
        ours, theirs = paints.to_dict(), limit.to_dict()
        return sum(max(0.0, log_ratio(ours[key], theirs[key])) for key in GUARDED if not self.weights.get(key))


def score(value_ms: float, p10_ms: float, median_ms: float) -> float:
    """Lighthouse's score of one metric, 0 to 1: a log-normal distribution through two points."""
    if value_ms <= 0:
        return 1.0
    spread = math.log(median_ms / p10_ms) / _LOG_OF_P10
    return float(scipy.special.ndtr(-math.log(value_ms / median_ms) / spread))


def log_ratio(value_ms: float, other_ms: float) -> float:
    """Logarithm of the ratio; times below a microsecond count as one, which no page load tells apart."""
    return math.log(max(value_ms, 1e-3) / max(other_ms, 1e-3))


def parse_objective(text: str, form_factor: str) -> Objective:
    """Read "lcp", "lcp=0.7,fcp=0.3" or "score". form_factor: mobile or desktop, for the points of the score.

    Weights are scaled to a sum of 1; a metric without one counts 1. Raises UsageError.
    """
    words = [part.strip() for part in text.split(",") if part.strip()]
    if [word.lower() for word in words] == [SCORE]:
        return Objective(SCORE, SCORE_WEIGHTS, CONTROL_POINTS[form_factor])
    if not words:
        raise UsageError("the objective is empty", fix=f"for instance {_known()}, or lcp=0.7,fcp=0.3")
    weights: dict[str, float] = {}
    for word in words:
        name, equals, number = (part.strip() for part in word.partition("="))
        key = _key_of(name)
        if key in weights:
            raise UsageError(f"objective {text}: '{name}' is given twice", fix="give it once")
        weights[key] = _weight(text, name, number) if equals else 1.0
    total = sum(weights.values())
    in_order = {key: weights[key] / total for key in KEYS if key in weights}
    return Objective(",".join(words), MappingProxyType(in_order))


def _key_of(name: str) -> str:
    known = _known()
    if name.lower() == SCORE:
        raise UsageError("'score' combines all paints already", fix="use it alone, or weights of fcp, lcp and si")
    names = [other for metric in METRICS for other in (metric.key, metric.short.lower())]
    if name.lower() not in names:
        raise UsageError(f"there is no metric '{name}'", fix=nearest_hint(name.lower(), (*known.split(", "),)))
    key = metric_named(name).key
    if key not in KEYS:
        raise UsageError(
            f"'{name}' cannot be searched for",
            why="it is not simulated",
            fix=f"choose among {known}; every browser metric is measured and reported all the same",
        )
    return key


def _known() -> str:
    return ", ".join((*(metric_named(key).short.lower() for key in KEYS), SCORE))


def _weight(text: str, name: str, number: str) -> float:
    try:
        weight = float(number)
    except ValueError:
        weight = math.nan
    if not (math.isfinite(weight) and weight > 0):
        raise UsageError(f"objective {text}: the weight of '{name}' is not possible", fix="a number above 0")
    return weight


# Scores


SEQUENTIAL = "sequential"  # the baseline than which nothing may be worse, not in its first paint either

BASELINES: Mapping[str, Candidate] = {
    SEQUENTIAL: Candidate("sequential"),
    "stock": Candidate("stock"),
    "eps": Candidate("eps", published="chromium"),
    "mixed": Candidate("mixed", published="gupta2024"),
}
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
