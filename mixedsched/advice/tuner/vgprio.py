"""The search of VGPrio, as a rival of ours: a few knobs for images and late scripts, Speed Index alone, and no guard.

Source: C. Sander, I. Kunze, D. Veltri, K. Wehrle, "VGPrio: Visually Guided HTTP/3 Prioritization", IFIP Networking 2025, and
its public code. Images are clustered by size and by whether they are on the first screen. Each cluster has an urgency and an
incremental flag, and so have all async and defer scripts together; everything else shares one flag. Style sheets and blocking
scripts are most urgent, the rest is in the middle. A Gaussian process proposes one setting after the other, each is loaded ten
times, and the one with the least median is used, whatever a later measurement says.

The loads are those of rung `stack` here. A page description knows no pixels: the edge of a square picture with one bit per
pixel stands for width and height.
"""

import glob
import math
import statistics
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution

from mixedsched.advice.tuner._search import SearchResult
from mixedsched.advice.tuner._stack import HELD_OUT, STACK
from mixedsched.advice.tuner.candidate import PLAIN, SIGNALLED, Candidate, cell_of
from mixedsched.advice.tuner.objective import Objective, Paints
from mixedsched.advice.tuner.result import RungResult, Scored
from mixedsched.advice.tuner.trials import SearchState, StoredTrial, Trials, paints_from_json, paints_to_json
from mixedsched.errors import MissingPartError
from mixedsched.lab.play.scenario import seeds_for
from mixedsched.model.mapping import Cell, Override
from mixedsched.model.page import Page, Resource
from mixedsched.model.priority import Priority
from mixedsched.model.request import ChromiumPriority, Flag, Kind

OBJECTIVE = Objective("si", MappingProxyType({"si_ms": 1.0}), is_guarded=False)
ITERATIONS = 51  # the first is drawn, fifty follow from those before
LOADS = 10  # of each
NOISE_LOADS = 30  # of the order that the browser signals, for the scatter that the Gaussian process expects
WHOLE_COST_LOADS = ITERATIONS * LOADS + NOISE_LOADS  # what all of it takes in a browser

CLUSTERS = 3
FOLD_WEIGHT = 10_000.0  # pixels that the first screen counts, beside width and height
FIRST, MIDDLE, LAST = 1, 3, 5  # urgencies
LEAST_SCATTER = 1e-6  # the optimiser's own assumption, where loads do not differ

_LATE = "late scripts"
_OTHERS = "others"
_NOISE = "noise of vgprio"


# What can be set


@dataclass(frozen=True, slots=True)
class Knobs:
    """The settings that there are for a page."""

    page: Page
    clusters: tuple[tuple[str, ...], ...]  # paths of its images

    @classmethod
    def of(cls, page: Page) -> Self:
        return cls(page, clusters_of(page))

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """By name of each setting. Urgencies are rounded, so that each of the five has the same room; flags, too."""
        found: dict[str, tuple[float, float]] = {}
        for name in (*self._names, _LATE):
            found[name] = (FIRST - 0.49, LAST + 0.49)
            found[f"{name} i"] = (0.0, 1.0)
        found[f"{_OTHERS} i"] = (0.0, 1.0)
        return found

    @property
    def _names(self) -> list[str]:
        return [f"images {number}" for number in range(1, len(self.clusters) + 1)]

    def candidate(self, values: Mapping[str, float]) -> Candidate:
        """The delivery that these settings mean."""
        shares = _flag(values, _OTHERS)
        late = Priority(round(values[_LATE]), _flag(values, _LATE))
        first = Priority(FIRST, shares)
        cells = {cell: _usual(cell, first, late, shares) for cell in SIGNALLED}
        overrides = [
            Override(glob.escape(path), Priority(round(values[name]), _flag(values, name)), f"{name} of VGPrio")
            for name, paths in zip(self._names, self.clusters, strict=True)
            for path in paths
        ]
        scripts = (
            (item, late if _is_late(item) else first) for item in self.page.resources if item.kind is Kind.SCRIPT
        )
        overrides += [
            Override(glob.escape(item.path), wanted, "not as its priority in Chromium suggests")
            for item, wanted in scripts
            if wanted != cells[cell_of(item)]
        ]
        changed = tuple((cell, value) for cell, value in cells.items() if value != SIGNALLED[cell])
        return Candidate(PLAIN, changed, tuple(overrides))


