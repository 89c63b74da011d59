"""The figures that papers print, to stand beside ours: medians of unpaired loads, a rank test, counts of sites. Pure.

Sander et al. 2022 (section V) take the relative difference of a site's two medians, test it by Mann-Whitney U with p < 0.005
without correction for many tests, count sites beyond 5 and 25 %, and correlate by Spearman within each site. Gupta & Bartos
2024 give relative differences alone.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixedsched.lab.comparison import finite_or_none
from mixedsched.lab.study._collecting import VALUE_KEYS
from mixedsched.lab.study._studied_place import StudiedPlace
from mixedsched.lab.study.results import StudyResult

PAPERS_LEVEL = 0.005  # of Sander et al. 2022
PAPERS_BOUNDS_PCT = (5.0, 25.0)  # theirs, too
_POINTS_LEAST = 3  # fewer have no correlation worth the name
_PAIRS_OF_KEYS = (("hol_bytes", "loss_pct"),)  # and each primary metric with both

_Samples = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class MedianDifference:
    """One scheme against the baseline at one site over one link: how far apart the medians of their loads are."""

    site: str
    link: str
    scheme: str
    baseline: str
    key: str  # of the value, such as "si_ms"
    loads: int  # of the scheme that have the value
    baseline_loads: int
    median: float
    baseline_median: float
    p: float  # Mann-Whitney U, two-sided, as it is
    level: float

    @property
    def change_pct(self) -> float:
        """The difference in per cent of the baseline's median; infinite where only that is 0."""
        if self.median == self.baseline_median:
            return 0.0
        difference = self.median - self.baseline_median
        return difference / self.baseline_median * 100 if self.baseline_median else math.copysign(math.inf, difference)

    @property
    def is_significant(self) -> bool:
        return self.p < self.level

    def to_dict(self) -> dict[str, Any]:
        return {
            "site": self.site,
            "link": self.link,
            "scheme": self.scheme,
            "baseline": self.baseline,
            "metric": self.key,
            "loads": self.loads,
            "baseline_loads": self.baseline_loads,
            "median": self.median,
            "baseline_median": self.baseline_median,
            "change_pct": finite_or_none(self.change_pct),
            "p": self.p,
            "significant": self.is_significant,
        }


@dataclass(frozen=True, slots=True)
class SitesCurve:
    """One scheme over all sites of a link, in one value: the distribution of its changes, and counts from it."""

    link: str
    scheme: str
    key: str
    differences: tuple[MedianDifference, ...]  # one a site, smallest change first

    @property
    def points(self) -> list[tuple[float, float, bool]]:
        """The CDF over sites: (change in per cent, share of sites up to it, whether it is significant)."""
        count = len(self.differences)
        return [(item.change_pct, (n + 1) / count, item.is_significant) for n, item in enumerate(self.differences)]

    @property
    def median_pct(self) -> float:
        return float(np.median([item.change_pct for item in self.differences]))

    def better(self, bound_pct: float, *, significant: bool = False) -> int:
        """Sites that improve by more than so much; significant: only those whose test says so."""
        return sum(item.change_pct < -bound_pct for item in self.differences if item.is_significant or not significant)

    def worse(self, bound_pct: float, *, significant: bool = False) -> int:
        """The reverse of `better`."""
        return sum(item.change_pct > bound_pct for item in self.differences if item.is_significant or not significant)

    def to_dict(self, bounds_pct: Iterable[float]) -> dict[str, Any]:
        return {
            "link": self.link,
            "scheme": self.scheme,
            "metric": self.key,
            "sites": len(self.differences),
            "median_pct": finite_or_none(self.median_pct),
            "significantly_better": self.better(0.0, significant=True),
            "significantly_worse": self.worse(0.0, significant=True),
            "beyond": [
                {
                    "bound_pct": bound,
                    "better": self.better(bound),
                    "worse": self.worse(bound),
                    "significantly_better": self.better(bound, significant=True),
                    "significantly_worse": self.worse(bound, significant=True),
                }
                for bound in bounds_pct
            ],
        }


