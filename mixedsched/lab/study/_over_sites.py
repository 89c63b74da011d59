"""From the effects of single places to what holds over sites: the site is what one generalises over."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixedsched.core import stats
from mixedsched.core.metrics import Metric
from mixedsched.lab.comparison import Effect, Verdict, finite_or_none
from mixedsched.lab.model import Arm
from mixedsched.lab.study._studied_place import StudiedPlace

Figures = tuple[float | None, float | None, float | None]


@dataclass(frozen=True, slots=True)
class Spread:
    """Changes of many sites in few numbers; None where there are too few of them."""

    median: float | None
    p10: float | None
    p90: float | None
    low: float | None  # 95 % interval of the median over resampled sites
    high: float | None

    @classmethod
    def of(cls, changes: Sequence[float], seed: int) -> Spread:
        if not changes:
            return cls(None, None, None, None, None)
        median, p10, p90 = (float(value) for value in np.quantile(changes, [0.5, 0.1, 0.9]))
        interval = stats.resampled_median(changes, seed)
        return cls(median, p10, p90, interval.low if interval else None, interval.high if interval else None)


@dataclass(frozen=True, slots=True)
class SitesSummary:
    """One scheme against the baseline in one metric on one link, over all sites that have a paired value of it."""

    scheme: str
    baseline: str
    metric: Metric
    link: str
    sites: int
    spread: Spread  # of the sites' changes, in the metric's change unit
    spread_pct: Spread  # the same in per cent of the baseline; sites where that is 0 are left out
    verdicts: Counter[Verdict]  # sites by verdict
    regret_mean: float | None  # over the best of each place, in the metric's change unit; geometric for per cent
    regret_worst: float | None
    is_primary: bool
    is_exact: bool  # nothing is random at any of these places

    @property
    def verdict(self) -> Verdict:
        """By the interval of the median over sites, as at a place; of sites too few for one, the verdict that they share."""
        low, high = self.spread.low, self.spread.high
        if low is None or high is None:
            shared = [verdict for verdict in Verdict if self.sites and self.verdicts[verdict] == self.sites]
            return shared[0] if shared else Verdict.UNDECIDED
        is_within = self.metric.is_within_margin(low, high)
        if (high < 0 or low > 0) and not (self.is_exact and is_within):
            return Verdict.BETTER if high < 0 else Verdict.WORSE
        return Verdict.EQUIVALENT if is_within else Verdict.UNDECIDED

    def to_dict(self) -> dict[str, Any]:
        pct, unit, is_ratio = self.spread_pct, self.spread, self.metric.scale == "ratio"
        figures = {
            "median_pct": pct.median,
            "p10_pct": pct.p10,
            "p90_pct": pct.p90,
            "ci_low_pct": pct.low,
            "ci_high_pct": pct.high,
            "regret_mean_pct": self.regret_mean if is_ratio else None,
            "regret_worst_pct": self.regret_worst if is_ratio else None,
            "median": unit.median,
            "p10": unit.p10,
            "p90": unit.p90,
            "ci_low": unit.low,
            "ci_high": unit.high,
            "regret_mean": self.regret_mean,
            "regret_worst": self.regret_worst,
        }
        return {
            "scheme": self.scheme,
            "baseline": self.baseline,
            "metric": self.metric.key,
            "link": self.link,
            "sites": self.sites,
            **{verdict.value: self.verdicts[verdict] for verdict in Verdict},
            "verdict": self.verdict.value,
            **{name: finite_or_none(value) for name, value in figures.items()},
            "unit": self.metric.change_unit,
            "family": "primary" if self.is_primary else "exploratory",
            "exact": self.is_exact,
        }


@dataclass(frozen=True, slots=True)
class SchemeRegret:
    """What one scheme everywhere costs in one metric against the best scheme of each place; in the metric's change unit."""

    scheme: str
    metric: Metric
    places: int  # where it is known
    mean: float  # geometric for per cent
    worst: float
    worst_site: str
    worst_link: str
    wins: int  # places where it is the best; of equals all are
    share: float | None  # of resampled sets of sites, those in which its mean is the least; None with too few sites

    def to_dict(self) -> dict[str, Any]:
        return {
            "scheme": self.scheme,
            "metric": self.metric.key,
            "places": self.places,
            "mean": self.mean,
            "worst": self.worst,
            "worst_site": self.worst_site,
            "worst_link": self.worst_link,
            "wins": self.wins,
            "share_of_resamples": self.share,
            "unit": self.metric.change_unit,
        }


