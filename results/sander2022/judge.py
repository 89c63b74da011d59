"""How statements are made of changes over sites."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from data import HOL, PARALLEL, SI, BySite, Pages, mean_of, twin_of

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

RR, WRR, FIREFOX, EPS = PARALLEL
FIREFOXES, BLIND = (FIREFOX, EPS), (RR, WRR)
SMALL_BYTES = 600_000  # what the paper calls small
SITES_LEAST_MEASURED = 6  # in Chromium
SITES_OF_PAPER = 34

DIFFERS = "sites are other ones than the paper's 34, and the server is aioquic with the CUBIC of its testbed, not H2O"

Ask = Callable[[Pages], BySite]


@dataclass(frozen=True)
class Judge:
    """Makes statements of all collections of pages."""

    simulated: Mapping[str, Pages]
    measured: Pages | None  # in Chromium

    def _findings(self, ask: Ask, statistic: Callable[..., np.ndarray], is_of_browser: bool) -> dict[str, Finding]:
        if is_of_browser and self.measured is not None:
            found = over_sites(ask(self.measured), statistic, twin_of)
            if found.units >= SITES_LEAST_MEASURED:
                return {"Chromium": Finding(found.value, found.low, found.high, found.units, SITES_LEAST_MEASURED)}
        every = {name: over_sites(ask(pages), statistic, twin_of) for name, pages in self.simulated.items()}
        return {name: finding for name, finding in every.items() if finding.units}

    def median(self, text: str, ask: Ask, sign: int, *, si: bool = False) -> Statement:
        """A direction of a median over sites, in per cent."""
        return Statement(text, self._findings(ask, np.median, si), sign, NEAR_ZERO_PCT)

    def share(
        self, text: str, ask: Ask, sign: int = 1, *, si: bool = False, published: float | None = None
    ) -> Statement:
        """A share of sites or a balance of shares, in points: a direction, or a published number."""
        findings = self._findings(ask, np.mean, si)
        return Statement(text, findings, sign, NEAR_ZERO_POINTS, published, TOLERANCE_POINTS, "points")

    def rank(self, text: str, ask: Ask, sign: int, *, si: bool = False) -> Statement:
        """A direction of a mean rank correlation."""
        return Statement(text, self._findings(ask, np.mean, si), sign, NEAR_ZERO_CORRELATION, unit="")


def claim(key: str, text: str, published: str, *statements: Statement, si: bool = False, **more: object) -> PaperClaim:
    """si: whether it is about Speed Index, of which only Chromium says more than a guess."""
    is_guess = si and not any("Chromium" in item.findings for item in statements)
    facts: dict[str, object] = {"differs": DIFFERS, "is_first_guess": is_guess, **more}
    return PaperClaim(key, text, published, statements, **facts)  # type: ignore[arg-type]


def over(links: Iterable[str], ask: Callable[[Pages, str], BySite]) -> Callable[[Pages], list[BySite]]:
    return lambda pages: [ask(pages, link) for link in links]


def mean_change(pages: Pages, key: str, link: str, schemes: Sequence[str] = PARALLEL) -> BySite:
    return mean_of(*(pages.change(key, link, scheme) for scheme in schemes))


def mean_balance(pages: Pages, link: str, schemes: Sequence[str] = PARALLEL, *, significant: bool = False) -> BySite:
    return mean_of(*(pages.balance(link, scheme, significant=significant) for scheme in schemes))


def less(values: BySite, amount: float) -> BySite:
    return {site: value - amount for site, value in values.items()}


def contrary(pages: Pages, links: Sequence[str], hol_pct: float, si_pct: float) -> BySite:
    """Of a site's strategies and links with so much less HOL: the share whose Speed Index is later by more than so much."""
    asked: dict[str, list[float]] = {}
    for link in links:
        for scheme in PARALLEL:
            later = pages.change(SI, link, scheme)
            for site, value in pages.change(HOL, link, scheme).items():
                if value < -hol_pct and site in later:
                    asked.setdefault(site, []).append(100.0 * (later[site] > si_pct))
    return {site: float(np.mean(found)) for site, found in asked.items()}
