"""What the 27 claims of Sander et al. 2022, and two of their blog, say in numbers. Written before any load was seen.

Changes are differences of medians relative to Chrome's in per cent, below zero is better, as in the paper. Shares are of
sites, in points. How statements become words is told in docs/reproductions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from data import (
    BANDWIDTHS,
    BURSTS,
    HOL,
    LOSS_RATES,
    LOSSES,
    NAMES,
    PARALLEL,
    ROUND_TRIPS,
    SI,
    BySite,
    Pages,
    correlation,
    mean_of,
    minus,
    trend,
    twin_of,
)
from sizes import bytes_of

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


def claims_of(pages: Mapping[str, Pages], reno: Mapping[str, Pages], bursts: Mapping[str, Finding]) -> list[PaperClaim]:
    """pages: with the study's sender, by collection. reno: the same with Reno. bursts: of runs of losses, by name."""
    simulated = {name: item for name, item in pages.items() if not item.is_measured}
    judge = Judge(simulated, next((item for item in pages.values() if item.is_measured), None))
    return [
        *_bandwidth(judge, bursts),
        *_random_loss(judge, Judge(reno, None)),
        *_correlations(judge),
        *_round_trips(judge),
        *_bursts(judge),
        *_in_general(judge),
    ]


def _claim(key: str, text: str, published: str, *statements: Statement, si: bool = False, **more: object) -> PaperClaim:
    """si: whether it is about Speed Index, of which only Chromium says more than a guess."""
    is_guess = si and not any("Chromium" in item.findings for item in statements)
    facts: dict[str, object] = {"differs": DIFFERS, "is_first_guess": is_guess, **more}
    return PaperClaim(key, text, published, statements, **facts)  # type: ignore[arg-type]


def _over(links: Iterable[str], ask: Callable[[Pages, str], BySite]) -> Callable[[Pages], list[BySite]]:
    return lambda pages: [ask(pages, link) for link in links]


def _mean_change(pages: Pages, key: str, link: str, schemes: Sequence[str] = PARALLEL) -> BySite:
    return mean_of(*(pages.change(key, link, scheme) for scheme in schemes))


def _mean_balance(pages: Pages, link: str, schemes: Sequence[str] = PARALLEL, *, significant: bool = False) -> BySite:
    return mean_of(*(pages.balance(link, scheme, significant=significant) for scheme in schemes))


def _less(values: BySite, amount: float) -> BySite:
    return {site: value - amount for site, value in values.items()}


