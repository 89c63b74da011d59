"""Networks a little different from what they are, so that a search does not learn one of them by heart. Pure.

Until the first loss, every load of rung stack is the same to the microsecond, and some orders are good by a coincidence only:
they stop the document just behind the tag of the hero. A browser is never so exact, and with bytes a little earlier or later
nothing of the gain is left. So where a browser has the last word, each seed is a slightly different network.
"""

from __future__ import annotations

import math
from dataclasses import replace

from mixedsched.model.profile import Direction, Profile

RATE_SPREAD, DELAY_SPREAD = 0.08, 0.15  # of logarithms: as far as a network differs from itself at most
RATE_STEP, DELAY_STEP = (
    0.7548776662466927,
    0.5698402909980532,
)  # Roberts 2018: their multiples cover the unit square evenly


def varied(network: Profile, seed: int) -> Profile:
    """The network with another rate and delay. Two seeds that follow each other, the first even, differ from it by the same in
    opposite directions, so that means over an even number of seeds are those of the network itself. A trace stays as it is.
    """
    pair, is_second = divmod(seed, 2)
    sign = -1 if is_second else 1
    rate = math.exp(sign * RATE_SPREAD * _even(pair, RATE_STEP))
    delay = math.exp(sign * DELAY_SPREAD * _even(pair, DELAY_STEP))
    return replace(network, down=_varied(network.down, rate, delay), up=_varied(network.up, rate, delay))


def _even(number: int, step: float) -> float:
    """From -1 to 1: whatever numbers follow each other, they are spread evenly."""
    return 2 * (number * step % 1.0) - 1


def _varied(direction: Direction, rate: float, delay: float) -> Direction:
    rate_bps = None if direction.rate_bps is None else max(1, round(direction.rate_bps * rate))
    return replace(direction, rate_bps=rate_bps, delay_us=round(direction.delay_us * delay))
