"""Claims on random loss, with the correlations of figure 7: F6 and F7."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from data import (
    HOL,
    LOSS_RATES,
    LOSSES,
    NAMES,
    PARALLEL,
    SI,
    BySite,
    Pages,
    correlation,
    mean_of,
    minus,
    trend,
    twin_of,
)
from judge import BLIND, DIFFERS, EPS, FIREFOX, SMALL_BYTES, Ask, Judge, claim, less, mean_balance
from sizes import bytes_of

from mixedsched.report.papers.verdicts import NEAR_ZERO_PCT, PaperClaim, Statement, over_sites


def random_loss(judge: Judge, reno: Judge) -> list[PaperClaim]:
    def hol_trend(pages: Pages, scheme: str) -> BySite:
        return trend([pages.change(HOL, link, scheme) for link in LOSSES])

    def behind(pages: Pages, scheme: str) -> BySite:
        links = LOSSES[1:]
        return mean_of(*(minus(pages.change(HOL, link, EPS), pages.change(HOL, link, scheme)) for link in links))

    return [
        claim(
            "F6-1",
            "more random loss: HOL falls more under all parallel strategies",
            "direction",
            *(
                judge.rank(
                    f"{NAMES[scheme]}, trend of the change from 0 to 5 %",
                    lambda pages, scheme=scheme: hol_trend(pages, scheme),
                    -1,
                )
                for scheme in PARALLEL
            ),
        ),
        claim(
            "F6-2",
            "Firefox (EPS) reduces HOL least",
            "direction",
            *(
                judge.median(
                    f"change of HOL against {NAMES[scheme]}, 1 to 5 %",
                    lambda pages, scheme=scheme: behind(pages, scheme),
                    +1,
                )
                for scheme in PARALLEL
                if scheme != EPS
            ),
        ),
        claim(
            "F6-3",
            "Firefox: from 2 % loss more sites gain than lose",
            "+6 sites net at 5 %; +2 at 25 % and 5 % loss",
            judge.share("better minus worse at 2 %", lambda pages: pages.balance("loss2", FIREFOX), si=True),
            judge.share("better minus worse at 5 %", lambda pages: pages.balance("loss5", FIREFOX), si=True),
            judge.share(
                "better minus worse at 2 %", lambda pages: pages.balance("loss2", FIREFOX), si=True, published=6 / 0.34
            ),
            judge.share(
                "better minus worse by > 25 % at 5 %",
                lambda pages: pages.balance("loss5", FIREFOX, 25.0),
                si=True,
                published=2 / 0.34,
            ),
            si=True,
        ),
        claim(
            "F6-4",
            "Firefox (EPS): from 2 % loss a small net gain",
            "+2 sites net at most",
            *(
                judge.share(
                    f"better minus worse at {link[-1]} %",
                    lambda pages, link=link: pages.balance(link, EPS),
                    si=True,
                    published=2 / 0.34,
                )
                for link in ("loss2", "loss5")
            ),
            si=True,
        ),
        claim(
            "F6-5",
            "RR and WRR are not competitive before 5 % loss",
            "direction",
            *(
                judge.share(
                    f"{NAMES[scheme]}, better minus worse at {link[-1]} %",
                    lambda pages, scheme=scheme, link=link: pages.balance(link, scheme),
                    -1,
                    si=True,
                )
                for scheme in BLIND
                for link in ("loss1", "loss2")
            ),
            *(
                judge.share(
                    f"{NAMES[scheme]}, better minus worse at 5 % against 2 %",
                    lambda pages, scheme=scheme: minus(pages.balance("loss5", scheme), pages.balance("loss2", scheme)),
                    si=True,
                )
                for scheme in BLIND
            ),
            si=True,
        ),
        claim(
            "F6-6",
            "the balance of gains and losses turns at 2 % loss",
            "2 %",
            judge.share(
                "better minus worse at 1 %, mean over strategies",
                lambda pages: mean_balance(pages, "loss1"),
                -1,
                si=True,
            ),
            judge.share(
                "better minus worse at 5 %, mean over strategies", lambda pages: mean_balance(pages, "loss5"), si=True
            ),
            si=True,
        ),
        claim(
            "F6-7",
            "Reno: the same trend, weaker",
            "not shown",
            *(
                reno.rank(
                    f"{NAMES[scheme]} over Reno, trend of the change of HOL from 0 to 5 %",
                    lambda pages, scheme=scheme: hol_trend(pages, scheme),
                    -1,
                )
                for scheme in PARALLEL
            ),
            _weaker(judge, reno),
            differs=DIFFERS + "; its Reno is aioquic's, with HyStart and pacing",
        ),
    ]


def _weaker(cubic: Judge, reno: Judge) -> Statement:
    """How much larger changes of HOL are with CUBIC: the paper does not say which of its figures is weaker."""
    findings = {}
    for name, pages in reno.simulated.items():
        if name in cubic.simulated:
            sizes = [
                minus(
                    *({site: abs(value) for site, value in item.change(HOL, "loss5", scheme).items()} for item in pair)
                )
                for scheme in PARALLEL
                for pair in [(cubic.simulated[name], pages)]
            ]
            findings[name] = over_sites(mean_of(*sizes), np.median, twin_of)
    found = {name: item for name, item in findings.items() if item.units}
    return Statement("size of the change of HOL at 5 %, CUBIC's minus Reno's", found, +1, NEAR_ZERO_PCT)


def points_of(pages: Pages, schemes: Sequence[str]) -> tuple[list[BySite], list[BySite], list[BySite]]:
    """A site's points of figure 7: changes of Speed Index and HOL, and the loss rate, by scheme and loss rate."""
    si = [pages.change(SI, link, scheme) for scheme in schemes for link in LOSSES]
    hol = [pages.change(HOL, link, scheme) for scheme in schemes for link in LOSSES]
    rates = [dict.fromkeys(hol[0], rate) for _ in schemes for rate in LOSS_RATES]
    return si, hol, rates