@dataclass(frozen=True, slots=True)
class SiteCorrelation:
    """Spearman's coefficient of two values over the loads of one site over one link."""

    site: str
    link: str
    scheme: str | None  # None: the loads of all schemes but the baseline together
    keys: tuple[str, str]
    loads: int
    rho: float | None  # None for fewer than three loads, and where a value is always the same

    def to_dict(self) -> dict[str, Any]:
        return {
            "site": self.site,
            "link": self.link,
            "scheme": self.scheme,
            "metrics": list(self.keys),
            "loads": self.loads,
            "rho": self.rho,
        }


@dataclass(frozen=True)
class PaperFigures:
    """A study as a paper would tell it."""

    level: float
    bounds_pct: tuple[float, ...]
    differences: tuple[MedianDifference, ...]  # by key, link, scheme and site, each in the order of the study
    correlations: tuple[SiteCorrelation, ...]  # by link and site in the order of the study; all schemes together first

    @cached_property
    def curves(self) -> tuple[SitesCurve, ...]:
        """By key, link and scheme."""
        groups: dict[tuple[str, str, str], list[MedianDifference]] = {}
        for item in self.differences:
            groups.setdefault((item.key, item.link, item.scheme), []).append(item)
        return tuple(
            SitesCurve(link, scheme, key, tuple(sorted(items, key=lambda item: item.change_pct)))
            for (key, link, scheme), items in groups.items()
        )

    def curve(self, key: str, link: str, scheme: str) -> SitesCurve | None:
        wanted = (key, link, scheme)
        return next((item for item in self.curves if (item.key, item.link, item.scheme) == wanted), None)

    def to_dict(self) -> dict[str, Any]:
        """Holds no NaN and no infinity: a change against a median of 0 is null."""
        return {
            "test": "Mann-Whitney U, two-sided",
            "level": self.level,
            "sites": [item.to_dict() for item in self.differences],
            "counts": [item.to_dict(self.bounds_pct) for item in self.curves],
            "spearman": [item.to_dict() for item in self.correlations],
        }


def paper_figures(
    result: StudyResult,
    keys: Sequence[str] = (),
    *,
    baseline: str | None = None,
    level: float = PAPERS_LEVEL,
    bounds_pct: Sequence[float] = PAPERS_BOUNDS_PCT,
    pairs: Sequence[tuple[str, str]] | None = None,
    by_scheme: bool = False,
) -> PaperFigures:
    """Tell a study the papers' way, from the same loads as ours: those of complete blocks.

        figures = paper_figures(stored_results(store), ["si_ms", "hol_bytes"])
        figures.curve("si_ms", "sander-loss2", "firefox-tree").better(5.0)  # sites that gain more than 5 %

    Args:
        result: Of `session.stored_results` (a database), `lean.read_lean` (a file), or `session.run_study`.
        keys: Values to tell: of metrics ("lcp_ms", "si_ms", "hol_bytes", ...), "score", "finished_ms", "byte_index_ms",
            "byte_index_atf_ms", "loss_pct"; by default those of the study's primary metrics.
        baseline: An arm; by default that of the study.
        level: Of p, below which a difference is called significant. No correction for many tests, as in the papers.
        bounds_pct: Changes beyond which sites are counted.
        pairs: Keys to correlate over the loads of a site; by default each of `keys`, and HOL bytes, with HOL bytes and the
            loss rate. As ranks do not mind a constant factor, it does not matter whether values or their relative
            differences from the site's baseline are correlated.
        by_scheme: Whether to correlate within each scheme as well; the papers do not say which they did.

    Values that no load has are left out without a word. Raises ValueError for keys and arms that do not exist.
    """
    wanted = tuple(dict.fromkeys(keys)) or tuple(metric.key for metric in result.primary)
    if pairs is None:
        mixed = [(key, other) for key in wanted for other in ("hol_bytes", "loss_pct") if key != other]
        pairs = tuple(dict.fromkeys((*mixed, *_PAIRS_OF_KEYS)))
    unknown = [key for key in (*wanted, *(key for pair in pairs for key in pair)) if key not in VALUE_KEYS]
    if unknown:
        raise ValueError(f"there is no value '{unknown[0]}', only {', '.join(VALUE_KEYS)}")
    labels = [arm.label for arm in result.arms]
    base = labels.index(result.study.baseline if baseline is None else baseline)
    ordered = [place for link in result.links for place in result.places if place.link == link]
    return PaperFigures(
        level,
        tuple(bounds_pct),
        _differences(ordered, labels, base, wanted, level),
        tuple(item for place in ordered for item in _correlations(place, labels, base, pairs, by_scheme)),
    )


