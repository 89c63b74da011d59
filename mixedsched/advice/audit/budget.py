"""How much can be measured in the time there is: pure arithmetic on costs of runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mixedsched.core.stats import smallest_deciding_pairs
from mixedsched.lab.costs import BLOCKS_MOST, START_S, fitting_blocks

SPARE_BLOCKS = 1  # beyond what can decide at all: with the very least, every block must agree


@dataclass(frozen=True, slots=True)
class Measuring:
    """The size of the proof."""

    contenders: int  # beside today's delivery
    blocks: int  # of each network


def blocks_wanted(contenders: int, networks: int) -> int:
    """With fewer, no contender can be found better or worse, whatever is measured."""
    return smallest_deciding_pairs(contenders * networks)


def block_cost_s(costs_s: Mapping[str, float], contenders: int) -> float:
    """Cost of a block on every network. costs_s: of one run, by network."""
    return (contenders + 1) * sum(costs_s.values())


def plan_measuring(left_s: float, costs_s: Mapping[str, float], available: int, begun: int = 0) -> Measuring:
    """Plan for as many contenders as can be decided on, at least one if there is any, then for as many blocks as fit.

    left_s: time left. available: contenders worth measuring, best first. begun: how many of them an earlier start has
    measured, which stay: with others it would be another experiment. At least one block is planned.
    """
    if begun:
        return Measuring(begun, fitting_blocks(left_s, costs_s, begun + 1))
    contenders = min(available, 1)
    for more in range(2, available + 1):
        wanted_s = (blocks_wanted(more, len(costs_s)) + SPARE_BLOCKS) * block_cost_s(costs_s, more)
        if wanted_s > left_s - START_S * len(costs_s):
            break
        contenders = more
    return Measuring(contenders, fitting_blocks(left_s, costs_s, contenders + 1))


def more_blocks(left_s: float, costs_s: Sequence[float], arms: int, planned: int) -> int:
    """How many blocks more fit into the time, after those that were planned. costs_s: of the runs made so far."""
    if not costs_s:
        return 0
    fitting = (left_s - START_S) // (arms * sum(costs_s) / len(costs_s))
    return max(0, min(int(fitting), BLOCKS_MOST - planned))