def summaries_of(
    places: Sequence[StudiedPlace], arms: Sequence[Arm], metrics: Sequence[Metric], seed: int
) -> tuple[SitesSummary, ...]:
    """By link, then metric, then arm. seed: of the resampling."""
    found: list[SitesSummary] = []
    for link in dict.fromkeys(place.link for place in places):
        own = [place for place in places if place.link == link and place.effects]
        by_question: dict[tuple[str, str], list[Effect]] = {}
        for place in own:
            for effect in place.effects:
                if effect.change is not None:
                    by_question.setdefault((effect.metric.key, effect.arm), []).append(effect)
        for metric in metrics:
            costs = _costs(own, arms, metric)
            over_best = stats.regrets(costs) if len(costs) else costs
            for index, arm in enumerate(arms[1:], start=1):
                effects = by_question.get((metric.key, arm.label), [])
                regret = _mean_and_worst(over_best[:, index], metric)
                found.append(_summary(arm, arms[0], metric, link, effects, regret, seed))
    return tuple(found)


def _summary(
    arm: Arm,
    baseline: Arm,
    metric: Metric,
    link: str,
    effects: Sequence[Effect],
    regret: tuple[float | None, float | None],
    seed: int,
) -> SitesSummary:
    changes = [effect.change for effect in effects if effect.change is not None]
    changes_pct = [effect.change_pct for effect in effects if effect.change_pct is not None]
    spread = Spread.of(changes, seed)
    return SitesSummary(
        scheme=arm.scheme,
        baseline=baseline.scheme,
        metric=metric,
        link=link,
        sites=len(effects),
        spread=spread,
        spread_pct=spread if changes_pct == changes else Spread.of(changes_pct, seed),
        verdicts=Counter(effect.verdict for effect in effects),
        regret_mean=regret[0],
        regret_worst=regret[1],
        is_primary=any(effect.family.value == "primary" for effect in effects),
        is_exact=bool(effects) and all(effect.is_exact for effect in effects),
    )


def regrets_of(
    places: Sequence[StudiedPlace], arms: Sequence[Arm], metrics: Sequence[Metric], seed: int
) -> tuple[SchemeRegret, ...]:
    """Over all places, by metric; best mean first. seed: of the resampling."""
    return tuple(regret for metric in metrics for regret in _regrets_in(metric, places, arms, seed))


def _regrets_in(
    metric: Metric, places: Sequence[StudiedPlace], arms: Sequence[Arm], seed: int
) -> Iterable[SchemeRegret]:
    known = [place for place in places if any(effect.metric is metric and effect.blocks for effect in place.effects)]
    costs = _costs(known, arms, metric)
    if not len(costs):
        return ()
    over_best = stats.regrets(costs)
    shares = _shares([place.site for place in known], over_best, seed)
    found = []
    for index, arm in enumerate(arms):
        column = over_best[:, index]
        mean, worst = _mean_and_worst(column, metric)
        if mean is not None and worst is not None:
            at = known[int(np.nanargmax(column))]
            wins, count = int((column <= 0).sum()), int((~np.isnan(column)).sum())
            found.append(
                SchemeRegret(arm.scheme, metric, count, mean, worst, at.site, at.link, wins, shares.get(index))
            )
    return sorted(found, key=lambda item: (item.places < len(known), item.mean))


def _costs(places: Sequence[StudiedPlace], arms: Sequence[Arm], metric: Metric) -> NDArray[np.float64]:
    """Places x arms: the shift of each against the baseline, on the scale that is tested; places without any are left out."""
    position = {arm.label: index for index, arm in enumerate(arms)}
    rows = []
    for place in places:
        row = [0.0] + [math.nan] * (len(arms) - 1)
        for effect in place.effects:
            if effect.metric is metric and effect.change is not None:
                row[position[effect.arm]] = metric.step(effect.change)
        if not all(math.isnan(value) for value in row[1:]):
            rows.append(row)
    return np.array(rows).reshape(-1, len(arms))


def _mean_and_worst(column: NDArray[np.float64], metric: Metric) -> tuple[float | None, float | None]:
    known = column[~np.isnan(column)]
    if not len(known):
        return None, None
    return metric.change(float(known.mean())), metric.change(float(known.max()))


def _shares(sites: Sequence[str], over_best: NDArray[np.float64], seed: int) -> dict[int, float]:
    """By arm: in how many resamples its mean regret is the least; {} with too few sites. Only arms known everywhere compete."""
    names = sorted(set(sites))  # in an order that does not depend on that of the places
    if len(names) < stats.RESAMPLED_LEAST:
        return {}
    everywhere = np.flatnonzero(~np.isnan(over_best).any(axis=0))
    rows = np.array(sites)
    by_site = [over_best[rows == name][:, everywhere] for name in names]
    means = stats.resampled_regrets(by_site, stats.resamples(len(names), seed))
    least = (means <= means.min(axis=1, keepdims=True)).mean(axis=0)
    return dict(zip(everywhere.tolist(), least.tolist(), strict=True))
