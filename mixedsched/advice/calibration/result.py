"""The results of a calibration: plain values, under the names that they have in calibration.json."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mixedsched.advice.calibration.agreement import Ranking
from mixedsched.model.browser_model import BrowserModel

FORMAT = "mixedsched.calibration/1"
STAGES = ("manifest", "observed", "fitted", "left_out")
METRIC_NAMES = ("fcp", "lcp")


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well simulation agrees with the browser on one site, in one metric, at one stage."""

    spearman: float | None  # rank correlation over schemes; None where one side knows no order
    spearman_with_ties: float | None  # the same with near values as equal
    error_pct: float  # median of the absolute errors, relative to what was measured


@dataclass(frozen=True, slots=True)
class SiteResult:
    """A site over a network."""

    site: str
    link: str
    loads: int  # that count
    failed: int  # that do not count
    hero: str | None  # path of the image of the largest paint
    source: str  # where the loads are from
    browser: Mapping[str, Ranking]  # by metric
    agreement: Mapping[str, Mapping[str, Agreement]]  # by stage, then metric
    measured_ms: Mapping[str, Mapping[str, float]]  # by metric, then scheme
    simulated_ms: Mapping[str, Mapping[str, Mapping[str, float]]]  # by stage, then metric, then scheme


@dataclass(frozen=True, slots=True)
class Summary:
    """Median rank agreement over the sites that have a ranking in a metric; None without such a site."""

    sites: int
    median: float | None
    low: float | None  # of its 95 % interval, like `high`
    high: float | None
    median_with_ties: float | None
    median_of_all: float | None  # over all sites, also those without an order to agree with


@dataclass(frozen=True, slots=True)
class Variant:
    """Another set of constants of playback that was tried."""

    name: str
    loss: float  # of the fit to all sites; lower is better
    model: BrowserModel


@dataclass(frozen=True, slots=True)
class Calibration:
    """How well simulation ranks schemes, and the browser model with which it ranks them best."""

    model: BrowserModel
    summary: Mapping[str, Mapping[str, Summary]]  # by stage, then metric
    sites: tuple[SiteResult, ...]
    variants: tuple[Variant, ...]
    notes: tuple[str, ...]  # on folders and sites that do not count
    evidence: Mapping[str, Any]  # date, machine, versions and amounts, as stored with the model

    def to_dict(self) -> dict[str, Any]:
        """Contents of calibration.json."""
        known = asdict(self)
        return {"format": FORMAT, "browser_model": known.pop("model"), **known}
