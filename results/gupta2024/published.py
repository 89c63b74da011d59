"""What Gupta & Bartos 2024 (arXiv 2404.17439) report in words and numbers: figures 4, 5a and 5b, and layout shifts.

The heights of most bars stand nowhere in the text: of those a cell has a direction, or nothing. Improvements are in per cent of
the rival's value, above zero is better.
"""

from __future__ import annotations

from dataclasses import dataclass

SMALL = ("wikipedia", "w3", "apache", "apple")
LARGE = ("statcounter", "etsy", "nytimes", "amazon")
SITES = (*SMALL, *LARGE)  # by rising number of resources, as in the figures
NAMES = {
    "wikipedia": "Wikipedia",
    "w3": "W3C",
    "apache": "Apache",
    "apple": "Apple",
    "statcounter": "StatCounter",
    "etsy": "Etsy",
    "nytimes": "NYT",
    "amazon": "Amazon",
}
METRICS = ("fcp_ms", "lcp_ms", "tti_ms", "tbt_ms", "si_ms")
FIGURES = {"4": "sequential", "5a": "nip", "5b": "ip"}  # whom `mixed` is compared with
GOOD_LCP_MS, FAST_SI_MS, GOOD_CLS = 2500.0, 3400.0, 0.1  # bounds of Lighthouse's that the paper names


@dataclass(frozen=True, slots=True)
class Cell:
    """What the paper says of one bar."""

    direction: int | None = None  # +1 better, -1 worse, 0 no change; None where it says nothing
    percent: float | None = None

    @property
    def words(self) -> str:
        if self.percent is not None:
            return f"{self.percent:+g} %"
        return {1: "better", -1: "worse", 0: "0", None: "-"}[self.direction]


BETTER, WORSE, NOTHING, SILENT = Cell(1), Cell(-1), Cell(0), Cell()


def percent(value: float) -> Cell:
    return Cell(1 if value > 0 else -1, value)


def _all_better(**others: Cell) -> dict[str, Cell]:
    return {site: others.get(site, BETTER) for site in SITES}


# Section VI-B. "about 25 %" and "35 %" are rounded by the paper.
FIGURE_4 = {
    "fcp_ms": _all_better(etsy=percent(25.0), nytimes=percent(25.0)),
    "lcp_ms": _all_better(amazon=percent(35.0)),
    "tti_ms": _all_better(apache=WORSE),
    "tbt_ms": {
        "wikipedia": percent(15.87),
        **dict.fromkeys(("w3", "apache", "apple", "statcounter"), NOTHING),
        "etsy": percent(100.0),
        "nytimes": SILENT,
        "amazon": percent(100.0),
    },
    "si_ms": _all_better(statcounter=percent(17.07), nytimes=percent(15.47), etsy=WORSE, amazon=WORSE),
}
# Section VI-C: better "mostly" on large sites; of single bars only what is named.
FIGURE_5A = {
    **{key: dict.fromkeys(LARGE, BETTER) for key in ("fcp_ms", "lcp_ms", "tti_ms")},
    "si_ms": {"etsy": WORSE, "nytimes": WORSE, "amazon": WORSE},
}
FIGURE_5B = {
    "fcp_ms": dict.fromkeys(LARGE, BETTER),
    "lcp_ms": _all_better(apple=WORSE),
    "si_ms": {"etsy": WORSE, "amazon": WORSE},
}
CELLS = {"4": FIGURE_4, "5a": FIGURE_5A, "5b": FIGURE_5B}
BEST_CLS_PCT = 73.0  # Amazon; on all sites below GOOD_CLS


def cell(figure: str, metric: str, site: str) -> Cell:
    """What the paper says of a bar; SILENT where it does not."""
    return CELLS[figure].get(metric, {}).get(site, SILENT)
