"""From loads under all schemes to the regret of each: how much later its paints come than those of the best scheme. Pure.

Marx et al. 2019 asked for an "optimal scheme finder", and found that no scheme wins everywhere.
"""

import math
import random
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from mixedsched.advice.finder.result import Choice, FinderResult, PlaceName, PlaceResult, Regret, Standing
from mixedsched.core import stats
from mixedsched.core.metrics.paint import PaintEstimate

EXACT_TIE = 0.01  # log ratio below which simulation tells nothing apart, even where nothing is random
CONFIDENCE = 0.95

# Paints of one load for each seed, None where the network did not let it end; by (site, network, scheme).
Loads = Mapping[tuple[str, str, str], Sequence[PaintEstimate | None]]


def cost_ms(paints: PaintEstimate, objective: Mapping[str, float]) -> float:
    """The weighted geometric mean of the paints, so that only ratios count. objective: weights by metric key."""
    times_ms, total = paints.to_dict(), sum(objective.values())
    return math.exp(sum(weight / total * math.log(max(times_ms[key], 1e-3)) for key, weight in objective.items()))


def find(
    loads: Loads, objective: Mapping[str, float], random_networks: Collection[str], rng: random.Random
) -> FinderResult:
    """Say who wins where, and what a single scheme everywhere would cost.

    Sites, networks and schemes come in the order in which they are first named. Of a place count the seeds that every scheme
    was played with: the shortest sequence; all must begin with the same seeds. random_networks: those on which loads differ by
    seed. rng: of the bootstrap over sites.
    """
    sites, networks, schemes = (tuple(dict.fromkeys(key[part] for key in loads)) for part in range(3))
    places, left_out = [], []
    for site in sites:
        for network in networks:
            found = _place(site, network, schemes, loads, objective, network in random_networks)
            if found is None:
                left_out.append(PlaceName(site, network))
            else:
                places.append(found)
    regrets = regrets_of(places, schemes)
    return FinderResult(
        sites=sites,
        networks=networks,
        schemes=schemes,
        objective=dict(objective),
        places=tuple(places),
        regrets=regrets,
        by_network={
            name: regrets_of([item for item in places if item.network == name], schemes)
            for name in networks
            if any(item.network == name for item in places)
        },
        best_mean=_choice(places, regrets, rng, worst=False),
        best_worst=_choice(places, regrets, rng, worst=True),
        left_out=tuple(left_out),
    )


def _place(
    site: str, network: str, schemes: Sequence[str], loads: Loads, objective: Mapping[str, float], is_random: bool
) -> PlaceResult | None:
    """None if there is not a single seed that every scheme was played with."""
    played = {scheme: loads.get((site, network, scheme), ()) for scheme in schemes}
    seeds = min(len(results) for results in played.values())
    if not seeds:
        return None
    failed = {scheme: sum(item is None for item in results[:seeds]) for scheme, results in played.items()}
    logs = {
        scheme: np.array([math.log(cost_ms(item, objective)) for item in results[:seeds] if item is not None])
        for scheme, results in played.items()
        if not failed[scheme]
    }
    means = {scheme: float(values.mean()) for scheme, values in logs.items()}
    winner = min(means, key=lambda scheme: means[scheme], default=None)  # of equals the first one named
    margin = _margin(np.array(list(logs.values())), is_random) if logs else 0.0
    best = means[winner] if winner is not None else 0.0
    standings = tuple(
        Standing(
            scheme,
            math.exp(means[scheme]) if scheme in means else None,
            _pct(means[scheme] - best) if scheme in means else None,
            scheme in means and means[scheme] - best <= margin,
            failed[scheme],
        )
        for scheme in schemes
    )
    ties = tuple(item.scheme for item in standings if item.ties and item.scheme != winner)
    return PlaceResult(site, network, winner, ties, _pct(margin), seeds, not is_random or seeds > 1, standings)


