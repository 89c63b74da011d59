"""A paired race: arms that are clearly slower than the leader leave early, so that time goes to those that may win. Pure.

For selection alone: who wins is measured again, over other seeds, before anything is claimed.

After each lap from the second on, every arm that is left is compared with the leader: paired differences of what was measured,
a one-sided t test, and the scatter pooled over all arms and laps (the residuals of arms x laps, both taken as additive). p is
multiplied by all comparisons that the race may make: every other arm, at every look that was planned. So the truly best
arm is dropped in fewer than 5 % of races, whatever the leader is at the time: to lose it, one of these tests must err.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import stdtr

from mixedsched.advice.tuner.result import Dropped

ALPHA = 0.05  # chance that the best arm is ever dropped
FIRST_LOOK = 2  # laps; one lap says nothing of the scatter


Lap = Mapping[str, float]
"""One block on every network: for each arm still in the race, the logarithm of its times; lower is better."""


def planned_looks(laps: int) -> int:
    """How often a race of so many laps may drop an arm. None is dropped after the last: that saves nothing."""
    return max(0, laps - FIRST_LOOK)


def outrun(laps: Sequence[Lap], arms: int, looks: int) -> tuple[Dropped, ...]:
    """The arms that are to leave after these laps, slowest first. arms: at the start. looks: planned for the whole race.

    The leader (of equals the first by name) never leaves, so at least one arm stays.
    """
    scatter, degrees = _scatter(laps)
    if len(laps) < FIRST_LOOK or degrees < 1 or not looks:
        return ()
    means = {label: sum(lap[label] for lap in laps) / len(laps) for label in laps[-1]}
    leader = min(means, key=lambda label: (means[label], label))
    comparisons = (arms - 1) * looks
    dropped = []
    for label, mean in means.items():
        behind = mean - means[leader]
        p = min(1.0, comparisons * _p(behind, scatter, degrees, len(laps)))
        if label != leader and p < ALPHA:
            dropped.append(Dropped(label, len(laps), leader, math.expm1(behind) * 100, p))
    return tuple(sorted(dropped, key=lambda item: (-item.change_pct, item.label)))


def best_of(laps: Sequence[Lap], labels: Sequence[str]) -> str | None:
    """Of these arms the one that stayed longest, among several the fastest; None if none ran a lap."""
    runs = {label: [lap[label] for lap in laps if label in lap] for label in labels}
    ran = [label for label in labels if runs[label]]
    return min(ran, key=lambda label: (-len(runs[label]), sum(runs[label]) / len(runs[label]), label), default=None)


def _p(behind: float, scatter: float, degrees: int, laps: int) -> float:
    """One-sided p of a difference of two means over so many laps."""
    if behind <= 0:
        return 1.0
    error = scatter * math.sqrt(2 / laps)
    return float(stdtr(degrees, -behind / error)) if error > 0 else 0.0


def _scatter(laps: Sequence[Lap]) -> tuple[float, int]:
    """Standard deviation of one value beside arm and lap, and its degrees of freedom. Arms that left count with the laps that
    they ran."""
    labels = list(dict.fromkeys(label for lap in laps for label in lap))
    cells = [(labels.index(label), place, value) for place, lap in enumerate(laps) for label, value in lap.items()]
    degrees = len(cells) - (len(labels) + len(laps) - 1)
    if degrees < 1:
        return 0.0, 0
    design = np.zeros((len(cells), len(labels) + len(laps)))
    for row, (arm, lap, _) in enumerate(cells):
        design[row, arm] = design[row, len(labels) + lap] = 1.0
    values = np.array([value for *_, value in cells])
    fitted = design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return math.sqrt(float(np.square(values - fitted).sum()) / degrees), degrees
