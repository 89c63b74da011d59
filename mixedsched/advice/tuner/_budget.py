"""How the time there is goes to looks, search, race and proof: pure arithmetic on costs of loads.

The proof comes first: without enough blocks nothing can be said. Then a small search, then a small race; what is left beyond
that makes all three larger. Where there is no time for a race, simulation alone chooses what is proved.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mixedsched.core.stats import smallest_deciding_pairs
from mixedsched.lab.costs import START_S, loads_cost_s

SEARCH_SHARE, SEARCH_SHARE_MOST = 0.1, 0.3  # of the budget
SEARCH_LEAST_S, SEARCH_MOST_S = 3.0, 900.0
SEARCH_YIELDS_TO = 0.4  # of its share, to a proof that can decide; where that is not enough, it keeps all of it
SPARE_TO_SEARCH, SPARE_TO_RACE = 0.25, 0.35  # of what nothing needs; the rest is the proof's
LAPS_LEAST, LAPS_MOST = 2, 8
ARMS_FEW, ARMS_FEWEST = 4, 3  # of a race: one candidate or two, and the baselines that simulation thinks best
FINALISTS = 3  # arms of a proof: the winner, the best baseline, sequential (where that is the best: the next one)
SHIPPED = 1  # and what is shipped to other servers
SLACK = 1.15  # loads of the proof often take longer than the look: slower arms, and random losses


@dataclass(frozen=True, slots=True)
class Shares:
    """How the time is divided."""

    search_s: float  # for simulations
    laps: int  # of the race; 0 where there is no time for one
    arms: int  # of the race
    proof_s: float  # what is left for the proof if search and race take all of theirs


def deciding_blocks(networks: int) -> int:
    """With fewer, no proof on any of so many networks is possible, whatever is measured."""
    return smallest_deciding_pairs(networks)


def share_out(left_s: float, costs_s: Mapping[str, float], arms: int, budget_s: float) -> Shares:
    """Divide what the looks leave. costs_s: of one load, by network. arms: that would like to run the race.

    The clock is still watched: a race may be cut short, and a proof be left unfinished.
    """
    lap_s, starts_s = sum(costs_s.values()), START_S * len(costs_s)
    proof_s = deciding_blocks(len(costs_s)) * FINALISTS * lap_s * SLACK + starts_s
    whole_s = deciding_blocks(len(costs_s)) * (FINALISTS + SHIPPED) * lap_s * SLACK + starts_s
    search_s = min(SEARCH_SHARE * budget_s, SEARCH_SHARE_MOST * left_s, SEARCH_MOST_S)
    if left_s - proof_s > SEARCH_YIELDS_TO * search_s:  # a proof that can decide needs little of the search's time
        search_s = min(search_s, left_s - proof_s)
    search_s = max(SEARCH_LEAST_S, search_s)
    left_s -= search_s
    few, fewest = (LAPS_LEAST * min(arms, count) * lap_s + starts_s for count in (ARMS_FEW, ARMS_FEWEST))
    race_s = next((needed for needed in (few, fewest) if left_s >= proof_s + needed), 0.0)
    spare_s = left_s - whole_s - few
    if spare_s > 0:
        more_s = min(SPARE_TO_SEARCH * spare_s, max(0.0, min(SEARCH_SHARE_MOST * budget_s, SEARCH_MOST_S) - search_s))
        search_s, left_s = search_s + more_s, left_s - more_s
        race_s = few + SPARE_TO_RACE * spare_s
    laps, racing = _race((race_s - starts_s) / lap_s, arms) if race_s else (0, 0)
    return Shares(search_s, laps, racing, left_s - (laps * racing * lap_s + starts_s if laps else 0.0))


def _race(loads: float, arms: int) -> tuple[int, int]:
    """Laps and arms for so many loads on every network: first all arms, then more laps."""
    racing = max(min(arms, ARMS_FEWEST), min(arms, int(loads / LAPS_LEAST + 1e-9)))
    return max(LAPS_LEAST, min(LAPS_MOST, int(loads / racing + 1e-9))), racing


def proof_arms(left_s: float, costs_s: Mapping[str, float], least: int, available: int) -> int:
    """How many arms a proof has: as many as can be decided on in the time. least: the winner and the baselines."""
    block_s = deciding_blocks(len(costs_s)) * sum(costs_s.values()) * SLACK
    fitting = int((left_s - START_S * len(costs_s)) / block_s)
    return max(least, min(available, fitting))


def least_budget_s(load_s: Mapping[str, float], overhead_s: float, screening_s: float) -> float:
    """For one look at every network, the least search, and one block of the finalists.

    load_s: estimated time of a load, by network. overhead_s: cost of a load beyond that. screening_s: of the search.
    """
    return loads_cost_s(load_s, 1 + FINALISTS, overhead_s) + max(SEARCH_LEAST_S, screening_s)
