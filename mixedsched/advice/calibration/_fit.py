"""Fits the work constants of a browser model to measured paints, also without the site that is looked at. Pure."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from mixedsched.advice.changes.observed import ObservedPage
from mixedsched.core.metrics.paint import PaintEstimate
from mixedsched.lab.play.task import LoadTimes
from mixedsched.model.browser_model import BrowserModel

Values = NDArray[np.float64]

# Constants that are fitted, with the most that each may be: beyond, it stands for something else than work.
BOUNDS: Mapping[str, float] = {
    "document_ms_per_kb": 2.0,
    "style_ms_per_kb": 2.0,
    "script_ms_per_kb": 2.0,
    "decode_ms_per_kb": 1.0,
    "paint_ms": 500.0,
}
SOFT_FROM = 0.1  # log error beyond which errors count less than in full: some paints wait for what no model knows
PRIOR = 0.02  # pull towards the start, over the whole range: what the loads do not tell stays where it was
_SCALE = {"paint_ms": 100.0}  # all constants are searched on a scale on which they are about 1


@dataclass(frozen=True, slots=True)
class Case:
    """A site over a network: medians that were measured, and loads that were played, by scheme."""

    site: str
    page: ObservedPage
    fcp_ms: Mapping[str, float]
    lcp_ms: Mapping[str, float]
    times: Mapping[str, Sequence[LoadTimes]]  # a load for each seed

    @property
    def schemes(self) -> tuple[str, ...]:
        """Schemes that were both measured and played."""
        return tuple(name for name in self.lcp_ms if self.times.get(name))


def paints_of(case: Case, model: BrowserModel) -> dict[str, PaintEstimate]:
    """By scheme, medians over seeds."""
    return {
        name: PaintEstimate.median_of([_paints(case.page, times, model) for times in case.times[name]])
        for name in case.schemes
    }


def _paints(page: ObservedPage, times: LoadTimes, model: BrowserModel) -> PaintEstimate:
    needs = tuple(name for name in page.hero_needs if name in times.complete_ms)
    return page.needs.estimate(times.first_byte_ms, times.complete_ms, model, needs)


def log_errors(case: Case, model: BrowserModel) -> list[float]:
    """Errors of FCP, then LCP, scheme by scheme: positive where the model is too slow."""
    errors = []
    for name, paints in paints_of(case, model).items():
        errors += [math.log(paints.fcp_ms / case.fcp_ms[name]), math.log(paints.lcp_ms / case.lcp_ms[name])]
    return errors


def loss(cases: Sequence[Case], model: BrowserModel) -> float:
    """Mean over sites of the robust squared error; what `fitted` makes small."""
    return statistics.fmean(_site_loss(log_errors(case, model)) for case in cases)


def _site_loss(errors: Sequence[float]) -> float:
    return statistics.fmean(2 * SOFT_FROM**2 * (math.sqrt(1 + (error / SOFT_FROM) ** 2) - 1) for error in errors)


def fitted(cases: Sequence[Case], start: BrowserModel) -> BrowserModel:
    """The model with the work constants that explain the measured paints best. Every site counts the same. Deterministic."""
    names = list(BOUNDS)
    begin = [min(max(float(getattr(start, name)), 0.01 * BOUNDS[name]), 0.99 * BOUNDS[name]) for name in names]
    scales = [_SCALE.get(name, 1.0) for name in names]
    start_at = [value / scale for value, scale in zip(begin, scales, strict=True)]

    def model_of(values: Sequence[float]) -> BrowserModel:
        constants: dict[str, Any] = {name: float(value) for name, value in zip(names, values, strict=True)}
        return replace(start, **constants)

    def residuals(scaled: Values) -> Values:
        model = model_of([value * scale for value, scale in zip(scaled, scales, strict=True)])
        departures = [
            (value - first) * scale * PRIOR / BOUNDS[name]
            for name, value, first, scale in zip(names, scaled, start_at, scales, strict=True)
        ]
        return np.concatenate([*(_weighted(log_errors(case, model)) for case in cases), departures])

    found = scipy.optimize.least_squares(
        residuals,
        start_at,
        bounds=([0.0] * len(names), [BOUNDS[name] / scale for name, scale in zip(names, scales, strict=True)]),
        diff_step=1e-3,
        xtol=1e-4,
        ftol=1e-5,
        max_nfev=40,
    )
    return model_of([round(value * scale, 4) for value, scale in zip(found.x, scales, strict=True)])


def _weighted(errors: Sequence[float]) -> Values:
    """Residuals whose squares add up to the robust loss of the site: large errors count by their size, not its square."""
    values = np.asarray(errors, dtype=np.float64)
    soft = np.sqrt(2 * SOFT_FROM**2 * (np.sqrt(1 + (values / SOFT_FROM) ** 2) - 1))
    return np.asarray(np.sign(values) * soft / math.sqrt(len(values)))


def left_out(cases: Sequence[Case], start: BrowserModel) -> list[BrowserModel]:
    """For each case the model that is fitted to all other sites; `start` itself where there is no other site."""
    models: dict[str, BrowserModel] = {}
    for case in cases:
        if case.site not in models:
            others = [other for other in cases if other.site != case.site]
            models[case.site] = fitted(others, start) if others else start
    return [models[case.site] for case in cases]
