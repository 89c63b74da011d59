"""What the claims of Gupta & Bartos 2024 say in numbers.

An improvement is how much better `mixed` is than a rival, in per cent of the rival's median: above zero is better. How
statements become words is told in docs/reproductions.md. These statements are what the paper's text says of figures 4 and 5;
the study files, and medians of an earlier play of rung `stack`, were seen before they were written.
"""

from __future__ import annotations

from collections.abc import Mapping

from judge import Judge, stand_ins
from loads import STAND_INS, WORKING, Loads
from published import BEST_CLS_PCT, FAST_SI_MS, FIGURE_4, FIGURES, GOOD_CLS, GOOD_LCP_MS, LARGE, NAMES, SITES, SMALL

from mixedsched.report.papers.verdicts import PaperClaim, Statement

SEQUENTIAL, NIP, IP = FIGURES["4"], FIGURES["5a"], FIGURES["5b"]
NO_WORK = "how much scripts work and images shift is assumed (`gupta2024-work`)"


def claims_of(loads: Mapping[str, Loads], link: str) -> list[PaperClaim]:
    """All of them, over one network. The paper's is `cdn`."""
    judge = Judge(loads, link)
    return [*_over_standard(judge), *_work_and_shifts(judge), *_over_nip(judge), *_over_ip(judge), *_in_general(judge)]


def _over_standard(judge: Judge) -> list[PaperClaim]:
    def first_paint(by: Judge) -> list[Statement]:
        ask = by.sites(SITES, SEQUENTIAL, "fcp_ms")
        return [by.median("improvement of FCP", ask), by.share_better("sites with an earlier FCP", ask, 100.0)]

    def best_first_paint(by: Judge) -> list[Statement]:
        return [_number(by, "fcp_ms", "FCP", site) for site in ("etsy", "nytimes")]

    def largest_paint(by: Judge) -> list[Statement]:
        ask = by.sites(SITES, SEQUENTIAL, "lcp_ms")
        return [
            by.median("improvement of LCP", ask),
            by.grows_with_size("rank correlation with the number of resources", ask),
        ]

    def interactive(by: Judge) -> list[Statement]:
        ask = by.sites([site for site in SITES if site != "apache"], SEQUENTIAL, "tti_ms")
        return [
            by.median("improvement of TTI, without Apache", ask),
            _single(by, SEQUENTIAL, "tti_ms", "TTI", "apache", -1),
        ]

    def speed_of_small(by: Judge) -> list[Statement]:
        return [_single(by, SEQUENTIAL, "si_ms", "Speed Index", site, 1) for site in SMALL]

    def speed_of_large(by: Judge) -> list[Statement]:
        return [_number(by, "si_ms", "Speed Index", site) for site in ("statcounter", "nytimes")]

    def speed_lost(by: Judge) -> list[Statement]:
        return [_single(by, SEQUENTIAL, "si_ms", "Speed Index", site, -1) for site in ("etsy", "amazon")]

    return [
        judge.claim("4-FCP", "FCP is earlier than with standard delivery on all sites", "8 of 8", first_paint),
        judge.claim("4-FCP-best", "most on Etsy and NYT", "about 25 % each", best_first_paint),
        judge.claim("4-LCP", "LCP is earlier, and the more so the more complex a site is", "direction", largest_paint),
        judge.claim("4-LCP-best", "most on Amazon", "35 %", lambda by: [_number(by, "lcp_ms", "LCP", "amazon")]),
        judge.claim("4-TTI", "TTI is earlier, except for a small loss on Apache", "direction", interactive),
        judge.claim("4-SI-small", "Speed Index of small sites is slightly better", "direction", speed_of_small),
        judge.claim("4-SI-large", "Speed Index of StatCounter and NYT is better", "17.07 %, 15.47 %", speed_of_large),
        judge.claim("4-SI-lost", "Speed Index of Etsy and, slightly, of Amazon is worse", "direction", speed_lost),
    ]


def _work_and_shifts(judge: Judge) -> list[PaperClaim]:
    def blocked(by: Judge) -> list[Statement]:
        return [_number(by, "tbt_ms", "TBT", site, WORKING) for site in ("wikipedia", "etsy", "amazon")]

    def stable(by: Judge) -> list[Statement]:
        return [
            by.of_site(
                f"CLS of {NAMES[site]} below {GOOD_CLS:g} by", by.below(f"{WORKING}{site}", "cls", GOOD_CLS), unit=""
            )
            for site in ("etsy", "amazon")
        ]

    def best_stable(by: Judge) -> list[Statement]:
        ask = by.site(f"{WORKING}amazon", SEQUENTIAL, "cls")
        return [by.of_site("improvement of CLS, Amazon", ask, published=BEST_CLS_PCT)]

    assumed = {"differs": NO_WORK}
    return [
        judge.claim("4-TBT", "TBT falls", "Wikipedia 15.87 %, Etsy 100 %, Amazon 100 %", blocked, **assumed),
        judge.claim("CLS", "CLS is good on every site", "below 0.1", stable, **assumed),
        judge.claim("CLS-best", "and falls most on Amazon", "73 %", best_stable, **assumed),
    ]