def _bandwidth(judge: Judge, bursts: Mapping[str, Finding]) -> list[PaperClaim]:
    def hol_trend(pages: Pages) -> BySite:
        return mean_of(*(trend([pages.change(HOL, link, scheme) for link in BANDWIDTHS]) for scheme in PARALLEL))

    def si_trend(pages: Pages) -> BySite:
        def size(link: str, scheme: str) -> BySite:
            return {site: abs(value) for site, value in pages.change(SI, link, scheme).items()}

        return mean_of(*(trend([size(link, scheme) for link in BANDWIDTHS]) for scheme in PARALLEL))

    return [
        _claim(
            "F5-1",
            "HOL falls less under parallel strategies as bandwidth grows; at high bandwidth Chrome often has less",
            "direction",
            judge.rank("trend of the change of HOL from 1 to 10 Mbit/s", hol_trend, +1),
            judge.share(
                "sites and strategies with more HOL than Chrome at 10 Mbit/s, beyond 25 points",
                lambda pages: _less(mean_of(*(pages.share(HOL, "bw10", scheme, 0) for scheme in PARALLEL)), 25),
            ),
        ),
        _claim(
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
                lambda pages: _less(mean_of(*(_without_hol(pages, scheme) for scheme in PARALLEL)), 80),
            ),
        ),
        _claim(
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
                "longest burst of a site, ninth tenth of sites",
                {name[8:]: item for name, item in bursts.items() if name.startswith("longest ")},
                published=20.0,
                unit="packets",
            ),
        ),
        _claim(
            "F5-4",
            "Speed Index changes less, either way, as bandwidth grows",
            "direction",
            judge.rank("trend of the size of the change from 1 to 10 Mbit/s", si_trend, -1, si=True),
            si=True,
        ),
        _claim(
            "F5-5",
            "5 Mbit/s: under Firefox more sites lose than gain",
            f"6 better and 9 worse by > 5 %, of {SITES_OF_PAPER}",
            judge.share("better less worse", lambda pages: pages.balance("bw5", FIREFOX), -1, si=True),
            judge.share(
                "better", lambda pages: pages.share(SI, "bw5", FIREFOX, -np.inf, -5), si=True, published=6 / 0.34
            ),
            judge.share("worse", lambda pages: pages.share(SI, "bw5", FIREFOX, 5), si=True, published=9 / 0.34),
            si=True,
        ),
        _claim(
            "F5-6",
            "2 Mbit/s: Firefox and Firefox (EPS) are balanced, RR and WRR lose",
            "RR, WRR: > 1/3 worse, < 1/5 better by > 5 %",
            *(
                judge.share(
                    f"{NAMES[scheme]}, better less worse",
                    lambda pages, scheme=scheme: pages.balance("bw2", scheme),
                    si=True,
                    published=0.0,
                )
                for scheme in FIREFOXES
            ),
            *(
                judge.share(
                    f"{NAMES[scheme]}, worse, beyond 33 points",
                    lambda pages, scheme=scheme: _less(pages.share(SI, "bw2", scheme, 5), 100 / 3),
                    si=True,
                )
                for scheme in BLIND
            ),
            *(
                judge.share(
                    f"{NAMES[scheme]}, better, beyond 20 points",
                    lambda pages, scheme=scheme: _less(pages.share(SI, "bw2", scheme, -np.inf, -5), 20),
                    -1,
                    si=True,
                )
                for scheme in BLIND
            ),
            si=True,
        ),
        _claim(
            "F5-7",
            "1 Mbit/s: Firefox and Firefox (EPS) have more significant gains than losses > 5 %; RR and WRR catch up",
            "direction",
            *(
                judge.share(
                    f"{NAMES[scheme]}, significantly better less worse",
                    lambda pages, scheme=scheme: pages.balance("bw1", scheme, significant=True),
                    si=True,
                )
                for scheme in FIREFOXES
            ),
            *(
                judge.share(
                    f"{NAMES[scheme]}, better less worse, against 2 Mbit/s",
                    lambda pages, scheme=scheme: minus(pages.balance("bw1", scheme), pages.balance("bw2", scheme)),
                    si=True,
                )
                for scheme in BLIND
            ),
            si=True,
        ),
        _claim(
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
                lambda pages: _less(_contrary(pages, ["bw1"], hol_pct=0.0, si_pct=0.0), 10),
            ),
        ),
        _claim(
            "B-1",
            "low bandwidth: the median Speed Index is slightly better with parallel strategies (blog)",
            "direction",
            judge.median(
                "mean change of strategies at 1 Mbit/s", lambda pages: _mean_change(pages, SI, "bw1"), -1, si=True
            ),
            si=True,
        ),
        _claim(
            "B-2",
            "low round trips or high bandwidth: sequential delivery is fine (blog)",
            "direction",
            judge.share(
                "better by > 5 % at 10 Mbit/s, mean over strategies, beyond 20 points",
                lambda pages: _less(mean_of(*(pages.share(SI, "bw10", item, -np.inf, -5) for item in PARALLEL)), 20),
                -1,
                si=True,
            ),
            judge.share(
                "better less worse at 10 ms, mean over strategies",
                lambda pages: _mean_balance(pages, "rtt10"),
                -1,
                si=True,
            ),
            si=True,
        ),
    ]


def _without_hol(pages: Pages, scheme: str) -> BySite:
    found = pages.values("bandwidth", "bw50", scheme, HOL)
    return {site: 100.0 * float(np.mean(values == 0)) for site, values in found.items()}


def _contrary(pages: Pages, links: Sequence[str], hol_pct: float, si_pct: float) -> BySite:
    """Of a site's strategies and links with so much less HOL: the share whose Speed Index is later by more than so much."""
    asked: dict[str, list[float]] = {}
    for link in links:
        for scheme in PARALLEL:
            later = pages.change(SI, link, scheme)
            for site, value in pages.change(HOL, link, scheme).items():
                if value < -hol_pct and site in later:
                    asked.setdefault(site, []).append(100.0 * (later[site] > si_pct))
    return {site: float(np.mean(found)) for site, found in asked.items()}


