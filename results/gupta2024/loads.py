"""The committed loads by where they were made, and how much better `mixed` does than a rival, site by site."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from published import SITES

from mixedsched.core.stats import CONFIDENCE, paired_shift, resamples
from mixedsched.lab.study.lean import read_together
from mixedsched.lab.study.results import StudiedPlace, StudyResult
from mixedsched.report.papers.verdicts import Finding

HERE = Path(__file__).parent
DATA = HERE / "data"
STAND_INS, WORKING, REAL = "gupta2024/", "gupta2024-work/", ""
REAL_SITES = ("agency", "davies-meenan", "paper-kit", "kicad-schematics")
LINKS = {"cdn": "10 ms and 0.05 % loss each way, no rate", "4g": "4g", "slow-4g": "slow-4g"}
MIXED = "mixed"
BLOCKS_LEAST = 6  # of one site: with fewer, no paired test can say anything
# By source, the files that hold it, the one with most blocks first.
STACK, CHROMIUM, MODEL = "stack", "Chromium", "Lighthouse's model"
SOURCES = {
    STACK: ("cells", "stack-work", "stack"),
    CHROMIUM: ("browser", "browser-slow-4g", "browser-4g", "work"),
    MODEL: ("simulate",),
}
NONE = Finding(math.nan, math.nan, math.nan, 0, BLOCKS_LEAST)

BySite = Mapping[str, Finding]


@dataclass(frozen=True, eq=False)
class Loads:
    """All loads of one source."""

    source: str
    studies: Mapping[str, StudyResult]  # by file, the one with most blocks first
    _known: dict[tuple[str, ...], Finding] = field(default_factory=dict)

    @property
    def is_measured(self) -> bool:
        return self.source != STACK

    def improvement(self, site: str, link: str, rival: str, key: str, mixed: str = MIXED) -> Finding:
        """How much better than a rival, in per cent of the rival's median; NONE where it was not played."""
        asked = site, link, rival, key, mixed
        if asked not in self._known:
            self._known[asked] = self._improvement(*asked)
        return self._known[asked]

    def _improvement(self, site: str, link: str, rival: str, key: str, mixed: str) -> Finding:
        mine, others = self._values(site, link, mixed, rival, key)
        if not len(mine):
            return NONE
        gained = others - mine
        median = float(np.median(others))
        if median == 0:  # nothing can be gained, or anything be lost
            return Finding(0.0, 0.0, 0.0, len(mine), BLOCKS_LEAST) if not gained.any() else NONE
        found = paired_shift(gained)
        low, high = (100 * bound / median for bound in (found.interval.low, found.interval.high))
        return Finding(100 * found.shift / median, low, high, len(mine), BLOCKS_LEAST)

    def improvements(
        self, sites: Sequence[str], link: str, rival: str, key: str, mixed: str = MIXED
    ) -> dict[str, float]:
        """The estimates alone, of sites that have one."""
        found = {site: self.improvement(site, link, rival, key, mixed) for site in sites}
        return {site: item.value for site, item in found.items() if item.units}

    def level(self, site: str, link: str, arm: str, key: str) -> Finding:
        """The value itself under an arm, in its own unit: the middle of pairs of loads (Hodges and Lehmann)."""
        values, _ = self._values(site, link, arm, arm, key)
        if not len(values):
            return NONE
        found = paired_shift(values)
        return Finding(found.shift, found.interval.low, found.interval.high, len(values), BLOCKS_LEAST)

    def arms(self, link: str) -> list[str]:
        """All that were played over a link, each once."""
        found = [arm.label for item in self.studies.values() if link in item.links for arm in item.arms]
        return list(dict.fromkeys(found))

    def _values(
        self, site: str, link: str, one: str, other: str, key: str
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of the first file that has both arms: their values by block, where both have one."""
        for result, place in self._places.get((site, link), ()):
            number = {arm.label: index for index, arm in enumerate(result.arms)}
            if one in number and other in number and len(place.blocks):
                both = place.row(number[one], key), place.row(number[other], key)
                known = ~np.isnan(both[0]) & ~np.isnan(both[1])
                if known.any():
                    return both[0][known], both[1][known]
        nothing = np.empty(0)
        return nothing, nothing

    @cached_property
    def _places(self) -> Mapping[tuple[str, str], list[tuple[StudyResult, StudiedPlace]]]:
        found: dict[tuple[str, str], list[tuple[StudyResult, StudiedPlace]]] = {}
        for result in self.studies.values():
            for place in result.places:
                found.setdefault((place.site, place.link), []).append((result, place))
        return found

    def progress(self, links: Sequence[str]) -> tuple[int, int]:
        """Complete blocks over these networks, and how many were wanted."""
        places = [place for result in self.studies.values() for place in result.places if place.link in links]
        return sum(len(place.blocks) for place in places), sum(place.planned for place in places)


def with_size(values: Mapping[str, float]) -> Finding:
    """Kendall's tau-b of a value with the sites' order by number of resources, with an interval from resampled sites."""
    order = np.array([float(SITES.index(site.removeprefix(STAND_INS))) for site in values])
    sample = np.array(list(values.values()))
    if len(sample) < 3:
        return Finding(math.nan, math.nan, math.nan, len(sample))
    drawn = resamples(len(sample), 2024)
    taus = _kendall(order[drawn], sample[drawn])
    low, high = (
        np.nanquantile(taus, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        if np.isfinite(taus).any()
        else (math.nan,) * 2
    )
    return Finding(float(_kendall(order[None], sample[None])[0]), float(low), float(high), len(sample))


def _kendall(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Tau-b of each pair of rows; NaN where all values of a row are the same."""
    one, other = np.triu_indices(first.shape[1], 1)
    signs = [np.sign(rows[:, one] - rows[:, other]) for rows in (first, second)]
    scale = np.sqrt(np.prod([np.abs(sign).sum(axis=1) for sign in signs], axis=0))
    with np.errstate(invalid="ignore"):
        found: NDArray[np.float64] = (signs[0] * signs[1]).sum(axis=1) / scale
    return found


def read_all() -> Mapping[str, Loads]:
    """By source; those without a file have no studies. Raises StudyError for loads that must not be told together."""
    return {
        source: Loads(source, {name: lean.result for name, lean in read_together(map(file_of, names)).items()})
        for source, names in SOURCES.items()
    }


def file_of(study: str) -> Path:
    return DATA / f"{study}.parquet"
