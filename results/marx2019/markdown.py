"""Figures and tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mixedsched.report.papers import markdown

RESAMPLES = 10_000
SEED = 2019


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table and the empty line behind it, line by line; the first column is text, the others are numbers."""
    yield from markdown.table(heads, rows).splitlines()


def mean_with_interval(values: NDArray[np.float64]) -> str:
    """The mean over pages and its 95 % bootstrap interval over pages (percentiles, seeded): "1.78 (1.60-1.97)"."""
    rng = np.random.default_rng(SEED)
    means = values[rng.integers(len(values), size=(RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return f"{values.mean():.2f} ({low:.2f}-{high:.2f})"


def mean(values: NDArray[np.float64]) -> str:
    return f"{values.mean():.2f}"


def factor(ratio: float) -> str:
    """As the study writes it: "x1.50", and "/1.50" for slower than rr by that factor."""
    return f"x{ratio:.2f}" if ratio >= 1 else f"/{1 / ratio:.2f}"


def seconds(ms: float) -> str:
    return f"{ms / 1000:.2f}"
