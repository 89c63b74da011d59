"""How statements are made of improvements: by Chromium where it has loads enough, else by rung `stack`, as a first guess."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from loads import BLOCKS_LEAST, CHROMIUM, MIXED, NONE, STACK, STAND_INS, Loads, with_size
from published import SITES

from mixedsched.report.papers.verdicts import (
    NEAR_ZERO_CORRELATION,
    NEAR_ZERO_PCT,
    NEAR_ZERO_POINTS,
    TOLERANCE_POINTS,
    Finding,
    PaperClaim,
    Statement,
    over_sites,
)

SITES_LEAST_MEASURED = 6  # in Chromium, with BLOCKS_LEAST blocks each
DIFFERS = "its sites are stand-ins, browser and Lighthouse newer, and metrics observed, not modelled"

Ask = Callable[[Loads, str], Finding]  # loads, and the arm that stands for mixed delivery
AskSites = Callable[[Loads, str], Mapping[str, float]]


def stand_ins(names: Iterable[str] = SITES) -> list[str]:
    return [f"{STAND_INS}{name}" for name in names]


@dataclass(frozen=True)
class Judge:
    """Makes statements over one network."""

    loads: Mapping[str, Loads]  # by source
    link: str
    mixed: str = MIXED  # the arm that stands for mixed delivery

    def claim(
        self, key: str, text: str, published: str, make: Callable[[Judge], Sequence[Statement]], **more: object
    ) -> PaperClaim:
        """A claim with its statements under the default reading, and under all others that decide anything."""
        statements = make(self)
        is_guess = not any(CHROMIUM in item.findings for item in statements)
        readings = {}
        for arm in self._readings():
            found = make(replace(self, mixed=arm))
            if any(
                item.verdict_of(value).value != "not decidable here"
                for item in found
                for value in item.findings.values()
            ):
                readings[arm] = found
        facts: dict[str, object] = {"differs": DIFFERS, "is_first_guess": is_guess, "readings": readings, **more}
        return PaperClaim(key, text, published, statements, **facts)  # type: ignore[arg-type]

    def _readings(self) -> list[str]:
        arms = [arm for item in self.loads.values() for arm in item.arms(self.link)]
        return [arm for arm in dict.fromkeys(arms) if arm.startswith(f"{MIXED}:")]

    def of_site(
        self, text: str, ask: Ask, sign: int = 1, *, published: float | None = None, unit: str = "%"
    ) -> Statement:
        """Something about a single site; its blocks are what is counted."""
        found = {name: item for name, item in self._sources(lambda loads: ask(loads, self.mixed)) if item.units}
        measured = found.get(CHROMIUM, NONE)
        if measured.units >= BLOCKS_LEAST:
            found = {CHROMIUM: measured}
        return Statement(
            text, found, sign, NEAR_ZERO_PCT if unit == "%" else 0.0, published, unit=unit, counted="blocks"
        )

    def median(self, text: str, ask: AskSites, sign: int = 1) -> Statement:
        """The median improvement over sites."""
        return Statement(text, self._over(ask, np.median), sign, NEAR_ZERO_PCT)

    def share_better(self, text: str, ask: AskSites, published: float) -> Statement:
        """Of sites with any improvement, as the paper counts: in points."""

        def better(loads: Loads, mixed: str) -> dict[str, float]:
            return {site: 100.0 * (value > 0) for site, value in ask(loads, mixed).items()}

        findings = self._over(better, np.mean)
        return Statement(text, findings, 1, NEAR_ZERO_POINTS, published, TOLERANCE_POINTS, "points")

    def grows_with_size(self, text: str, ask: AskSites) -> Statement:
        """Kendall's tau-b of the improvement with the number of resources."""
        findings = self._chosen(lambda loads: with_size(ask(loads, self.mixed)))
        return Statement(text, findings, 1, NEAR_ZERO_CORRELATION, unit="")

    def _over(self, ask: AskSites, statistic: Callable[..., np.ndarray]) -> dict[str, Finding]:
        return self._chosen(lambda loads: over_sites(ask(loads, self.mixed), statistic))

    def _chosen(self, find: Callable[[Loads], Finding]) -> dict[str, Finding]:
        """Chromium has the last word once it has six sites."""
        found = {name: item for name, item in self._sources(find) if item.units}
        measured = found.get(CHROMIUM)
        if measured is not None and measured.units >= SITES_LEAST_MEASURED and math.isfinite(measured.value):
            return {CHROMIUM: replace(measured, least=SITES_LEAST_MEASURED)}
        return {name: item for name, item in found.items() if name != CHROMIUM}

    def _sources(self, find: Callable[[Loads], Finding]) -> list[tuple[str, Finding]]:
        return [(name, find(self.loads[name])) for name in (STACK, CHROMIUM)]

    def sites(self, names: Sequence[str], rival: str, key: str) -> AskSites:
        """The improvement of stand-ins. In Chromium only of those with blocks enough."""

        def ask(loads: Loads, mixed: str) -> dict[str, float]:
            found = {site: loads.improvement(site, self.link, rival, key, mixed) for site in stand_ins(names)}
            least = BLOCKS_LEAST if loads.is_measured else 1
            return {
                site: item.value for site, item in found.items() if item.units >= least and math.isfinite(item.value)
            }

        return ask

    def site(self, name: str, rival: str, key: str) -> Ask:
        """The improvement of one site, by its full name."""
        return lambda loads, mixed: loads.improvement(name, self.link, rival, key, mixed)

    def below(self, name: str, key: str, bound: float) -> Ask:
        """How far below a bound a value is under mixed delivery, in the value's own unit."""

        def ask(loads: Loads, mixed: str) -> Finding:
            found = loads.level(name, self.link, mixed, key)
            return Finding(bound - found.value, bound - found.high, bound - found.low, found.units, found.least)

        return ask
