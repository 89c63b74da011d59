"""What a calibration says, with its JSON form. Plain values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mixedsched.advice.calibration.agreement import Ranking
from mixedsched.core.stats import Interval
from mixedsched.lab.comparison import finite_or_none
from mixedsched.model.browser_model import BrowserModel

STAGES = ("manifest", "observed", "fitted", "left_out")
METRIC_NAMES = ("fcp", "lcp")


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of one site in one metric at one stage. exact: Spearman's correlation; with_ties: where near values count as equal;
    None where one side knows no order. error_pct: median of the absolute error, relative to what was measured."""

    exact: float | None
    with_ties: float | None
    error_pct: float

    def facts(self) -> dict[str, Any]:
        return {
            "spearman": self.exact,
            "spearman_with_ties": self.with_ties,
            "error_pct": finite_or_none(self.error_pct),
        }


@dataclass(frozen=True, slots=True)
class SiteResult:
    """A site over a network. ranking: by metric. agreement: by stage, then metric. measured_ms, simulated_ms: by metric, then
    scheme, the latter by stage first. loads: that count; failed: that do not. hero: path of the image of the largest paint."""

    site: str
    link: str
    loads: int
    failed: int
    ranking: Mapping[str, Ranking]
    agreement: Mapping[str, Mapping[str, Agreement]]
    measured_ms: Mapping[str, Mapping[str, float]]
    simulated_ms: Mapping[str, Mapping[str, Mapping[str, float]]]
    hero: str | None
    source: str

    def facts(self) -> dict[str, Any]:
        return {
            "site": self.site,
            "link": self.link,
            "loads": self.loads,
            "failed": self.failed,
            "hero": self.hero,
            "source": self.source,
            "browser": {
                name: {**asdict(ranking), "has_ranking": ranking.exists} for name, ranking in self.ranking.items()
            },
            "agreement": {
                stage: {name: item.facts() for name, item in by_metric.items()}
                for stage, by_metric in self.agreement.items()
            },
            "measured_ms": {name: dict(values) for name, values in self.measured_ms.items()},
            "simulated_ms": {
                stage: {name: dict(values) for name, values in by_metric.items()}
                for stage, by_metric in self.simulated_ms.items()
            },
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """Median rank agreement over the sites with a ranking in a metric; None without such a site.

    median_of_all: over all sites, those included in which the browser has no order to agree with.
    """

    sites: int
    median: float | None
    interval: Interval | None
    median_with_ties: float | None
    median_of_all: float | None

    def facts(self) -> dict[str, Any]:
        return {
            "sites": self.sites,
            "median": self.median,
            "low": None if self.interval is None else self.interval.low,
            "high": None if self.interval is None else self.interval.high,
            "median_with_ties": self.median_with_ties,
            "median_of_all": self.median_of_all,
        }


@dataclass(frozen=True, slots=True)
class Variant:
    """Another set of constants of playback that was tried. loss: of the fit to all sites; lower is better."""

    name: str
    loss: float
    model: BrowserModel


@dataclass(frozen=True, slots=True)
class Calibration:
    """All of it. summary: by stage, then metric. left_out: notes about folders and sites that do not count. evidence: date,
    machine, versions and amounts, as stored with the model."""

    model: BrowserModel
    sites: tuple[SiteResult, ...]
    summary: Mapping[str, Mapping[str, Summary]]
    variants: tuple[Variant, ...]
    notes: tuple[str, ...]
    evidence: Mapping[str, Any]

    def facts(self) -> dict[str, Any]:
        """Contents of calibration.json."""
        return {
            "format": "mixedsched.calibration/1",
            "browser_model": asdict(self.model),
            "summary": {
                stage: {name: item.facts() for name, item in by_metric.items()}
                for stage, by_metric in self.summary.items()
            },
            "sites": [site.facts() for site in self.sites],
            "variants": [{"name": item.name, "loss": item.loss, "model": asdict(item.model)} for item in self.variants],
            "notes": list(self.notes),
            "evidence": dict(self.evidence),
        }