def clusters_of(page: Page) -> tuple[tuple[str, ...], ...]:
    """Paths of the page's images in at most three clusters, in the order of their first ones."""
    images = [item for item in page.resources if item.kind is Kind.IMAGE]
    places = [_place_of(item) for item in images]
    count = min(CLUSTERS, len(set(places)))
    if count < 2:
        return (tuple(item.path for item in images),) if images else ()
    from sklearn.cluster import KMeans  # here, because it takes a second to load, and is not always there

    labels = KMeans(count, n_init=10, random_state=0).fit(np.array(places)).labels_
    return tuple(
        tuple(item.path for item, label in zip(images, labels, strict=True) if label == cluster)
        for cluster in dict.fromkeys(labels)
    )


def _place_of(item: Resource) -> tuple[float, float, float]:
    """Width, height, and the first screen."""
    edge_px = math.sqrt(8 * item.body_bytes)
    is_seen = bool(item.flags & {Flag.HERO, Flag.ABOVE_FOLD})
    return edge_px, edge_px, FOLD_WEIGHT * is_seen


def _is_late(item: Resource) -> bool:
    return bool(item.flags & {Flag.ASYNC, Flag.DEFER})


def _usual(cell: Cell, first: Priority, late: Priority, shares: bool) -> Priority:
    """The priority of requests that no override names."""
    priority, kind = cell
    match kind:
        case Kind.STYLESHEET:
            return first
        case Kind.SCRIPT:
            return late if priority is ChromiumPriority.LOW else first
        case Kind.IMAGE:
            return Priority(MIDDLE)
        case _:
            return Priority(MIDDLE, shares)


def _flag(values: Mapping[str, float], name: str) -> bool:
    return round(values[f"{name} i"]) == 1


# Bayesian optimisation


Tried = Sequence[tuple[Mapping[str, float], float]]
"""Settings that were loaded, and their Speed Index in ms."""


def refuse_without_optimiser() -> None:
    """Raises MissingPartError where the optimiser is not installed."""
    try:
        import bayes_opt  # noqa: F401 - what matters is whether it is there
    except ImportError as error:
        raise MissingPartError(
            "the search of VGPrio needs the Python package bayesian-optimization",
            fix="install mixedsched[vgprio], or leave --space out",
        ) from error