def _margin(logs: NDArray[np.float64], is_random: bool) -> float:
    """The log ratio below which two schemes cannot be told apart: half a 95 % interval of a paired difference.

    logs: schemes x seeds. All schemes meet the same network in a seed, so what they share in a seed is not noise: the variance
    is the residual of the two-way layout, pooled over schemes, since a few seeds of two schemes alone would say little.
    """
    schemes, seeds = logs.shape
    if not is_random or seeds < 2 or schemes < 2:
        return EXACT_TIE
    residuals = logs - logs.mean(axis=1, keepdims=True) - logs.mean(axis=0, keepdims=True) + logs.mean()
    freedom = (schemes - 1) * (seeds - 1)
    variance = float((residuals**2).sum()) / freedom
    quantile = float(scipy.special.stdtrit(freedom, (1 + CONFIDENCE) / 2))
    return max(EXACT_TIE, quantile * math.sqrt(2 * variance / seeds))


def regrets_of(places: Sequence[PlaceResult], schemes: Sequence[str]) -> tuple[Regret, ...]:
    """The cost of each scheme if it is used at all these places; best mean first, those that failed somewhere last."""
    regrets = [_regret(scheme, places) for scheme in schemes]
    return tuple(sorted(regrets, key=lambda item: (item.finished < len(places), _or_last(item.mean_pct))))


def _regret(scheme: str, places: Sequence[PlaceResult]) -> Regret:
    at = [(place, place.of(scheme)) for place in places]
    known = [(place, item.regret_pct) for place, item in at if item.regret_pct is not None]
    worst = max(known, key=lambda pair: pair[1], default=None)
    return Regret(
        scheme=scheme,
        mean_pct=_pct(sum(_log(regret) for _, regret in known) / len(known)) if known else None,
        worst_pct=worst[1] if worst is not None else None,
        worst_at=PlaceName(worst[0].site, worst[0].network) if worst is not None else None,
        wins=sum(place.winner == scheme for place in places),
        ties=sum(item.ties for _, item in at),
        finished=len(known),
        failed_loads=sum(item.failed for _, item in at),
    )


def _choice(
    places: Sequence[PlaceResult], regrets: Sequence[Regret], rng: random.Random, *, worst: bool
) -> Choice | None:
    """The scheme of least mean, or worst, regret among those that finished everywhere, with a bootstrap over sites."""
    eligible = [item for item in regrets if item.finished == len(places) and item.finished]
    figures = {item.scheme: item.worst_pct if worst else item.mean_pct for item in eligible}
    known = {scheme: value for scheme, value in figures.items() if value is not None}
    if not known:
        return None
    best = min(known, key=lambda scheme: known[scheme])
    sites = list(dict.fromkeys(place.site for place in places))
    if len(sites) < stats.RESAMPLED_LEAST:
        return Choice(best, known[best], None, None, None)
    by_site = [np.array([_logs_at(place, known) for place in places if place.site == site]) for site in sites]
    drawn = np.array(rng.choices(range(len(sites)), k=stats.RESAMPLES * len(sites))).reshape(stats.RESAMPLES, -1)
    resampled = stats.resampled_regrets(by_site, drawn, worst=worst)
    own = resampled[:, list(known).index(best)]
    low, high = np.quantile(own, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    share = float((own <= resampled.min(axis=1)).mean())
    return Choice(best, known[best], _pct(float(low)), _pct(float(high)), share)


def _logs_at(place: PlaceResult, schemes: Collection[str]) -> list[float]:
    known = [place.of(scheme).regret_pct for scheme in schemes]
    return [_log(pct) for pct in known if pct is not None]  # all are: these schemes finished everywhere


def _log(pct: float) -> float:
    return math.log1p(pct / 100)


def _pct(log_ratio: float) -> float:
    return math.expm1(log_ratio) * 100


def _or_last(value: float | None) -> float:
    return value if value is not None else math.inf
