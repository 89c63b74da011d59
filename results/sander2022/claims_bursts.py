"""Claims on bursts, and those of all figures: F9 and G."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from data import BANDWIDTHS, BURSTS, HOL, LOSSES, NAMES, PARALLEL, ROUND_TRIPS, SI, BySite, Pages, mean_of, minus, trend
from judge import BLIND, EPS, FIREFOX, FIREFOXES, RR, WRR, Ask, Judge, claim, contrary, less, mean_change

from mixedsched.report.papers.verdicts import PaperClaim


def bursts(judge: Judge) -> list[PaperClaim]:
    def gap(pages: Pages, link: str) -> BySite:
        return minus(mean_change(pages, SI, link, BLIND), mean_change(pages, SI, link, FIREFOXES))

    def against_random(ask: Callable[[Pages, str], BySite], link: str = "burst15") -> Ask:
        return lambda pages: minus(ask(pages, link), ask(pages, "loss2"))

    def shares(low: float, high: float) -> Callable[[Pages, str], BySite]:
        return lambda pages, link: mean_of(*(pages.share(SI, link, scheme, low, high) for scheme in PARALLEL))

    return [
        claim(
            "F9-1",
            "longer bursts at the same loss: HOL falls less",
            "direction",
            *(
                judge.rank(
                    f"{NAMES[scheme]}, trend of the change to bursts of 15",
                    lambda pages, scheme=scheme: trend([pages.change(HOL, link, scheme) for link in BURSTS]),
                    +1,
                )
                for scheme in PARALLEL
            ),
        ),
        claim(
            "F9-2",
            "longer bursts: gains of Speed Index flatten, losses stay; under RR losses outweigh gains",
            "visible from bursts of 5",
            judge.share("better at bursts of 15 against random loss", against_random(shares(-np.inf, -5)), -1, si=True),
            judge.share(
                "worse at bursts of 15 against random loss", against_random(shares(5, np.inf)), si=True, published=0.0
            ),
            *(
                judge.share(
                    f"RR, better minus worse at bursts of {link[5:]}",
                    lambda pages, link=link: pages.balance(link, RR),
                    -1,
                    si=True,
                )
                for link in BURSTS[1:]
            ),
            si=True,
        ),
        claim(
            "F9-3",
            "bursts widen the gap between the Firefox pair and RR and WRR; WRR behaves like RR",
            "direction",
            judge.median("gap at bursts of 15 against random loss", against_random(gap), +1, si=True),
            *(
                judge.share(
                    f"WRR minus RR at bursts of {link[5:]}, better minus worse",
                    lambda pages, link=link: minus(pages.balance(link, WRR), pages.balance(link, RR)),
                    si=True,
                    published=0.0,
                )
                for link in BURSTS[1:]
            ),
            si=True,
        ),
        claim(
            "F9-4",
            "Firefox (EPS) suffers from bursts in HOL, hardly in Speed Index",
            "direction",
            judge.median(
                "change of HOL at bursts of 15 against random loss",
                against_random(lambda pages, link: pages.change(HOL, link, EPS)),
                +1,
            ),
            judge.share(
                "better minus worse at bursts of 15 against random loss",
                against_random(lambda pages, link: pages.balance(link, EPS)),
                si=True,
                published=0.0,
            ),
            si=True,
        ),
        claim(
            "F9-5",
            "many loads over bursts end in a false detection of a black hole",
            "repeated",
            remark="Chromium's own detection: only loads in Chromium can say.",
        ),
    ]


def in_general(judge: Judge) -> list[PaperClaim]:
    links = tuple(dict.fromkeys((*BANDWIDTHS, *LOSSES, *ROUND_TRIPS, *BURSTS)))

    def behind_tree(pages: Pages, key: str) -> BySite:
        every = [minus(pages.change(key, link, EPS), pages.change(key, link, FIREFOX)) for link in links]
        return mean_of(*(item for item in every if item))

    return [
        claim(
            "G-1",
            "Firefox by EPS cannot match its tree, but little is lost",
            "all figures",
            judge.median(
                "EPS against the tree, change of HOL, all networks", lambda pages: behind_tree(pages, HOL), +1
            ),
            judge.median(
                "EPS against the tree, change of Speed Index", lambda pages: behind_tree(pages, SI), +1, si=True
            ),
            judge.median(
                "EPS against the tree, change of Speed Index beyond 5 %",
                lambda pages: less(behind_tree(pages, SI), 5),
                -1,
                si=True,
            ),
            si=True,
        ),
        claim(
            "G-2",
            "less HOL does not mean a better Speed Index; site and network decide",
            "all figures",
            judge.share(
                "of those with at least 5 % less HOL: Speed Index later, beyond 25 points",
                lambda pages: less(contrary(pages, links, hol_pct=5.0, si_pct=0.0), 25),
                si=True,
            ),
            si=True,
        ),
    ]