def propose(bounds: Mapping[str, tuple[float, float]], tried: Tried, scatter: float, seed: int) -> dict[str, float]:
    """The next setting by the optimiser and with the options of VGPrio: an upper confidence bound of a Gaussian process.

    scatter: of a measured Speed Index, as the square of its ratio to it. The same arguments give the same setting.
    """
    from bayes_opt import BayesianOptimization

    optimiser = BayesianOptimization(
        None, pbounds=dict(bounds), random_state=seed, verbose=0, allow_duplicate_points=True
    )
    optimiser.set_gp_params(alpha=scatter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on a few points, fits of length scales often end at a limit
        for values, index_ms in tried:
            optimiser.register(dict(values), -index_ms)
        return {name: float(value) for name, value in optimiser.suggest().items()}


def scatter_of(indexes_ms: Sequence[float]) -> float:
    """The scatter that `propose` takes, of loads that should be equal."""
    if len(indexes_ms) < 2:
        return LEAST_SCATTER
    return max(LEAST_SCATTER, (statistics.pstdev(indexes_ms) / statistics.median(indexes_ms)) ** 2)


# The search


def training_seeds(seed: int, iteration: int, loads: int = LOADS) -> tuple[int, ...]:
    """Link seeds of one iteration: every one meets new losses, and none is used in any other search."""
    first = seeds_for(seed)[0] * 1000 + iteration * max(LOADS, NOISE_LOADS)
    return tuple(range(first, first + loads))


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned, before it was measured again."""

    candidate: Candidate
    index_ms: float  # median of its loads
    history: tuple[tuple[int, float], ...]  # (iterations, least Speed Index so far in ms)
    iterations: int
    loads: int  # played for it
    seconds: float


def learn(trials: Trials, knobs: Knobs) -> Learned | None:
    """The best setting by its own loads; None if none of all loads ended. Stored iterations are not played again."""
    began_s, bounds = trials.clock_s(), knobs.bounds
    distributions: dict[str, BaseDistribution] = {name: FloatDistribution(*ends) for name, ends in bounds.items()}
    scatter = scatter_of(_ended_ms(_noise(trials)))
    stored = {trial.batch: trial for trial in trials.memory.trials()}
    tried: list[tuple[Mapping[str, float], float]] = []
    history: list[tuple[int, float]] = []
    best: tuple[float, Candidate] | None = None
    limit, number, loads = trials.options.stack, 0, trials.loads(STACK, range(NOISE_LOADS))
    while number < limit.trials and (number in stored or not number or _has_time(trials, began_s)):
        if number not in stored:
            values = propose(bounds, tried, scatter, trials.options.seed * 1000 + number)
            candidate = knobs.candidate(values)
            paints = trials.play([candidate], STACK, training_seeds(trials.options.seed, number))[0]
            stored[number] = StoredTrial(values, number, 1, candidate.code, paints)
            trials.memory.add([stored[number]], [_median_ms(paints)], distributions)
        index_ms = _median_ms(stored[number].paints)
        loads += trials.loads(STACK, range(LOADS))
        if index_ms is not None:
            tried.append((stored[number].params, index_ms))
            if best is None or index_ms < best[0]:
                best = index_ms, knobs.candidate(stored[number].params)
                history.append((number + 1, index_ms))
        number += 1
        trials.watch(SearchState(STACK, number, limit.trials, trials.clock_s() - began_s, limit.seconds, None))
    if best is None:
        return None
    return Learned(best[1], best[0], tuple(history), number, loads, trials.clock_s() - began_s)


def _has_time(trials: Trials, began_s: float) -> bool:
    limit_s = trials.options.stack.seconds
    return limit_s is None or trials.clock_s() - began_s < limit_s


def _noise(trials: Trials) -> Paints:
    """Loads of the order that the browser signals."""
    kept = trials.memory.note(_NOISE)
    if kept is None:
        seeds = training_seeds(trials.options.seed, ITERATIONS, NOISE_LOADS)
        kept = paints_to_json(trials.play([trials.baselines[PLAIN]], STACK, seeds)[0])
        trials.memory.keep(_NOISE, kept)
    return paints_from_json(kept)


def _ended_ms(paints: Paints) -> list[float]:
    """Speed Indexes of the loads that ended."""
    return [item.si_ms for of_scene in paints for item in of_scene if item is not None]


def _median_ms(paints: Paints) -> float | None:
    ended = _ended_ms(paints)
    return statistics.median(ended) if ended else None


def run_vgprio(trials: Trials) -> SearchResult:
    """Learn, or go on learning, for the one network that there is; then the result and the baselines over new seeds.

    Raises MissingPartError without the optimiser, MixedschedError if on that network no load ends.
    """
    refuse_without_optimiser()
    learned = learn(trials, Knobs.of(trials.scenes[0].page))
    began_s, seeds = trials.clock_s(), trials.options.held_out_seeds
    candidates = [*trials.baselines.values(), *([learned.candidate] if learned is not None else ())]
    paints = trials.play(candidates, STACK, seeds)
    scorer = trials.score_baselines(paints[: len(trials.baselines)])
    rungs, best = [], list[Scored]()
    if learned is not None:
        scored = scorer.scored(learned.candidate, paints[-1])
        best += [scored] if scored is not None else []
        reference_ms = min(item.by_network[trials.scenes[0].name].si_ms for item in trials.scored_baselines.values())
        history = tuple((tried, math.log(index_ms / reference_ms)) for tried, index_ms in learned.history)
        rungs = [
            RungResult(STACK, learned.iterations, learned.loads, learned.seconds, scored, history),
            RungResult(
                HELD_OUT, 1, len(candidates) * trials.loads(STACK, seeds), trials.clock_s() - began_s, scored
            ),
        ]  # fmt: skip
    baselines = dict(trials.scored_baselines)
    first = min(baselines, key=lambda label: baselines[label].value)
    return SearchResult(tuple(rungs), tuple(best), MappingProxyType(baselines), first)