def _sized(values: BySite, pages: Pages, *, small: bool) -> BySite:
    return {site: value for site, value in values.items() if (bytes_of(pages.name, site) < SMALL_BYTES) is small}


def correlations(judge: Judge) -> list[PaperClaim]:
    def rho(pages: Pages, first: int, second: int, schemes: Sequence[str] = PARALLEL) -> BySite:
        parts = points_of(pages, schemes)
        return correlation(parts[first], parts[second])

    def by_scheme(pages: Pages, first: int, second: int) -> BySite:
        return mean_of(*(rho(pages, first, second, [scheme]) for scheme in PARALLEL))

    def sized(
        ask: Callable[[Pages, int, int], BySite], first: int, second: int, *, small: bool, beyond: float = 0.0
    ) -> Ask:
        return lambda pages: less(_sized(ask(pages, first, second), pages, small=small), beyond)

    def si_hol(ask: Callable[[Pages, int, int], BySite]) -> list[Statement]:
        return [
            judge.rank("sites from 0.6 MB", sized(ask, 0, 1, small=False), +1, si=True),
            judge.rank("smaller sites, beyond 0.3", sized(ask, 0, 1, small=True, beyond=0.3), -1, si=True),
        ]

    def si_loss(ask: Callable[[Pages, int, int], BySite]) -> list[Statement]:
        return [
            judge.rank("sites from 0.6 MB", sized(ask, 0, 2, small=False), -1, si=True),
            judge.rank("smaller sites", sized(ask, 0, 2, small=True), +1, si=True),
        ]

    def hol_loss(ask: Callable[[Pages, int, int], BySite]) -> list[Statement]:
        return [
            judge.rank("mean over sites, beyond -0.5", lambda pages: less(ask(pages, 1, 2), -0.5), -1),
            judge.share(
                "sites below zero",
                lambda pages: {site: 100.0 * (value < 0) for site, value in ask(pages, 1, 2).items()},
                published=33 / 0.34,
            ),
        ]

    other = "by scheme"
    return [
        claim(
            "F7-1",
            "Speed Index follows HOL on large sites, hardly or in the opposite direction on small ones",
            "small: < 0.6 MB",
            *si_hol(rho),
            si=True,
            readings={other: si_hol(by_scheme)},
        ),
        claim(
            "F7-2",
            "with more loss, Speed Index gains on large sites and loses on small ones",
            "direction, outliers on both sides",
            *si_loss(rho),
            si=True,
            readings={other: si_loss(by_scheme)},
        ),
        claim(
            "F7-3",
            "with more loss, HOL falls on all sites",
            "strongly; all but one",
            *hol_loss(rho),
            readings={other: hol_loss(by_scheme)},
        ),
    ]