def _differences(
    places: Sequence[StudiedPlace], labels: Sequence[str], base: int, keys: Sequence[str], level: float
) -> tuple[MedianDifference, ...]:
    links = tuple(dict.fromkeys(place.link for place in places))
    questions: list[tuple[StudiedPlace, str, int]] = [
        (place, key, arm)
        for key in keys
        for link in links
        for arm in range(len(labels))
        for place in places
        if arm != base and place.link == link
    ]
    asked: list[tuple[StudiedPlace, str, int]] = []
    samples: list[_Samples] = []
    for place, key, arm in questions:
        own, others = _known(place.row(arm, key)), _known(place.row(base, key))
        if len(own) and len(others):
            asked.append((place, key, arm))
            samples.append((own, others))
    return tuple(
        MedianDifference(
            site=place.site,
            link=place.link,
            scheme=labels[arm],
            baseline=labels[base],
            key=key,
            loads=len(own),
            baseline_loads=len(others),
            median=float(np.median(own)),
            baseline_median=float(np.median(others)),
            p=p,
            level=level,
        )
        for (place, key, arm), (own, others), p in zip(asked, samples, _mann_whitney(samples), strict=True)
    )


def _known(row: NDArray[np.float64]) -> NDArray[np.float64]:
    return row[~np.isnan(row)]


def _mann_whitney(samples: Sequence[_Samples]) -> list[float]:
    """Two-sided p values; exact for small samples without ties. Samples alike in kind are tested together, for speed."""
    from scipy.stats import mannwhitneyu  # here, because it takes half a second to load

    groups: dict[tuple[int, int, bool], list[int]] = {}
    for number, (own, others) in enumerate(samples):
        has_ties = len(np.unique(np.concatenate([own, others]))) < len(own) + len(others)
        groups.setdefault((len(own), len(others), has_ties), []).append(number)
    found = [1.0] * len(samples)
    for numbers in groups.values():
        own = np.array([samples[number][0] for number in numbers])
        others = np.array([samples[number][1] for number in numbers])
        for number, p in zip(numbers, mannwhitneyu(own, others, axis=1).pvalue.tolist(), strict=True):
            found[number] = 1.0 if math.isnan(p) else p  # all values are the same
    return found


def _correlations(
    place: StudiedPlace, labels: Sequence[str], base: int, pairs: Sequence[tuple[str, str]], by_scheme: bool
) -> Iterable[SiteCorrelation]:
    others = [arm for arm in range(len(labels)) if arm != base]
    groups: Mapping[str | None, list[int]] = {
        None: others,
        **({labels[arm]: [arm] for arm in others} if by_scheme else {}),
    }
    for scheme, arms in groups.items():
        for keys in pairs:
            first, second = (np.concatenate([place.row(arm, key) for arm in arms]) for key in keys)
            both = ~(np.isnan(first) | np.isnan(second))
            if both.any():
                count = int(both.sum())
                yield SiteCorrelation(place.site, place.link, scheme, keys, count, _rho(first[both], second[both]))


def _rho(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    from scipy.stats import rankdata

    if len(first) < _POINTS_LEAST or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])