def _over_nip(judge: Judge) -> list[PaperClaim]:
    def paints(by: Judge) -> list[Statement]:
        return [by.median(f"improvement of {name}", by.sites(SITES, NIP, key)) for key, name in _TIMES.items()]

    def large(by: Judge) -> list[Statement]:
        return [
            by.grows_with_size(f"rank correlation, {name}", by.sites(SITES, NIP, key)) for key, name in _TIMES.items()
        ]

    def speed_lost(by: Judge) -> list[Statement]:
        lost = [_single(by, NIP, "si_ms", "Speed Index", site, -1) for site in ("etsy", "nytimes", "amazon")]
        return [*lost, *(_fast(by, site) for site in ("nytimes", "amazon"))]

    return [
        judge.claim("5a", "paints are earlier than with NIP", "direction", paints),
        judge.claim("5a-large", "mostly those of large sites", "direction", large),
        judge.claim("5a-SI-lost", "Speed Index of Etsy, NYT and Amazon is worse, but fast", "below 3.4 s", speed_lost),
    ]


def _over_ip(judge: Judge) -> list[PaperClaim]:
    def large(by: Judge) -> list[Statement]:
        return [
            by.grows_with_size(f"rank correlation, {name}", by.sites(SITES, IP, key)) for key, name in _TIMES.items()
        ]

    def largest_paint(by: Judge) -> list[Statement]:
        others = by.sites([site for site in SITES if site != "apple"], IP, "lcp_ms")
        return [by.median("improvement of LCP, without Apple", others), _single(by, IP, "lcp_ms", "LCP", "apple", -1)]

    def good(by: Judge) -> list[Statement]:
        return [_good(by, site) for site in SITES if site != "apple"]

    def speed_lost(by: Judge) -> list[Statement]:
        return [
            *(_single(by, IP, "si_ms", "Speed Index", site, -1) for site in ("etsy", "amazon")),
            _fast(by, "amazon"),
        ]

    return [
        judge.claim("5b-large", "large sites gain more over IP", "direction", large),
        judge.claim(
            "5b-LCP", "LCP is earlier than with IP, except for a marginal loss on Apple", "direction", largest_paint
        ),
        judge.claim("5b-good", "and good on all others", "below 2.5 s", good),
        judge.claim(
            "5b-SI-lost", "Speed Index of Etsy and Amazon is worse, that of Amazon fast", "below 3.4 s", speed_lost
        ),
    ]


def _in_general(judge: Judge) -> list[PaperClaim]:
    def better(by: Judge) -> list[Statement]:
        found = []
        for rival in (SEQUENTIAL, NIP, IP):
            for key, name in _TIMES.items():
                found.append(by.median(f"improvement of {name} over `{rival}`", by.sites(SITES, rival, key)))
        return found

    def on_large(by: Judge) -> list[Statement]:
        return [
            by.of_site(
                f"LCP of {NAMES[name.removeprefix(STAND_INS)]} over `sequential`", by.site(name, SEQUENTIAL, "lcp_ms")
            )
            for name in stand_ins(LARGE)
        ]

    return [
        judge.claim("G-1", "mixed delivery is better than standard, NIP and IP delivery", "direction", better),
        judge.claim("G-2", "it helps sites with many and large resources", "direction", on_large),
    ]


_TIMES = {"fcp_ms": "FCP", "lcp_ms": "LCP"}


def _number(by: Judge, key: str, name: str, site: str, folder: str = STAND_INS) -> Statement:
    ask = by.site(f"{folder}{site}", SEQUENTIAL, key)
    return by.of_site(f"improvement of {name}, {NAMES[site]}", ask, published=FIGURE_4[key][site].percent)


def _single(by: Judge, rival: str, key: str, name: str, site: str, sign: int) -> Statement:
    ask = by.site(f"{STAND_INS}{site}", rival, key)
    return by.of_site(f"improvement of {name}, {NAMES[site]}{', below 0' if sign < 0 else ''}", ask, sign)


def _fast(by: Judge, site: str) -> Statement:
    ask = by.below(f"{STAND_INS}{site}", "si_ms", FAST_SI_MS)
    return by.of_site(f"Speed Index of {NAMES[site]} below {FAST_SI_MS / 1000:g} s by", ask, unit="ms")


def _good(by: Judge, site: str) -> Statement:
    ask = by.below(f"{STAND_INS}{site}", "lcp_ms", GOOD_LCP_MS)
    return by.of_site(f"LCP of {NAMES[site]} below {GOOD_LCP_MS / 1000:g} s by", ask, unit="ms")
