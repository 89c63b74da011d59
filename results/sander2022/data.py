"""The committed loads by collection of pages, and what the paper computes of them: medians relative to Chrome's."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, spearmanr

from mixedsched.lab.comparison import Effect, Verdict
from mixedsched.lab.study.lean import read_together
from mixedsched.lab.study.papers import MedianDifference, paper_figures
from mixedsched.lab.study.results import StudyResult

HERE = Path(__file__).parent
DATA = HERE / "data"
BASELINE = "chrome7"
NAMES = {"packet-rr": "RR", "safari-wrr": "WRR (Safari)", "firefox-tree": "Firefox", "firefox-eps": "Firefox (EPS)"}
PARALLEL = tuple(NAMES)
SI, HOL, LOSS = "si_ms", "hol_bytes", "loss_pct"
BANDWIDTHS = ("bw1", "bw2", "bw5", "bw10")
LOSSES = ("bw2", "loss1", "loss2", "loss5")
LOSS_RATES = (0.0, 1.0, 2.0, 5.0)
ROUND_TRIPS = ("rtt10", "rtt50", "loss2")
BURSTS = ("loss2", "burst5", "burst10", "burst15")
BLOCKS_WANTED, BLOCKS_WANTED_MEASURED = 30, 8
BLOCKS_LEAST = 3  # of a place that counts
BLOCKS_LEAST_MEASURED = 6  # of a place in Chromium that a verdict may rest on
LOADS_LEAST_TESTED = 6  # of either arm: with fewer, no p of Mann and Whitney is below 0.005
FAR_PCT = 1000.0  # changes against almost nothing are cut here, so that means exist

BySite = Mapping[str, float]
Numbers = NDArray[np.float64]


def twin_of(site: str) -> str:
    """The site of a recorded page, without the form of device that asked for it."""
    return re.sub(r"^recorded/(cdp|crux)-(www\.|m\.|mobile\.)?|(-mobile)$", "", site).replace(".m.", ".")


@dataclass(frozen=True, eq=False)
class Pages:
    """All loads of one collection of pages with one sender.

    results: by study, such as "bursts". blocks_least: of a place that counts, where anything is random.
    """

    name: str  # bundled, generated, recorded, chromium
    results: Mapping[str, StudyResult]
    blocks_least: int = BLOCKS_LEAST

    @property
    def is_measured(self) -> bool:
        return self.name == "chromium"

    @property
    def title(self) -> str:
        """Words for headings."""
        return "in Chromium" if self.is_measured else f"{self.name} pages"

    @cached_property
    def _differences(self) -> Mapping[tuple[str, str, str], list[MedianDifference]]:
        found: dict[tuple[str, str, str], list[MedianDifference]] = {}
        for result in self.results.values():
            keys = [key for key in (SI, HOL) if any(metric.key == key for metric in result.metrics)]
            enough = {
                (place.site, place.link) for place in result.places if self._counts(len(place.blocks), place.is_exact)
            }
            for item in paper_figures(result, keys, pairs=()).differences:
                if (item.site, item.link) in enough:
                    found.setdefault((item.key, item.link.removeprefix("sander-"), item.scheme), []).append(item)
        return found

    def _counts(self, blocks: int, is_exact: bool) -> bool:
        return blocks >= (1 if is_exact else self.blocks_least)

    def differences(self, key: str, link: str, scheme: str) -> Sequence[MedianDifference]:
        return self._differences.get((key, link, scheme), [])

    def change(self, key: str, link: str, scheme: str) -> BySite:
        """Per cent, site by site; below zero is less than under Chrome, thus better."""
        return {item.site: max(-FAR_PCT, min(FAR_PCT, item.change_pct)) for item in self.differences(key, link, scheme)}

    def balance(self, link: str, scheme: str, bound_pct: float = 5.0, *, significant: bool = False) -> BySite:
        """Of Speed Index, in points: +100 for a site that is better by more than the bound, -100 for one that is worse."""
        return {
            item.site: 100.0 * ((item.change_pct < -bound_pct) - (item.change_pct > bound_pct))
            if item.is_significant or not significant
            else 0.0
            for item in self.differences(SI, link, scheme)
            if not significant or min(item.loads, item.baseline_loads) >= LOADS_LEAST_TESTED
        }

    def surely(self, link: str, scheme: str) -> tuple[int, int]:
        """Sites whose Speed Index is better, and worse, by the paired test of `compare`, after Holm's correction."""
        effects = [effect for _, effect in self._effects(SI, link, scheme)]
        better, worse = (
            sum(item.verdict is verdict for item in effects) for verdict in (Verdict.BETTER, Verdict.WORSE)
        )
        return better, worse

    def paired(self, key: str, link: str, scheme: str) -> BySite:
        """As `change`, but estimated from pairs of loads within a block (Hodges and Lehmann), not from medians of all loads."""
        changes = {site: effect.change_pct for site, effect in self._effects(key, link, scheme)}
        return {site: max(-FAR_PCT, min(FAR_PCT, value)) for site, value in changes.items() if value is not None}

    def _effects(self, key: str, link: str, scheme: str) -> list[tuple[str, Effect]]:
        return [
            (place.site, effect)
            for result in self.results.values()
            for place in result.places
            if place.link == f"sander-{link}" and self._counts(len(place.blocks), place.is_exact)
            for effect in [place.effect(scheme, key)]
            if effect is not None
        ]

    def share(self, key: str, link: str, scheme: str, low: float, high: float = math.inf) -> BySite:
        """100 for a site whose change lies strictly between, else 0."""
        return {site: 100.0 * (low < value < high) for site, value in self.change(key, link, scheme).items()}

    def values(self, study: str, link: str, arm: str, key: str) -> Mapping[str, Numbers]:
        """Every load of an arm, site by site, in order of blocks."""
        result = self.results.get(study)
        if result is None:
            return {}
        number = next((index for index, item in enumerate(result.arms) if item.label == arm), None)
        places = [place for place in result.places if place.link == f"sander-{link}" and len(place.blocks)]
        return {place.site: place.row(number, key) for place in places if number is not None}

    @cached_property
    def progress(self) -> tuple[int, int]:
        """Complete blocks, and how many are wanted."""
        places = [place for result in self.results.values() for place in result.places]
        most = BLOCKS_WANTED_MEASURED if self.is_measured else BLOCKS_WANTED
        wanted = sum(1 if place.is_exact else most for place in places)
        return sum(len(place.blocks) for place in places), wanted


