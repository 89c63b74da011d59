"""The page and the picture that tell how VGPrio and `tune` compare, of the places that were played."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mixedsched.advice.tuner.vgprio import WHOLE_COST_LOADS
from mixedsched.report.papers.figures import Curve, CurvesPanel, curves_figure
from mixedsched.report.papers.markdown import finding, number, table
from mixedsched.report.papers.verdicts import over_sites

MATTERS_PCT = 2.0
CHROME, SEQUENTIAL = "chrome", "sequential"
LEARNED = {"vgprio": "VGPrio", "tune": "tune"}
PAPERS_FIXED = (CHROME, "firefox", "rr")

# Recomputed from the paper's public table: 38 sites, 30 loads; ratio of medians to its Chrome order.
# network: median, p10, worst, share of sites over 2 % better and worse; all in per cent.
PUBLISHED: Mapping[str, tuple[float, float, float, float, float]] = {
    "vgprio-bw10-rtt10": (-2.1, -23.7, 7.5, 53, 8),
    "vgprio-bw10-rtt50": (-2.2, -17.1, 5.3, 55, 8),
    "vgprio-bw10-loss2": (-10.3, -38.1, 17.0, 68, 21),
    "vgprio-bw2-rtt50": (-5.6, -33.4, 20.4, 61, 11),
    "sander-rtt50": (-3.5, -33.7, 5.8, 61, 5),
    "vgprio-bw50-rtt50": (-0.3, -3.3, 2.3, 21, 5),
}
NAMES = {
    "vgprio-bw10-rtt10": "10 Mbit/s, 10 ms",
    "vgprio-bw10-rtt50": "10 Mbit/s, 50 ms",
    "vgprio-bw10-loss2": "10 Mbit/s, 50 ms, 2 %",
    "vgprio-bw2-rtt50": "2 Mbit/s, 50 ms",
    "sander-rtt50": "2 Mbit/s, 50 ms, 2 %",
    "vgprio-bw50-rtt50": "50 Mbit/s, 50 ms",
}

Place = dict[str, Any]


def write_pages(places: Sequence[Place], folder: Path) -> None:
    """README.md and curves.svg."""
    ended = [place for place in places if "error" not in place and "vgprio" in place["arms"]]
    (folder / "README.md").write_text("\n".join(_page(places, ended)), encoding="utf-8")
    (folder / "curves.svg").write_text(_picture(ended), encoding="utf-8")


def _median(place: Place, arm: str, metric: str = "si_ms") -> float:
    values = [value for value in place["arms"][arm][metric] if value is not None]
    return float(np.median(values)) if values else float("nan")


def _change_pct(place: Place, arm: str, against: str, metric: str = "si_ms") -> float:
    return (_median(place, arm, metric) / _median(place, against, metric) - 1) * 100


def _against_best_pct(place: Place, arm: str) -> float:
    """Against the best of the three fixed orders of the paper, picked by the same loads."""
    return (_median(place, arm) / min(_median(place, fixed) for fixed in PAPERS_FIXED) - 1) * 100


def _by_link(places: Sequence[Place]) -> dict[str, list[Place]]:
    return {link: found for link in NAMES if (found := [place for place in places if place["link"] == link])}


def _page(places: Sequence[Place], ended: Sequence[Place]) -> Iterator[str]:
    yield "# VGPrio compared with tune\n"
    yield (
        "`python -m benchmarks.vgprio` simulates missing places and writes this page; with `--table` it only writes the "
        "page. Discussion: [docs/vgprio.md](../../docs/vgprio.md). Rung `stack`, the calibrated browser, networks that vary "
        "from seed to seed; Speed Index is an estimate. Both orders are judged over seeds that neither search has used.\n"
    )
    counts = ", ".join(f"{NAMES[link]}: {len(found)}" for link, found in _by_link(places).items())
    yield f"Places so far (of 20 sites each): {counts}. Places that did not end: {len(places) - len(ended)}.\n"
    yield "## Speed Index against the order of Chrome\n"
    yield (
        "Medians over sites with intervals of 95 % over sites, the best tenth, the worst site, and the shares of sites that "
        "are over 2 % better or worse. *Paper*: recomputed from its public table, 38 other sites in Chromium.\n"
    )
    heads = ("network", "order", "sites", "median", "p10", "worst", "better", "worse")
    yield table(heads, _rows(ended, CHROME, with_paper=True), left=2)
    yield "## The same against plain order of requests (`sequential`)\n"
    yield table(heads, _rows(ended, SEQUENTIAL), left=2)
    yield "## Against the best of the paper's three fixed orders (Chrome, Firefox, round robin)\n"
    rows = []
    for link, found in _by_link(ended).items():
        for arm, label in LEARNED.items():
            values = [_against_best_pct(place, arm) for place in found]
            spread = (number(float(np.percentile(values, 10))), number(max(values)))
            rows.append([NAMES[link], label, finding(over_sites(_sited(found, values))), *spread])
    yield table(("network", "order", "median", "p10", "worst"), rows, left=2)
    yield "## LCP, which has no weight, against the order of Chrome\n"
    yield table(heads, _rows(ended, CHROME, "lcp_ms"), left=2)
    yield "## Head to head, and the cost of learning\n"
    rows = []
    for link, found in _by_link(ended).items():
        change = [_change_pct(place, "tune", "vgprio") for place in found]
        promised = [(place["learned_si_ms"] / _median(place, "vgprio") - 1) * 100 for place in found]
        rows.append(
            [
                NAMES[link],
                finding(over_sites(_sited(found, change))),
                f"{sum(value < -MATTERS_PCT for value in change)} : {sum(value > MATTERS_PCT for value in change)}",
                number(float(np.median(promised))),
                f"{np.median([place['simulated']['vgprio'] for place in found]):.0f}",
                f"{np.median([place['simulated']['tune'] for place in found]):.0f}",
            ]
        )
    heads = (
        "network",
        "tune against VGPrio",
        "sites for tune : VGPrio",
        "VGPrio's overestimate",
        "its loads here",
        "tune's",
    )
    yield table(heads, rows)
    yield (
        "*Overestimate*: the difference between the Speed Index with which VGPrio learned and that of its order over new "
        f"seeds. In Chromium it needs {WHOLE_COST_LOADS} loads per place; `tune` searches in simulation, and needs a look "
        "and its proof.\n"
    )


def _sited(found: Sequence[Place], values: Sequence[float]) -> dict[str, float]:
    return dict(zip((place["site"] for place in found), values, strict=True))


def _rows(
    places: Sequence[Place], against: str, metric: str = "si_ms", *, with_paper: bool = False
) -> Iterator[Sequence[str]]:
    for link, found in _by_link(places).items():
        arms = {**LEARNED, **{name: f"`{name}`" for name in found[0]["arms"] if name not in {against, *LEARNED}}}
        for arm, label in arms.items():
            values = [_change_pct(place, arm, against, metric) for place in found]
            yield [NAMES[link], label, str(len(found)), finding(over_sites(_sited(found, values))), *_tail(values)]
        if with_paper:
            median, p10, worst, better, worse = PUBLISHED[link]
            shares = (f"{better:.0f} %", f"{worse:.0f} %")
            yield [NAMES[link], "VGPrio, paper", "38", number(median), number(p10), number(worst), *shares]


def _tail(values: Sequence[float]) -> tuple[str, ...]:
    better = np.mean([value < -MATTERS_PCT for value in values])
    worse = np.mean([value > MATTERS_PCT for value in values])
    return number(float(np.percentile(values, 10))), number(max(values)), f"{better:.0%}", f"{worse:.0%}"


def _picture(places: Sequence[Place]) -> str:
    panels = []
    for link, found in _by_link(places).items():
        curves = []
        for arm, label in (
            *LEARNED.items(),
            (SEQUENTIAL, SEQUENTIAL),
            ("rr", "round robin"),
            ("firefox", "Firefox tree"),
        ):
            values = sorted(_change_pct(place, arm, CHROME) for place in found)
            points = [(value, (rank + 1) / len(values), True) for rank, value in enumerate(values)]
            curves.append(Curve(label, points))
        panels.append(CurvesPanel(NAMES[link], curves, f"{len(found)} sites"))
    rows = [panels[at : at + 3] for at in range(0, len(panels), 3)]
    words = [
        "Share of sites (up) whose Speed Index changes by so much or less against the order of Chrome; left is sooner."
    ]
    return curves_figure(
        "VGPrio and tune on the same pages and seeds, rung stack",
        words,
        rows,
        x_label="change of Speed Index",
        span=(-60.0, 40.0),
        bounds=(-MATTERS_PCT, MATTERS_PCT),
    )
