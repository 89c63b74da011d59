"""The results of the scheme finder, with their JSON form. Plain values only."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

FORMAT = "mixedsched.finder/1"
_KEYS = {"places": "matrix", "by_network": "regrets_by_network"}  # that differ from the names of fields


@dataclass(frozen=True, slots=True)
class PlaceName:
    """A site on a network."""

    site: str
    network: str

    def __str__(self) -> str:
        return f"{self.site} over {self.network}"


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
    """How the schemes compare on a site over a network."""

    site: str
    network: str
    winner: str | None  # None if no scheme let every load end
    ties: tuple[str, ...]  # schemes that cannot be told apart from the winner, which is not among them
    tie_pct: float
    """Schemes up to this regret tie with the winner: 1 % where nothing is random, else what the noise over seeds hides."""
    seeds: int  # with which every scheme was played
    is_sure: bool  # whether the noise is known at all; with one seed of a random network it is not
    schemes: tuple[Standing, ...]

    def of(self, scheme: str) -> Standing:
        """Raises KeyError."""
        for item in self.schemes:
            if item.scheme == scheme:
                return item
        raise KeyError(scheme)


@dataclass(frozen=True, slots=True)
class Regret:
    """One scheme used everywhere."""

    scheme: str
    mean_pct: float | None  # geometric, over the places where every load ended; None if there is no such place
    worst_pct: float | None
    worst_at: PlaceName | None  # where its regret is worst
    wins: int  # places where it is best
    ties: int  # places where it is best or cannot be told apart from the best
    finished: int  # places where all its loads ended
    failed_loads: int


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
    left_out: tuple[PlaceName, ...]  # places about which nothing is known

    def place(self, site: str, network: str) -> PlaceResult | None:
        """None where nothing is known."""
        return next((item for item in self.places if (item.site, item.network) == (site, network)), None)

    def to_dict(self, notes: Sequence[str] = ()) -> dict[str, Any]:
        """For machines. Regrets are in per cent over the best scheme of the place; null where a scheme never finished."""
        values = {_KEYS.get(name, name): value for name, value in asdict(self).items()}
        return {"format": FORMAT, **values, "notes": list(notes)}
