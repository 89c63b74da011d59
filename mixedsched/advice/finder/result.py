"""The results of the scheme finder, with their JSON form. Plain values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

FORMAT = "mixedsched.finder/1"


@dataclass(frozen=True, slots=True)
class Standing:
    """A scheme at one place."""

    scheme: str
    cost_ms: float | None  # the objective, as a geometric mean over seeds; None if a load never ended
    regret_pct: float | None  # how much later the paints come than under the best scheme of the place
    ties: bool  # whether it cannot be told apart from the best
    failed: int  # loads that never ended


@dataclass(frozen=True, slots=True)
class PlaceResult:
    """A site on a network."""

    site: str
    network: str
    winner: str | None  # None if no scheme let every load end
    standings: tuple[Standing, ...]
    seeds: int  # with which every scheme was played
    tie_pct: float
    """Schemes up to this regret tie with the winner: 1 % where nothing is random, else what the noise over seeds
    hides."""
    is_sure: bool  # whether the noise is known at all; with one seed of a random network it is not

    def of(self, scheme: str) -> Standing:
        """Raises KeyError."""
        for item in self.standings:
            if item.scheme == scheme:
                return item
        raise KeyError(scheme)

    @property
    def tied(self) -> tuple[str, ...]:
        """Schemes that tie with the winner, which is not among them."""
        return tuple(item.scheme for item in self.standings if item.ties and item.scheme != self.winner)

    def to_dict(self) -> dict[str, Any]:
        return {
            "site": self.site,
            "network": self.network,
            "winner": self.winner,
            "ties": list(self.tied),
            "tie_pct": self.tie_pct,
            "seeds": self.seeds,
            "is_sure": self.is_sure,
            "schemes": [asdict(item) for item in self.standings],
        }


@dataclass(frozen=True, slots=True)
class Regret:
    """One scheme used everywhere."""

    scheme: str
    mean_pct: float | None  # geometric, over the places where every load ended; None if there is no such place
    worst_pct: float | None
    worst_at: tuple[str, str] | None  # site and network of the worst regret
    wins: int  # places where it is best
    ties: int  # places where it is best or cannot be told apart from the best
    finished: int  # places where all its loads ended
    failed_loads: int

    def to_dict(self) -> dict[str, Any]:
        at = {"site": self.worst_at[0], "network": self.worst_at[1]} if self.worst_at is not None else None
        return {**asdict(self), "worst_at": at}


@dataclass(frozen=True, slots=True)
class Choice:
    """The best single scheme by mean or worst regret, and how well that would hold for other sites.

    The last three are None with too few sites to resample.
    """

    scheme: str
    figure_pct: float
    low_pct: float | None
    high_pct: float | None  # 95 % interval of the figure over resampled sites
    share: float | None  # of the resamples in which it is the best of all schemes


@dataclass(frozen=True, slots=True)
class FinderResult:
    """Who wins where, and what each scheme would cost everywhere."""

    sites: tuple[str, ...]
    networks: tuple[str, ...]
    schemes: tuple[str, ...]
    objective: Mapping[str, float]  # weights by metric key
    places: tuple[PlaceResult, ...]
    regrets: tuple[Regret, ...]  # best mean first; schemes that failed somewhere come last
    by_network: Mapping[str, tuple[Regret, ...]]  # the same for each network alone
    best_mean: Choice | None  # the single scheme of least mean regret; None if no scheme finished everywhere
    best_worst: Choice | None  # the single scheme of least worst regret, which may be another one
    left_out: tuple[tuple[str, str], ...]  # places (site, network) about which nothing is known

    def place(self, site: str, network: str) -> PlaceResult | None:
        """None where nothing is known."""
        return next((item for item in self.places if (item.site, item.network) == (site, network)), None)

    def to_dict(self, notes: Sequence[str] = ()) -> dict[str, Any]:
        """For machines. Regrets are in per cent over the best scheme of the place; null where a scheme never finished."""
        return {
            "format": FORMAT,
            "sites": list(self.sites),
            "networks": list(self.networks),
            "schemes": list(self.schemes),
            "objective": dict(self.objective),
            "matrix": [item.to_dict() for item in self.places],
            "regrets": [item.to_dict() for item in self.regrets],
            "regrets_by_network": {
                name: [item.to_dict() for item in regrets] for name, regrets in self.by_network.items()
            },
            "best_mean": asdict(self.best_mean) if self.best_mean is not None else None,
            "best_worst": asdict(self.best_worst) if self.best_worst is not None else None,
            "left_out": [{"site": site, "network": network} for site, network in self.left_out],
            "notes": list(notes),
        }
