"""What one choice everywhere costs against the best choice of each place, and how that would be with other sites."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Costs = NDArray[np.float64]


def regrets(costs: Costs) -> Costs:
    """How much each choice costs above the best of its place.

    costs: places x choices, on a scale whose differences count, such as logarithms of times; NaN where a choice is not known.
    At every place at least one must be.
    """
    over_best: Costs = costs - np.nanmin(costs, axis=1, keepdims=True)
    return over_best


def resampled_regrets(by_site: Sequence[Costs], drawn: NDArray[np.integer[Any]], *, worst: bool = False) -> Costs:
    """Resamples x choices: the mean (or worst) regret of each, over sites drawn with replacement with all their places.

    by_site: the regrets of each site, places x choices, all of them known. drawn: resamples x sites, as indices of sites.
    """
    folded = np.array([item.max(axis=0) if worst else item.sum(axis=0) for item in by_site])
    counts = np.array([len(item) for item in by_site])
    if worst:
        return np.array(folded[drawn].max(axis=1))
    return np.array(folded[drawn].sum(axis=1) / counts[drawn].sum(axis=1, keepdims=True))