def _random_loss(judge: Judge, reno: Judge) -> list[PaperClaim]:
    def hol_trend(pages: Pages, scheme: str) -> BySite:
        return trend([pages.change(HOL, link, scheme) for link in LOSSES])

    def behind(pages: Pages, scheme: str) -> BySite:
        links = LOSSES[1:]
        return mean_of(*(minus(pages.change(HOL, link, EPS), pages.change(HOL, link, scheme)) for link in links))

    return [
        _claim(
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
        _claim(
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
        _claim(
            "F6-3",
            "Firefox: from 2 % loss more sites gain than lose",
            "+6 sites net at 5 %; +2 at 25 % and 5 % loss",
            judge.share("better less worse at 2 %", lambda pages: pages.balance("loss2", FIREFOX), si=True),
            judge.share("better less worse at 5 %", lambda pages: pages.balance("loss5", FIREFOX), si=True),
            judge.share(
                "better less worse at 2 %", lambda pages: pages.balance("loss2", FIREFOX), si=True, published=6 / 0.34
            ),
            judge.share(
                "better less worse by > 25 % at 5 %",
                lambda pages: pages.balance("loss5", FIREFOX, 25.0),
                si=True,
                published=2 / 0.34,
            ),
            si=True,
        ),
        _claim(
            "F6-4",
            "Firefox (EPS): from 2 % loss a small net gain",
            "+2 sites net at most",
            *(
                judge.share(
                    f"better less worse at {link[-1]} %",
                    lambda pages, link=link: pages.balance(link, EPS),
                    si=True,
                    published=2 / 0.34,
                )
                for link in ("loss2", "loss5")
            ),
            si=True,
        ),
        _claim(
            "F6-5",
            "RR and WRR are not competitive before 5 % loss",
            "direction",
            *(
                judge.share(
                    f"{NAMES[scheme]}, better less worse at {link[-1]} %",
                    lambda pages, scheme=scheme, link=link: pages.balance(link, scheme),
                    -1,
                    si=True,
                )
                for scheme in BLIND
                for link in ("loss1", "loss2")
            ),
            *(
                judge.share(
                    f"{NAMES[scheme]}, better less worse at 5 % against 2 %",
                    lambda pages, scheme=scheme: minus(pages.balance("loss5", scheme), pages.balance("loss2", scheme)),
                    si=True,
                )
                for scheme in BLIND
            ),
            si=True,
        ),
        _claim(
            "F6-6",
            "the balance of gains and losses turns at 2 % loss",
            "2 %",
            judge.share(
                "better less worse at 1 %, mean over strategies",
                lambda pages: _mean_balance(pages, "loss1"),
                -1,
                si=True,
            ),
            judge.share(
                "better less worse at 5 %, mean over strategies", lambda pages: _mean_balance(pages, "loss5"), si=True
            ),
            si=True,
        ),
        _claim(
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
    return Statement("size of the change of HOL at 5 %, CUBIC's less Reno's", found, +1, NEAR_ZERO_PCT)


def points_of(pages: Pages, schemes: Sequence[str]) -> tuple[list[BySite], list[BySite], list[BySite]]:
    """A site's points of figure 7: changes of Speed Index and HOL, and the loss rate, by scheme and loss rate."""
    si = [pages.change(SI, link, scheme) for scheme in schemes for link in LOSSES]
    hol = [pages.change(HOL, link, scheme) for scheme in schemes for link in LOSSES]
    rates = [dict.fromkeys(hol[0], rate) for _ in schemes for rate in LOSS_RATES]
    return si, hol, rates


def _sized(values: BySite, pages: Pages, *, small: bool) -> BySite:
    return {site: value for site, value in values.items() if (bytes_of(pages.name, site) < SMALL_BYTES) is small}


def _correlations(judge: Judge) -> list[PaperClaim]:
    def rho(pages: Pages, first: int, second: int, schemes: Sequence[str] = PARALLEL) -> BySite:
        parts = points_of(pages, schemes)
        return correlation(parts[first], parts[second])

    def by_scheme(pages: Pages, first: int, second: int) -> BySite:
        return mean_of(*(rho(pages, first, second, [scheme]) for scheme in PARALLEL))

    def sized(
        ask: Callable[[Pages, int, int], BySite], first: int, second: int, *, small: bool, less: float = 0.0
    ) -> Ask:
        return lambda pages: _less(_sized(ask(pages, first, second), pages, small=small), less)

    def si_hol(ask: Callable[[Pages, int, int], BySite]) -> list[Statement]:
        return [
            judge.rank("sites from 0.6 MB", sized(ask, 0, 1, small=False), +1, si=True),
            judge.rank("smaller sites, beyond 0.3", sized(ask, 0, 1, small=True, less=0.3), -1, si=True),
        ]

    def si_loss(ask: Callable[[Pages, int, int], BySite]) -> list[Statement]:
        return [
            judge.rank("sites from 0.6 MB", sized(ask, 0, 2, small=False), -1, si=True),
            judge.rank("smaller sites", sized(ask, 0, 2, small=True), +1, si=True),
        ]

    def hol_loss(ask: Callable[[Pages, int, int], BySite]) -> list[Statement]:
        return [
            judge.rank("mean over sites, beyond -0.5", lambda pages: _less(ask(pages, 1, 2), -0.5), -1),
            judge.share(
                "sites below zero",
                lambda pages: {site: 100.0 * (value < 0) for site, value in ask(pages, 1, 2).items()},
                published=33 / 0.34,
            ),
        ]

    other = "by scheme"
    return [
        _claim(
            "F7-1",
            "Speed Index follows HOL on large sites, little or reversely on small ones",
            "small: < 0.6 MB",
            *si_hol(rho),
            si=True,
            readings={other: si_hol(by_scheme)},
        ),
        _claim(
            "F7-2",
            "with more loss, Speed Index gains on large sites and loses on small ones",
            "direction, outliers on both sides",
            *si_loss(rho),
            si=True,
            readings={other: si_loss(by_scheme)},
        ),
        _claim(
            "F7-3",
            "with more loss, HOL falls on all sites",
            "strongly; all but one",
            *hol_loss(rho),
            readings={other: hol_loss(by_scheme)},
        ),
    ]


def _round_trips(judge: Judge) -> list[PaperClaim]:
    def significant(pages: Pages, link: str, sign: int) -> BySite:
        def of(scheme: str) -> BySite:
            found = pages.balance(link, scheme, 0.0, significant=True)
            return {site: 100.0 * (sign * value > 0) for site, value in found.items()}

        return mean_of(*map(of, PARALLEL))

    return [
        _claim(
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
        _claim(
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


def _bursts(judge: Judge) -> list[PaperClaim]:
    def gap(pages: Pages, link: str) -> BySite:
        return minus(_mean_change(pages, SI, link, BLIND), _mean_change(pages, SI, link, FIREFOXES))

    def against_random(ask: Callable[[Pages, str], BySite], link: str = "burst15") -> Ask:
        return lambda pages: minus(ask(pages, link), ask(pages, "loss2"))

    def shares(low: float, high: float) -> Callable[[Pages, str], BySite]:
        return lambda pages, link: mean_of(*(pages.share(SI, link, scheme, low, high) for scheme in PARALLEL))

    return [
        _claim(
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
        _claim(
            "F9-2",
            "longer bursts: gains of Speed Index flatten, losses stay; under RR losses outweigh gains",
            "visible from bursts of 5",
            judge.share("better at bursts of 15 against random loss", against_random(shares(-np.inf, -5)), -1, si=True),
            judge.share(
                "worse at bursts of 15 against random loss", against_random(shares(5, np.inf)), si=True, published=0.0
            ),
            *(
                judge.share(
                    f"RR, better less worse at bursts of {link[5:]}",
                    lambda pages, link=link: pages.balance(link, RR),
                    -1,
                    si=True,
                )
                for link in BURSTS[1:]
            ),
            si=True,
        ),
        _claim(
            "F9-3",
            "bursts widen the gap between the Firefox pair and RR and WRR; WRR behaves like RR",
            "direction",
            judge.median("gap at bursts of 15 against random loss", against_random(gap), +1, si=True),
            *(
                judge.share(
                    f"WRR less RR at bursts of {link[5:]}, better less worse",
                    lambda pages, link=link: minus(pages.balance(link, WRR), pages.balance(link, RR)),
                    si=True,
                    published=0.0,
                )
                for link in BURSTS[1:]
            ),
            si=True,
        ),
        _claim(
            "F9-4",
            "Firefox (EPS) suffers from bursts in HOL, hardly in Speed Index",
            "direction",
            judge.median(
                "change of HOL at bursts of 15 against random loss",
                against_random(lambda pages, link: pages.change(HOL, link, EPS)),
                +1,
            ),
            judge.share(
                "better less worse at bursts of 15 against random loss",
                against_random(lambda pages, link: pages.balance(link, EPS)),
                si=True,
                published=0.0,
            ),
        ),
        _claim(
            "F9-5",
            "many loads over bursts end in a false detection of a black hole",
            "repeated",
            remark="Chromium's own detection: only loads in Chromium can say.",
        ),
    ]


def _in_general(judge: Judge) -> list[PaperClaim]:
    links = tuple(dict.fromkeys((*BANDWIDTHS, *LOSSES, *ROUND_TRIPS, *BURSTS)))

    def behind_tree(pages: Pages, key: str) -> BySite:
        every = [minus(pages.change(key, link, EPS), pages.change(key, link, FIREFOX)) for link in links]
        return mean_of(*(item for item in every if item))

    return [
        _claim(
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
                lambda pages: _less(behind_tree(pages, SI), 5),
                -1,
                si=True,
            ),
            si=True,
        ),
        _claim(
            "G-2",
            "less HOL does not mean a better Speed Index; site and network decide",
            "all figures",
            judge.share(
                "with 5 % less HOL or more, Speed Index later all the same, beyond 25 points",
                lambda pages: _less(_contrary(pages, links, hol_pct=5.0, si_pct=0.0), 25),
            ),
        ),
    ]
