"""Rank agreement between measured and simulated schemes, and whether there is a ranking to agree with. Pure.

Sources: Spearman 1904 (rank correlation, ties by midranks); Spearman and Brown 1910 (reliability of a mean of halves).
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SCHEMES_LEAST = 3  # with two, ranks agree or not by chance
RANKING_ALPHA = 0.05  # of the F test that schemes differ at all
TIE_RATIO = 0.005  # values closer than this count as equal where ties are allowed
SPLITS_MOST = 20  # ways to halve the repeats, of which the mean is taken

# Scheme -> values of its loads, each with the name of the block that it was made in.
Repeats = Mapping[str, Sequence[tuple[str, float]]]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order of schemes in one metric, by the browser's own loads."""

    schemes: int
    p: float | None  # of the F test that all schemes are the same; None where the loads are too few for it
    spread_ratio: float  # of the medians: largest by smallest, less 1
    noise_ratio: float | None  # standard deviation of one load, relative
    reliability: float | None
    """Expected rank correlation with the medians of as many other loads; None without two loads of each scheme, or where
    halves do not agree at all."""
    has_ranking: bool  # whether schemes have an order that is more than noise; False where that is not known


def rank_agreement(
    measured: Mapping[str, float], simulated: Mapping[str, float], tie_ratio: float = 0.0
) -> float | None:
    """Spearman's correlation over the schemes that both have; None where one side knows no order, or schemes are too few.

    tie_ratio: values that are no further apart than this share of the smallest of them count as equal, on both sides.
    """
    schemes = [name for name in measured if name in simulated]
    if len(schemes) < SCHEMES_LEAST:
        return None
    first = tied([measured[name] for name in schemes], tie_ratio)
    second = tied([simulated[name] for name in schemes], tie_ratio)
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    from scipy.stats import spearmanr  # here, because scipy.stats takes half a second to load

    return float(spearmanr(first, second).statistic)


def tied(values: Sequence[float], tie_ratio: float) -> list[float]:
    """The values, each group of near ones as its smallest. Groups are taken from below; none is wider than the ratio."""
    lowest, groups = -math.inf, {}
    for value in sorted(values):
        if lowest == -math.inf or value > lowest * (1 + tie_ratio):
            lowest = value
        groups[value] = lowest
    return [groups[value] for value in values]


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of one load, relative to its value."""

    variance: float  # of log values
    freedom: int  # degrees of it, from which the variance was estimated


@dataclass(frozen=True, slots=True)
class _Squares:
    """Sums of squares of log values, with their degrees of freedom."""

    explained: float  # by schemes, beyond what blocks explain
    tested: int  # degrees of freedom of `explained`
    rest: float
    freedom: int  # of `rest`


def pooled_noise(sites: Sequence[Repeats]) -> Noise | None:
    """The noise of a load over all sites with repeats; None where there are none."""
    squares = [_squares(repeats) for repeats in sites]
    freedom = sum(item.freedom for item in squares)
    return Noise(sum(item.rest for item in squares) / freedom, freedom) if freedom else None


def ranking_of(repeats: Repeats, elsewhere: Noise | None = None) -> Ranking:
    """The order that simulation can agree with. Values are positive; those of one block were made one after the other.

    elsewhere: the noise to assume where schemes have no repeats; without it, nothing can be said about them.
    """
    medians = [statistics.median(value for _, value in values) for values in repeats.values()]
    squares = _squares(repeats)
    noise = Noise(squares.rest / squares.freedom, squares.freedom) if squares.freedom else elsewhere
    spread_ratio = max(medians) / min(medians) - 1
    noise_ratio = None if noise is None else math.sqrt(noise.variance)
    p = _p(squares, noise)
    has_ranking = p is not None and p < RANKING_ALPHA
    return Ranking(len(repeats), p, spread_ratio, noise_ratio, _reliability(repeats), has_ranking)


def _p(squares: _Squares, noise: Noise | None) -> float | None:
    """The p value of a one-way F test over schemes."""
    if noise is None or not squares.tested:
        return None
    if noise.variance <= 0:
        return 0.0 if squares.explained > 0 else 1.0
    from scipy.stats import f as f_distribution

    return float(f_distribution.sf(squares.explained / squares.tested / noise.variance, squares.tested, noise.freedom))


def _squares(repeats: Repeats) -> _Squares:
    """By least squares, adjusted for blocks; gaps do no harm."""
    schemes = list(repeats)
    blocks = list(dict.fromkeys(block for values in repeats.values() for block, _ in values))
    rows = [(scheme, block, math.log(value)) for scheme in schemes for block, value in repeats[scheme]]
    logs = np.array([value for *_, value in rows])
    by_block = np.array([[float(block == name) for name in blocks] for _, block, _ in rows])
    by_scheme = np.array([[float(scheme == name) for name in schemes[1:]] for scheme, *_ in rows])
    without, rank_without = _residual(by_block, logs)
    rest, rank = _residual(np.hstack([by_block, by_scheme]), logs)
    return _Squares(max(0.0, without - rest), rank - rank_without, rest, len(logs) - rank)


def _residual(columns: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[float, int]:
    solution, _, rank, _ = np.linalg.lstsq(columns, values, rcond=None)
    left = values - columns @ solution
    return float(left @ left), int(rank)


def _reliability(repeats: Repeats) -> float | None:
    """Rank correlation between the medians of halves of the repeats, over several ways to halve, stepped up to all of them."""
    count = min(len(values) for values in repeats.values())
    if count < 2:
        return None
    found = []
    for half in itertools.islice(_halves(count), SPLITS_MOST):
        first = {name: _median_of(values, half) for name, values in repeats.items()}
        rest = [place for place in range(count) if place not in half][: len(half)]
        second = {name: _median_of(values, rest) for name, values in repeats.items()}
        agreement = rank_agreement(first, second)
        if agreement is not None:
            found.append(agreement)
    mean = statistics.fmean(found) if found else 0.0
    return 2 * mean / (1 + mean) if mean > 0 else None


def _halves(count: int) -> itertools.combinations[tuple[int, ...]]:
    return itertools.combinations(range(count), count // 2)


def _median_of(values: Sequence[tuple[str, float]], places: Sequence[int]) -> float:
    return statistics.median(values[place][1] for place in places)
