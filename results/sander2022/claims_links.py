"""Claims on bandwidth and round trips: F5, F8 and the blog's."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from data import BANDWIDTHS, HOL, NAMES, PARALLEL, ROUND_TRIPS, SI, BySite, Pages, mean_of, minus, trend
from judge import BLIND, FIREFOX, FIREFOXES, RR, Judge, claim, contrary, less, mean_balance, mean_change

from mixedsched.report.papers.verdicts import NEAR_ZERO_POINTS, Finding, PaperClaim, Statement


def bandwidth(judge: Judge, bursts: Mapping[str, Finding]) -> list[PaperClaim]:
    def hol_trend(pages: Pages) -> BySite:
        return mean_of(*(trend([pages.change(HOL, link, scheme) for link in BANDWIDTHS]) for scheme in PARALLEL))

    def si_trend(pages: Pages) -> BySite:
        def size(link: str, scheme: str) -> BySite:
            return {site: abs(value) for site, value in pages.change(SI, link, scheme).items()}

        return mean_of(*(trend([size(link, scheme) for link in BANDWIDTHS]) for scheme in PARALLEL))

    return [
        claim(
            "F5-1",
            "HOL falls less under parallel strategies as bandwidth grows; at high bandwidth Chrome often has less",
            "direction",
            judge.rank("trend of the change of HOL from 1 to 10 Mbit/s", hol_trend, +1),
            judge.share(
                "sites and strategies with more HOL than Chrome at 10 Mbit/s, beyond 25 points",
                lambda pages: less(mean_of(*(pages.share(HOL, "bw10", scheme, 0) for scheme in PARALLEL)), 25),
            ),
        ),
        claim(
            "F5-2",
            "at 10 Mbit/s many sites lose nothing: HOL does not change at all; at 50 Mbit/s few loads lose anything",
            "about 30 % of sites; > 80 % of loads",
            judge.share(
                "sites without any change of HOL at 10 Mbit/s, mean over strategies",
                lambda pages: mean_of(*(pages.share(HOL, "bw10", scheme, -1e-9, 1e-9) for scheme in PARALLEL)),
                published=30.0,
            ),
            judge.share(
                "loads without HOL at 50 Mbit/s, beyond 80 points",
                lambda pages: less(mean_of(*(without_hol(pages, scheme) for scheme in PARALLEL)), 80),
            ),
        ),
        claim(
            "F5-3",
            "at 10 Mbit/s what the queue drops comes in bursts",
            "bursts of up to 20 packets",
            Statement(
                "lost packets in bursts of two or more at 10 Mbit/s, beyond 50 points",
                {name[7:]: item for name, item in bursts.items() if name.startswith("shares ")},
                near_zero=NEAR_ZERO_POINTS,
                unit="points",
            ),
            Statement(
                "longest burst of a site, 90th percentile over sites",
                {name[8:]: item for name, item in bursts.items() if name.startswith("longest ")},
                published=20.0,
                unit="packets",
            ),
        ),
        claim(
            "F5-4",
            "Speed Index changes less, either way, as bandwidth grows",
            "direction",
            judge.rank("trend of the size of the change from 1 to 10 Mbit/s", si_trend, -1, si=True),
            si=True,
        ),
        claim(
            "F5-5",
            "5 Mbit/s: under Firefox more sites lose than gain",
            "6 better and 9 worse by > 5 %, of 34",
            judge.share("better minus worse", lambda pages: pages.balance("bw5", FIREFOX), -1, si=True),
            judge.share(
                "better", lambda pages: pages.share(SI, "bw5", FIREFOX, -np.inf, -5), si=True, published=6 / 0.34
            ),
            judge.share("worse", lambda pages: pages.share(SI, "bw5", FIREFOX, 5), si=True, published=9 / 0.34),
            si=True,
        ),
        claim(
            "F5-6",
            "2 Mbit/s: Firefox and Firefox (EPS) are balanced, RR and WRR lose",
            "RR, WRR: > 1/3 worse, < 1/5 better by > 5 %",
            *(
                judge.share(
                    f"{NAMES[scheme]}, better minus worse",
                    lambda pages, scheme=scheme: pages.balance("bw2", scheme),
                    si=True,
                    published=0.0,
                )
                for scheme in FIREFOXES
            ),
            *(
                judge.share(
                    f"{NAMES[scheme]}, worse, beyond 33 points",
                    lambda pages, scheme=scheme: less(pages.share(SI, "bw2", scheme, 5), 100 / 3),
                    si=True,
                )
                for scheme in BLIND
            ),
            *(
                judge.share(
                    f"{NAMES[scheme]}, better, beyond 20 points",
                    lambda pages, scheme=scheme: less(pages.share(SI, "bw2", scheme, -np.inf, -5), 20),
                    -1,
                    si=True,
                )
                for scheme in BLIND
            ),
            si=True,
        ),
        claim(
            "F5-7",
            "1 Mbit/s: Firefox and Firefox (EPS) have more significant gains than losses > 5 %; RR and WRR catch up",
            "direction",
            *(
                judge.share(
                    f"{NAMES[scheme]}, significantly better minus worse",
                    lambda pages, scheme=scheme: pages.balance("bw1", scheme, significant=True),
                    si=True,
                )
                for scheme in FIREFOXES
            ),
            *(
                judge.share(
                    f"{NAMES[scheme]}, better minus worse, against 2 Mbit/s",
                    lambda pages, scheme=scheme: minus(pages.balance("bw1", scheme), pages.balance("bw2", scheme)),
                    si=True,
                )
                for scheme in BLIND
            ),
            si=True,
        ),
        claim(
            "F5-8",
            "1 Mbit/s: all strategies reduce HOL, and Speed Index does not follow uniformly",
            "direction",
            *(
                judge.median(
                    f"{NAMES[scheme]}, change of HOL", lambda pages, scheme=scheme: pages.change(HOL, "bw1", scheme), -1
                )
                for scheme in PARALLEL
            ),
            judge.share(
                "strategies with less HOL and a later Speed Index, beyond 10 points",
                lambda pages: less(contrary(pages, ["bw1"], hol_pct=0.0, si_pct=0.0), 10),
                si=True,
            ),
            si=True,
        ),
        claim(
            "B-1",
            "low bandwidth: the median Speed Index is slightly better with parallel strategies (blog)",
            "direction",
            judge.median(
                "mean change of strategies at 1 Mbit/s", lambda pages: mean_change(pages, SI, "bw1"), -1, si=True
            ),
            si=True,
        ),
        claim(
            "B-2",
            "low round trips or high bandwidth: sequential delivery is fine (blog)",
            "direction",
            judge.share(
                "better by > 5 % at 10 Mbit/s, mean over strategies, beyond 20 points",
                lambda pages: less(mean_of(*(pages.share(SI, "bw10", item, -np.inf, -5) for item in PARALLEL)), 20),
                -1,
                si=True,
            ),
            judge.share(
                "better minus worse at 10 ms, mean over strategies",
                lambda pages: mean_balance(pages, "rtt10"),
                -1,
                si=True,
            ),
            si=True,
        ),
    ]


def without_hol(pages: Pages, scheme: str) -> BySite:
    found = pages.values("bandwidth", "bw50", scheme, HOL)
    return {site: 100.0 * float(np.mean(values == 0)) for site, values in found.items()}


def round_trips(judge: Judge) -> list[PaperClaim]:
    def significant(pages: Pages, link: str, sign: int) -> BySite:
        def of(scheme: str) -> BySite:
            found = pages.balance(link, scheme, 0.0, significant=True)
            return {site: 100.0 * (sign * value > 0) for site, value in found.items()}

        return mean_of(*map(of, PARALLEL))

    return [
        claim(
            "F8-1",
            "lower round trips: more significant losses of Speed Index, fewer gains",
            "RR at 10 ms: about 50 % of sites worse",
            judge.share(
                "significantly worse at 10 ms against 100 ms",
                lambda pages: minus(significant(pages, "rtt10", -1), significant(pages, "loss2", -1)),
                si=True,
            ),
            judge.share(
                "significantly better at 10 ms against 100 ms",
                lambda pages: minus(significant(pages, "rtt10", +1), significant(pages, "loss2", +1)),
                -1,
                si=True,
            ),
            judge.share(
                "RR at 10 ms, worse by > 5 %", lambda pages: pages.share(SI, "rtt10", RR, 5), si=True, published=50.0
            ),
            si=True,
        ),
        claim(
            "F8-2",
            "lower round trips: parallel strategies reduce HOL more",
            "direction",
            *(
                judge.median(
                    f"{NAMES[scheme]}, change of HOL at 10 ms against 100 ms",
                    lambda pages, scheme=scheme: minus(
                        pages.change(HOL, "rtt10", scheme), pages.change(HOL, "loss2", scheme)
                    ),
                    -1,
                )
                for scheme in PARALLEL
            ),
            *(
                judge.rank(
                    f"{NAMES[scheme]}, trend of the change from 10 to 100 ms",
                    lambda pages, scheme=scheme: trend([pages.change(HOL, link, scheme) for link in ROUND_TRIPS]),
                    +1,
                )
                for scheme in PARALLEL
            ),
        ),
    ]