def mean_of(*parts: BySite) -> BySite:
    """The mean of several values a site, of sites that have all of them."""
    return {site: float(np.mean([part[site] for part in parts])) for site in _common(parts)}


def minus(one: BySite, other: BySite) -> BySite:
    return {site: one[site] - other[site] for site in _common((one, other))}


def trend(ordered: Sequence[BySite]) -> BySite:
    """Kendall's tau-b of a site's values with the order of the networks; 0 where all values are the same."""
    ranks = np.arange(len(ordered))
    found = {}
    for site in _common(ordered):
        tau = float(kendalltau(ranks, [part[site] for part in ordered]).statistic)
        found[site] = 0.0 if math.isnan(tau) else tau
    return found


def correlation(first: Sequence[BySite], second: Sequence[BySite]) -> BySite:
    """Spearman's coefficient over the points of a site; NaN where a value is always the same."""
    found = {}
    for site in _common([*first, *second]):
        one, other = [part[site] for part in first], [part[site] for part in second]
        is_flat = len(set(one)) == 1 or len(set(other)) == 1
        found[site] = math.nan if is_flat else float(spearmanr(one, other).statistic)
    return found


def _common(parts: Iterable[BySite]) -> list[str]:
    listed = list(parts)
    return [site for site in listed[0] if all(site in part for part in listed)] if listed else []


@cache
def read_all() -> Mapping[str, Pages]:
    """By collection of pages. Raises StudyError for files of other versions, or of loads that must not be told together."""
    found: dict[str, dict[str, StudyResult]] = {}
    for name, lean in read_together(sorted(DATA.glob("*.parquet"))).items():
        pages, _, study = name.partition("-")
        found.setdefault(pages, {})[study] = lean.result
    return {name: Pages(name, results) for name, results in found.items()}
